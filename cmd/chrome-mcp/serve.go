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

// When stdin ends or a signal comes, everything is over within three seconds:
// calls have mcp.LastAnswers for their answers where it was stdin, and then these.
// Hosts wait two to five before they kill; a browser that is still there then
// ends when our end of its pipe does.
const (
	// cancelTimeout is for calls to end once they are cancelled.
	cancelTimeout = 300 * time.Millisecond
	// closeTimeout is for the browser to end.
	closeTimeout = 1800 * time.Millisecond
)

const (
	// clientTimeout is how long the bridge waits for the client to tell its
	// name, by which people tell agents apart.
	clientTimeout = 500 * time.Millisecond
	// openDelay keeps the opening of the bridge out of the way of the first
	// answers, which hosts wait for.
	openDelay = 50 * time.Millisecond
)

// serve serves one MCP session on stdin and stdout until stdin ends or ctx is
// done, neither of which is an error.
func serve(ctx context.Context, s *settings, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	rules, err := s.rules()
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
	var link *bridge.Server
	if s.prefer != string(executor.BackendCDP) { // with that, no call would ever go to an extension
		if link, err = newBridge(s, guard, log); err != nil {
			return err
		}
	}
	b, err := open(s, guard, link, log, record)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	client := make(chan string, 1) // the name of the first
	var background sync.WaitGroup
	if link != nil {
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
				name = starter()
			}
			link.SetName(name)
			openBridge(link, rules, log)
			rotateOnHangup(ctx, link, log)()
		})
	}
	defer func() {
		cancel()
		background.Wait()
		closing := within(cmp.Or(s.closeTimeout, closeTimeout), b.Close)
		if errors.Is(closing, errSlow) {
			log.Warn("the browser is slow to end; it ends with this process", "err", closing)
			closing = nil // all that was asked for is done
		}
		err = errors.Join(err, closing)
	}()

	greet(stdin, stderr)
	var popup executor.UserAsker
	if b.extension != nil {
		popup = b.extension
	}
	server := mcp.NewServer(b, &mcp.Options{
		Version:    programVersion(),
		Tools:      s.tools,
		Structured: s.structured,
		Logger:     log,
		Notes:      rules.Notes(),
		Audit:      record,
		Ask:        s.ask != "never",
		AskUser:    popup,

		CallsPerMinute: s.maxCalls,
		MaxResultBytes: int64(s.maxResult),
		OnClient: func(name string) {
			select {
			case client <- name:
			default:
			}
		},
	})
	line := newQuietLine()
	defer line.Close()
	in := &endingReader{Reader: line.reader(stdin), ended: func() { time.AfterFunc(mcp.LastAnswers, cancel) }}
	ran := make(chan error, 1)
	go func() { ran <- server.Run(ctx, mcp.LineTransport(in, line.writer(stdout))) }()
	select {
	case err = <-ran:
	case <-ctx.Done():
		select {
		case <-ran:
		case <-time.After(cancelTimeout):
			log.Warn("calls still run at the end")
		}
	}
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil // we were asked to end
	}
	return err
}

// An endingReader calls ended once when its Reader has ended.
type endingReader struct {
	io.Reader
	ended func()
}

func (r *endingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && r.ended != nil {
		r.ended()
		r.ended = nil
	}
	return n, err
}

func (r *endingReader) Close() error { return nil }

// errSlow is what did not end in time.
var errSlow = errors.New("closing took too long")

// within runs f and waits for it no longer than d: then it returns errSlow.
func within(d time.Duration, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(d):
		return fmt.Errorf("%w: more than %v", errSlow, d)
	}
}
