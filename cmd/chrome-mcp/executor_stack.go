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

// An executorStack is the executor that the tools use, with its backends.
type executorStack struct {
	executor.Executor
	executor.PermissionGranter
	browser   *chromium.Backend
	extension *extension.Backend // nil without a bridge
	bridge    *bridge.Server     // nil if no extension can connect
}

// open builds the executor stack: a guard around a manager of sessions; the guard is also the gate
// of those sessions. open starts no browser. The extension that connects to server is one of the
// backends. The stack closes server. server and record may be nil.
func open(s *settings, guard *policy.Guard, server *bridge.Server, log *slog.Logger, record audit.Recorder) (*executorStack, error) {
	if s.prefer == string(executor.BackendCDP) && s.noCDPFallback {
		return nil, usagef("Remove one of them.", "%s=cdp and %s contradict each other", s.flagOrVariable("prefer"), s.flagOrVariable("no-cdp-fallback"))
	}
	options, err := s.chromium(guard.Network(), log)
	if err != nil {
		return nil, err
	}
	if record != nil {
		guard.SetAudit(record)
		options.Audit = record
	}
	b := &executorStack{PermissionGranter: guard, browser: chromium.New(options), bridge: server}
	var cdp executor.Backend = b.browser
	if s.wrapBackend != nil {
		cdp = s.wrapBackend(cdp)
	}
	layers := executor.ManagerOptions{
		CDP:           cdp,
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

// extensionCloseTimeout is the time that the extension has to close the tabs that the agent opened
// and to detach from the user's tabs. Then the bridge closes and removes its handshake file.
const extensionCloseTimeout = 700 * time.Millisecond

// Close ends the session, and closes the browser if it was launched.
func (b *executorStack) Close() error {
	if b.bridge == nil {
		return errors.Join(b.Executor.Close(), b.browser.Close())
	}
	late := time.AfterFunc(extensionCloseTimeout, func() { b.bridge.Close() })
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
			return options, usagef("Set --proxy http://proxy.example:3128, or --proxy none.", "%s: %w", s.flagOrVariable("proxy"), err)
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
