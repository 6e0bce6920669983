package compose

import (
	"context"
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
	"github.com/chrome-mcp/chrome-mcp/internal/cdpendpoint"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/egress"
	"github.com/chrome-mcp/chrome-mcp/internal/extinstall"
	"github.com/chrome-mcp/chrome-mcp/internal/secrets"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
	"github.com/chrome-mcp/chrome-mcp/mcp"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// A stack is the executor that the tools use, with its backends.
type stack struct {
	executor.Executor
	executor.PermissionGranter
	guard     *policy.Guard // of Executor
	browser   *chromium.Backend
	extension *extension.Backend    // nil without a bridge
	bridge    *bridge.Server        // nil if no extension can connect
	cdp       *cdpendpoint.Endpoint // nil if no CDP client can connect
	filesURL  string                // of the served directory; empty means none

	mu    sync.Mutex          // guards named
	named []*chromium.Backend // of the named browsers that are open; grows until the Executor is closed
}

// OpenBrowser returns an executor for the default browser of the settings, without the extension
// and without a log.
func OpenBrowser(s *cli.Settings, guard *policy.Guard) (executor.Executor, error) {
	return open(newSetup(s, secrets.Open(s.Data)), guard, nil, slog.New(slog.DiscardHandler), nil)
}

// open builds the executor stack: a guard around the default browser, which is a manager of
// sessions, and the named browsers; the guard is also the gate of their sessions. open starts no
// browser. The extension that connects to server is one of the backends. The stack closes server.
// server and record may be nil.
func open(
	s *setup, guard *policy.Guard, server *bridge.Server, log *slog.Logger, record audit.Recorder,
) (*stack, error) {
	if s.Prefer == string(executor.BackendCDP) && s.NoCDPFallback {
		return nil, cli.Usagef("Remove one of them.",
			"%s=cdp and %s contradict each other", s.NameOf("prefer"), s.NameOf("no-cdp-fallback"))
	}
	if err := s.CheckDefaultProfile(); err != nil {
		return nil, err
	}
	options, err := s.chromium(sessionNetwork{guard.Network(), s.endpoints}, log)
	if err != nil {
		return nil, err
	}
	options.Audit = record
	b := &stack{PermissionGranter: guard, guard: guard, bridge: server}
	if s.files != nil {
		b.filesURL = s.files.URL()
	}
	if b.browser, err = chromium.New(&options); err != nil {
		return nil, err
	}
	var cdp executor.Backend = b.browser
	if s.wrapBackend != nil {
		cdp = s.wrapBackend(cdp)
	}
	layers := executor.ManagerOptions{
		CDP:           cdp,
		Prefer:        executor.BackendKind(s.Prefer),
		NoCDPFallback: s.NoCDPFallback,
		Session: executor.SessionOptions{
			Gate:        guard,
			AfterAction: executor.AfterAction(s.AfterAction),
			MaxTabs:     s.MaxTabs,
			StateDir:    guard.Policy().Config().StateDir,
			State:       s.State,
			UploadsDir:  guard.Policy().Config().UploadsDir,
			Secrets:     s.secretsOfCalls(),
			Record:      slices.Contains(s.Tools, mcp.ToolsDevtools),
		},
		Logger: log,
	}
	if server != nil {
		b.extension, err = extension.New(&extension.Options{
			Server:           server,
			DataDir:          s.Data,
			MaxDownloadBytes: int64(s.MaxDownload),
			MaxDownloads:     s.MaxDownloads,
			MaxDownloadTotal: int64(s.MaxDownloadTotal),
			DownloadsDir:     s.dirs.Downloads(s.Data),
			DownloadsUsage:   s.dirs.DownloadsUsage(s.Data),
			Network:          options.Network,
			Proxy:            s.Proxy,
			NoProxy:          s.NoProxy,
			Audit:            record,
			Expected:         func() bool { return extinstall.Expected(s.Data) },
			Logger:           log,
		})
		if err != nil {
			return nil, err
		}
		if s.Prefer != string(executor.BackendCDP) { // otherwise a named browser uses it
			layers.Extension = b.extension
		}
	}
	if s.watched != nil {
		layers.Session.OnEvent = func(executor.Event) { s.watched.TabsChanged() }
	}
	manager := executor.NewManager(&layers)
	opener := &browserOpener{setup: s, guard: guard, options: layers.Session, stack: b, record: record, log: log}
	b.Executor = guard.Wrap(opener.withNamed(manager))
	if s.ServesCDP() {
		var changed func()
		if s.watched != nil {
			changed = s.watched.ClientsChanged
		}
		if b.cdp, err = cdpendpoint.New(s.Settings, guard, manager, changed, log, record); err != nil {
			return nil, err
		}
		if s.watched != nil {
			s.watched.SetCDPClients(b.cdp.Clients)
		}
	}
	return b, nil
}

var (
	_ executor.PolicyReporter = (*stack)(nil)
	_ executor.Watcher        = (*stack)(nil)
)

// WatchTabs implements executor.Watcher.
func (s *stack) WatchTabs(ctx context.Context) []executor.Tab {
	return executor.AsWatcher(s.Executor).WatchTabs(ctx)
}

// Watch implements executor.Watcher.
func (s *stack) Watch(ctx context.Context, tab executor.TabID) (executor.LiveView, error) {
	return executor.AsWatcher(s.Executor).Watch(ctx, tab)
}

// PolicyStatus implements executor.PolicyReporter.
func (s *stack) PolicyStatus(ctx context.Context) *executor.PolicyStatus {
	return s.guard.PolicyStatus(ctx)
}

// Status adds the connected CDP clients and the URL of the served directory to the status of the
// executor.
func (s *stack) Status(ctx context.Context) executor.Status {
	status := s.Executor.Status(ctx)
	status.CDPClients = s.cdp.Clients()
	status.FilesURL = s.filesURL
	return status
}

// Close disconnects the CDP clients, ends the session, and closes the browser if it was launched.
func (s *stack) Close() error {
	clients := s.cdp.Close()
	if s.bridge == nil {
		return errors.Join(clients, s.Executor.Close(), s.closeBrowsers())
	}
	late := time.AfterFunc(timing.Current().CloseExtension, func() { s.bridge.Close() })
	defer late.Stop()
	session := s.Executor.Close()
	var browsers error
	var closing sync.WaitGroup
	closing.Go(func() { browsers = s.closeBrowsers() })
	extension := s.extension.Close()
	server := s.bridge.Close()
	closing.Wait()
	return errors.Join(clients, session, browsers, extension, server)
}

// browsers returns the backends of the default browser and of the named ones, except for that of
// the extension.
func (s *stack) browsers() []*chromium.Backend {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*chromium.Backend{s.browser}, s.named...)
}

// closeIdle closes the browsers that have not been used for the time after; see
// chromium.Backend.CloseIdle.
func (s *stack) closeIdle(ctx context.Context, after time.Duration) {
	for _, browser := range s.browsers() {
		browser.CloseIdle(ctx, after)
	}
}

// closeBrowsers closes the browsers.
func (s *stack) closeBrowsers() error {
	all := s.browsers()
	errs := make([]error, len(all))
	var closing sync.WaitGroup
	for i, browser := range all {
		closing.Go(func() { errs[i] = browser.Close() })
	}
	closing.Wait()
	return errors.Join(errs...)
}

// chromium returns the options of the backend.
func (s *setup) chromium(rules chromium.NetworkPolicy, log *slog.Logger) (chromium.Options, error) {
	options := chromium.Options{
		Browser:              s.Browser,
		Isolated:             s.Isolated,
		DataDir:              s.Data,
		NoSandbox:            s.NoSandbox,
		Width:                s.Viewport.Width,
		Height:               s.Viewport.Height,
		ExtraArgs:            s.BrowserArgs,
		AcceptCertificates:   s.AcceptCertificates,
		Network:              rules,
		Proxy:                s.Proxy,
		NoProxy:              s.NoProxy,
		CDPEndpoint:          s.CDPEndpoint,
		RemoteEgress:         s.RemoteEgress,
		AttachDefaultContext: s.AttachDefaultContext,
		MaxDownloadBytes:     int64(s.MaxDownload),
		MaxDownloads:         s.MaxDownloads,
		MaxDownloadTotal:     int64(s.MaxDownloadTotal),
		DownloadsDir:         s.dirs.Downloads(s.Data),
		DownloadsUsage:       s.dirs.DownloadsUsage(s.Data),
		CDPClients:           s.ServesCDP(),
		Logger:               log,
	}
	if s.Proxy != "" {
		if _, err := egress.ParseUpstream(s.Proxy); err != nil {
			return options, cli.Usagef("Set --proxy http://proxy.example:3128, or --proxy none.",
				"%s: %w", s.NameOf("proxy"), err)
		}
	}
	var err error
	if options.HTTPCredentials, err = s.ReadHTTPCredentials(); err != nil {
		return options, err
	}
	if !s.Isolated {
		options.Profile = s.Profile
	} else if s.CDPEndpoint == "" && !s.ServesCDP() && s.HTTPCredentials == "" && len(s.AcceptCertificates) == 0 { // these affect the whole browser
		options.Pool, options.Principal = s.pool, s.handover.Principal
	}
	if s.Given("headless") {
		options.Headless = &s.Headless
	}
	return options, nil
}
