package main

import (
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/executor/extension"
	"github.com/chrome-mcp/chrome-mcp/internal/egress"
	"github.com/chrome-mcp/chrome-mcp/mcp"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// A stack is the executor that the tools use, with the backends below it.
type stack struct {
	executor.Executor
	executor.Permitter
	browser   *chromium.Browser
	extension *extension.Backend // nil without a bridge
	bridge    *bridge.Server     // nil without one
}

// open puts the layers on top of each other: the guard around a manager of
// sessions, and the guard again as those sessions' gate. It starts no browser.
// The extension that connects to the bridge is one of the backends; the stack
// closes the bridge, which may be nil, as record may.
func open(s *settings, guard *policy.Guard, server *bridge.Server, log *slog.Logger, record audit.Recorder) (*stack, error) {
	if s.prefer == string(executor.BackendCDP) && s.noCDPFallback {
		return nil, usagef("Leave one of them out.", "%s=cdp and %s contradict each other", s.named("prefer"), s.named("no-cdp-fallback"))
	}
	options, err := s.chromium(guard.Network(), log)
	if err != nil {
		return nil, err
	}
	if record != nil {
		guard.SetAudit(record)
		options.Audit = record
	}
	b := &stack{Permitter: guard, browser: chromium.New(options), bridge: server}
	layers := executor.ManagerOptions{
		CDP:           b.browser,
		Prefer:        executor.BackendKind(s.prefer),
		NoCDPFallback: s.noCDPFallback,
		Session: executor.SessionOptions{
			Gate:        guard,
			AfterAction: executor.AfterAction(s.afterAction),
			MaxTabs:     s.maxTabs,
			StateDir:    guard.Policy().Config().StateDir,
			UploadsDir:  guard.Policy().Config().UploadsDir,
			Record:      slices.Contains(s.tools, mcp.ToolsDevtools),
		},
		Logger: log,
	}
	if server != nil {
		b.extension = extension.New(extension.Options{
			Server:           server,
			DataDir:          s.data,
			MaxDownloadBytes: int64(s.maxDownload),
			MaxDownloads:     s.maxDownloads,
			MaxDownloadTotal: int64(s.maxDownloadTotal),
			Network:          options.Network,
			Proxy:            s.proxy,
			NoProxy:          s.noProxy,
			Audit:            record,
			Expected:         s.extensionExpected,
			Logger:           log,
		})
		layers.Extension = b.extension
	}
	b.Executor = guard.Wrap(executor.NewManager(layers))
	return b, nil
}

// letGoTimeout is for the extension to close the tabs that the agent opened
// and to let the user's go. Then the bridge ends in any case, and with it the
// handshake file.
const letGoTimeout = 700 * time.Millisecond

// Close ends the session, and the browser if we launched it.
func (b *stack) Close() error {
	if b.bridge == nil {
		return errors.Join(b.Executor.Close(), b.browser.Close())
	}
	late := time.AfterFunc(letGoTimeout, func() { b.bridge.Close() })
	defer late.Stop()
	session := b.Executor.Close()
	var browser error
	var closing sync.WaitGroup
	closing.Go(func() { browser = b.browser.Close() })
	extension := b.extension.Close()
	server := b.bridge.Close()
	closing.Wait()
	return errors.Join(session, browser, extension, server)
}

// chromium returns the options of the backend.
func (s *settings) chromium(rules chromium.NetworkPolicy, log *slog.Logger) (chromium.Options, error) {
	options := chromium.Options{
		Browser:              s.browser,
		Isolated:             s.isolated,
		DataDir:              s.data,
		NoSandbox:            s.noSandbox,
		Width:                s.viewport.width,
		Height:               s.viewport.height,
		Network:              rules,
		Proxy:                s.proxy,
		NoProxy:              s.noProxy,
		CDPEndpoint:          s.cdpEndpoint,
		AttachDefaultContext: s.attachDefaultContext,
		MaxDownloadBytes:     int64(s.maxDownload),
		MaxDownloads:         s.maxDownloads,
		MaxDownloadTotal:     int64(s.maxDownloadTotal),
		Logger:               log,
	}
	if s.proxy != "" {
		if _, err := egress.ParseUpstream(s.proxy); err != nil {
			return options, usagef("Give --proxy http://proxy.example:3128, or --proxy none.", "%s: %w", s.named("proxy"), err)
		}
	}
	if !s.isolated {
		options.Profile = s.profile
	}
	if s.given("headless") {
		options.Headless = &s.headless
	}
	return options, nil
}
