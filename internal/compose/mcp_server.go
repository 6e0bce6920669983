package compose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
	"github.com/chrome-mcp/chrome-mcp/mcp"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// openMCP opens the executor stack of valid settings, and an MCP server on it. The returned
// function closes both. No extension connects after ctx is done. With --cdp-listen, CDP clients can
// connect until then.
func openMCP(
	ctx context.Context, s *setup, rules *policy.Policy, log *slog.Logger,
) (server *mcp.Server, b *stack, closeAll func() error, err error) {
	record, closeRecord, err := OpenAudit(s.Settings, s.auditLogs, log)
	if err != nil {
		return nil, nil, nil, err
	}
	defer func() {
		if err != nil {
			closeRecord()
		}
	}()
	if s.ServeDirectory != "" {
		if rules, err = s.serveFiles(rules, log); err != nil {
			return nil, nil, nil, err
		}
		defer func() {
			if err != nil {
				s.files.Close()
			}
		}()
	}
	if s.observe != nil {
		record = s.observe(record)
	}
	if record != nil {
		record = maskedRecorder{record, s.vault.Mask}
	}
	notes := rules.Notes()
	for _, note := range notes {
		log.Warn(note)
	}
	if s.files != nil {
		notes = append(notes,
			fmt.Sprintf("Files: %s serves the user's directory %q to pages, read-only. Open files at URLs below it.",
				s.files.URL(), filepath.Base(s.ServeDirectory)))
	}
	s.endpoints.deny(rules, s.Settings)
	var extensions *bridge.Server // nil if no extension can connect
	guard := policy.NewGuard(rules, &policy.GuardOptions{Logger: log, Audit: record, OnChange: func() {
		if extensions != nil {
			extensions.PolicyChanged()
		}
	}})
	if s.Prefer != string(executor.BackendCDP) || s.NamesExtension() { // otherwise no call would use the extension
		if extensions, err = newBridge(s, guard, log); err != nil {
			return nil, nil, nil, err
		}
	}
	b, err = open(s, guard, extensions, log, record)
	if err != nil {
		return nil, nil, nil, err
	}
	if s.CDPListen != "" {
		if err := b.cdp.Listen(s.Settings, rules, log); err != nil {
			return nil, nil, nil, errors.Join(err, b.Close())
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	client := make(chan string, 1) // name of the first client
	var background sync.WaitGroup
	switch {
	case extensions == nil:
	case s.chatAgent != "": // the extension finds it by its port
		if err := openBridge(extensions, "", rules, log); err != nil {
			cancel()
			return nil, nil, nil, errors.Join(err, b.Close())
		}
	default:
		token := ""
		if s.dirs.Token {
			token = s.dirs.Principal
		}
		background.Go(func() { connectExtension(ctx, extensions, rules, client, token, log) })
	}
	var popup executor.PermissionPrompter
	handover := s.handover
	if b.extension != nil {
		popup, handover.Prompter = b.extension, b.extension
	}
	var calls mcp.CallObserver = watchedCalls{s.watched}
	stopIdle := func() {}
	if s.IdleBrowser > 0 {
		idle := newIdleBrowser(calls, s.IdleBrowser, b.closeIdle)
		calls, stopIdle = idle, idle.stop
	}
	server = mcp.NewServer(b, &mcp.Options{
		Version:             s.Version,
		Tools:               s.Tools,
		Structured:          s.Structured,
		Logger:              log,
		Notes:               notes,
		Audit:               record,
		PromptForPermission: s.Ask != "never",
		Prompter:            popup,
		Secrets:             s.secretsOfCalls(),
		Mask:                s.own.Mask,
		Withhold:            s.own.Withhold,
		Observer:            calls,
		Handover:            &handover,

		Limit:          s.limit,
		CallsPerMinute: s.MaxCalls,
		CallRate:       s.callRate,
		MaxResultBytes: int64(s.MaxResult),
		MaxImage:       s.MaxImage,
		MaxOutputBytes: int64(s.MaxOutputTotal),
		OutputDir:      s.dirs.Output(s.Data),
		OutputUsage:    s.dirs.OutputUsage(s.Data),
		OnClient: func(name string) {
			s.watched.AddClient(name)
			select {
			case client <- name:
			default:
			}
		},
	})
	s.watched.SetExecutor(b)
	return server, b, func() error {
		s.watched.Close()
		cancel()
		background.Wait()
		err := cli.RunWithTimeout(cmp.Or(s.closeTimeout, timing.Current().CloseBrowser), func() error {
			stopIdle()
			return b.Close()
		})
		if errors.Is(err, cli.ErrCloseTimeout) {
			log.Warn("browser shutdown timed out; it exits with this process", "error", err)
			err = nil // the shutdown itself succeeded
		}
		if s.files != nil {
			s.files.Close()
		}
		closeRecord()
		return err
	}, nil
}

// connectExtension opens the bridge under the name of the first client, and serves it until ctx is
// done. The extension stores the user's consent to scripts under the name. A client chooses its own, so
// that of a client with a token follows the name of the token.
func connectExtension(
	ctx context.Context, server *bridge.Server, rules *policy.Policy, client <-chan string, token string, log *slog.Logger,
) {
	name := ""
	select {
	case name = <-client:
	case <-time.After(timing.Current().ClientName):
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
	if token != "" {
		name = token + ": " + name
	}
	wait := rotateOnHangup(ctx, server, log)
	openBridge(server, name, rules, log)
	wait()
}
