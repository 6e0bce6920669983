package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/mcp"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// When stdin ends or a signal arrives, the program exits within three seconds: at the end of stdin,
// pending calls have mcp.DrainTimeout to finish, and after that the timeouts below apply. MCP hosts
// kill the server after two to five seconds; a browser that is still running then exits when our
// end of its pipe closes.
const (
	// cancelTimeout is the time that canceled calls have to return.
	cancelTimeout = 300 * time.Millisecond
	// closeTimeout is the time that the browser has to exit.
	closeTimeout = 1800 * time.Millisecond
)

const (
	// clientTimeout is the time that the bridge waits for the name of the client, by which users
	// distinguish agents.
	clientTimeout = 500 * time.Millisecond
	// openDelay delays opening the bridge, so that it does not slow down the first responses, which
	// MCP hosts wait for.
	openDelay = 50 * time.Millisecond
)

// serve serves one MCP session on stdin and stdout until stdin ends or ctx is done. Neither is an
// error.
func serve(ctx context.Context, s *settings, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	rules, err := s.policy()
	if err != nil {
		return err
	}
	if err := s.check(); err != nil {
		return err
	}
	log, closeLog, err := newLogger(s, stderr)
	if err != nil {
		return err
	}
	defer closeLog()
	record, closeRecord, err := s.openAudit(log)
	if err != nil {
		return err
	}
	defer closeRecord()
	for _, note := range rules.Notes() {
		log.Warn(note)
	}

	guard := policy.NewGuard(rules, log)
	var server *bridge.Server
	if s.prefer != string(executor.BackendCDP) { // otherwise no call would use the extension
		if server, err = newBridge(s, guard, log); err != nil {
			return err
		}
	}
	b, err := open(s, guard, server, log, record)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	client := make(chan string, 1) // name of the first client
	var background sync.WaitGroup
	if server != nil {
		background.Go(func() {
			name := ""
			select {
			case name = <-client:
			case <-time.After(clientTimeout):
			case <-ctx.Done():
				return
			}
			select {
			case <-time.After(openDelay):
			case <-ctx.Done():
				return
			}
			if name == "" {
				name = parentProcessName()
			}
			server.SetName(name)
			openBridge(server, rules, log)
			rotateOnHangup(ctx, server, log)()
		})
	}
	defer func() {
		cancel()
		background.Wait()
		closing := runWithTimeout(cmp.Or(s.closeTimeout, closeTimeout), b.Close)
		if errors.Is(closing, errCloseTimeout) {
			log.Warn("browser shutdown timed out; it exits with this process", "err", closing)
			closing = nil // the shutdown itself succeeded
		}
		err = errors.Join(err, closing)
	}()

	printInteractiveHint(stdin, stderr)
	var popup executor.PermissionPrompter
	if b.extension != nil {
		popup = b.extension
	}
	mcpServer := mcp.NewServer(b, &mcp.Options{
		Version:             programVersion(),
		Tools:               s.tools,
		Structured:          s.structured,
		Logger:              log,
		Notes:               rules.Notes(),
		Audit:               record,
		PromptForPermission: s.ask != "never",
		Prompter:            popup,

		CallsPerMinute: s.maxCalls,
		MaxResultBytes: int64(s.maxResult),
		OnClient: func(name string) {
			select {
			case client <- name:
			default:
			}
		},
	})
	trimmer := newIdleTrimmer()
	defer trimmer.Close()
	in := &eofNotifier{Reader: trimmer.reader(stdin), ended: func() { time.AfterFunc(mcp.DrainTimeout, cancel) }}
	ran := make(chan error, 1)
	go func() { ran <- mcpServer.Run(ctx, mcp.LineTransport(in, trimmer.writer(stdout))) }()
	select {
	case err = <-ran:
	case <-ctx.Done():
		select {
		case <-ran:
		case <-time.After(cancelTimeout):
			log.Warn("calls did not return before shutdown")
		}
	}
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil // shutdown was requested
	}
	return err
}

// An eofNotifier calls ended once, when Read first returns an error.
type eofNotifier struct {
	io.Reader
	ended func()
}

func (r *eofNotifier) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && r.ended != nil {
		r.ended()
		r.ended = nil
	}
	return n, err
}

func (r *eofNotifier) Close() error { return nil }

// errCloseTimeout reports that closing did not finish in time.
var errCloseTimeout = errors.New("closing timed out")

// runWithTimeout runs f and returns its error, or errCloseTimeout if f does not return within d.
func runWithTimeout(d time.Duration, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(d):
		return fmt.Errorf("%w after %v", errCloseTimeout, d)
	}
}
