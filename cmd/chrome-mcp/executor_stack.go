package main

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
	"github.com/chrome-mcp/chrome-mcp/internal/egress"
	"github.com/chrome-mcp/chrome-mcp/internal/secrets"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
	"github.com/chrome-mcp/chrome-mcp/mcp"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// An executorStack is the executor that the tools use, with its backends.
type executorStack struct {
	executor.Executor
	executor.PermissionGranter
	guard     *policy.Guard // of Executor
	browser   *chromium.Backend
	extension *extension.Backend // nil without a bridge
	bridge    *bridge.Server     // nil if no extension can connect
	cdp       *cdpEndpoint       // nil if no CDP client can connect
	filesURL  string             // of the served directory; empty means none

	mu    sync.Mutex          // guards named
	named []*chromium.Backend // of the named browsers that are open; grows until the Executor is closed
}

// open builds the executor stack: a guard around the default browser, which is a manager of
// sessions, and the named browsers; the guard is also the gate of their sessions. open starts no
// browser. The extension that connects to server is one of the backends. The stack closes server.
// server and record may be nil.
func open(s *settings, guard *policy.Guard, server *bridge.Server, log *slog.Logger, record audit.Recorder) (*executorStack, error) {
	if s.prefer == string(executor.BackendCDP) && s.noCDPFallback {
		return nil, usagef("Remove one of them.", "%s=cdp and %s contradict each other", s.nameOf("prefer"), s.nameOf("no-cdp-fallback"))
	}
	if err := s.checkDefaultProfile(); err != nil {
		return nil, err
	}
	options, err := s.chromium(guard.Network(), log)
	if err != nil {
		return nil, err
	}
	if record != nil {
		guard.SetAudit(record)
		options.Audit = record
	}
	b := &executorStack{PermissionGranter: guard, guard: guard, browser: chromium.New(options), bridge: server}
	if s.files != nil {
		b.filesURL = s.files.URL()
	}
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
			State:       s.state,
			UploadsDir:  guard.Policy().Config().UploadsDir,
			Secrets:     s.sessionSecrets(),
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
			DownloadsDir:     s.dirs.downloads(s.data),
			DownloadsUsage:   s.dirs.downloadsUsage(s.data),
			Network:          options.Network,
			Proxy:            s.proxy,
			NoProxy:          s.noProxy,
			Audit:            record,
			Expected:         s.extensionExpected,
			Logger:           log,
		})
		if s.prefer != string(executor.BackendCDP) { // otherwise a named browser uses it
			layers.Extension = b.extension
		}
	}
	if s.watched != nil {
		layers.Session.OnEvent = func(executor.Event) { s.watched.TabsChanged() }
	}
	manager := executor.NewManager(layers)
	opener := &browserOpener{settings: s, guard: guard, options: layers.Session, stack: b, record: record, log: log}
	b.Executor = guard.Wrap(opener.withNamed(manager))
	if s.servesCDP() {
		if b.cdp, err = newCDPEndpoint(s, guard, manager, log, record); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// A browserOpener opens the named browsers of a session.
type browserOpener struct {
	settings *settings
	guard    *policy.Guard
	options  executor.SessionOptions // of the default browser
	stack    *executorStack
	record   audit.Recorder // may be nil
	log      *slog.Logger
}

// settingsFor returns a copy of the settings of the session for a named browser, which CDP clients do
// not reach. The settings that select a browser are empty.
func (o *browserOpener) settingsFor(b *namedBrowser) *settings {
	s := *o.settings
	s.cdpListen, s.cdpEndpoint, s.attachDefaultContext, s.isolated, s.profile = "", "", false, false, ""
	if !b.launchedHere() {
		s.httpCredentials, s.acceptCertificates = "", nil
	}
	s.given = func(flag string) bool { return flag != "cdp-clients" && o.settings.given(flag) }
	return &s
}

// session returns the options of the session on a browser.
func (o *browserOpener) session(b *namedBrowser) executor.SessionOptions {
	options := o.options
	options.Browser = b.Name
	if !b.launchedHere() {
		options.State = "" // cookies go only to browsers of this program
	}
	return options
}

// openChromium returns the Executor for a browser that options select.
func (o *browserOpener) openChromium(b *namedBrowser, options chromium.Options) (executor.Executor, error) {
	options.Audit = o.record
	options.Logger = o.log.With("browser", b.Name)
	backend := chromium.New(options)
	o.stack.mu.Lock()
	o.stack.named = append(o.stack.named, backend)
	o.stack.mu.Unlock()
	var cdp executor.Backend = backend
	if b.Profile != "" && o.settings.wrapNamed != nil {
		cdp = o.settings.wrapNamed(cdp, b.Profile)
	}
	return executor.NewManager(executor.ManagerOptions{CDP: cdp, Session: o.session(b), Logger: options.Logger}), nil
}

// openVault returns the secrets of the data directory. It does not read the file.
func (s *settings) openVault() *secrets.Vault {
	if s.vault == nil {
		s.vault = secrets.Open(s.data)
	}
	return s.vault
}

// sessionVault returns the secrets of the session with these settings, or nil, which masks no
// value, if it has none.
func (s *settings) sessionVault() *secrets.Session {
	if s.ownVault == nil && !s.secrets.none {
		s.ownVault = s.openVault().Session(s.secrets.names)
	}
	return s.ownVault
}

// sessionSecrets returns the secrets that a session may use, or nil if there are none.
func (s *settings) sessionSecrets() executor.Secrets {
	if v := s.sessionVault(); v != nil {
		return v
	}
	return nil
}

var _ executor.Watcher = (*executorStack)(nil)

// WatchTabs implements executor.Watcher.
func (s *executorStack) WatchTabs(ctx context.Context) []executor.Tab {
	return executor.AsWatcher(s.Executor).WatchTabs(ctx)
}

// Watch implements executor.Watcher.
func (s *executorStack) Watch(ctx context.Context, tab executor.TabID) (executor.LiveView, error) {
	return executor.AsWatcher(s.Executor).Watch(ctx, tab)
}

// Status adds the connected CDP clients and the URL of the served directory to the status of the
// executor.
func (s *executorStack) Status(ctx context.Context) executor.Status {
	status := s.Executor.Status(ctx)
	status.CDPClients = s.cdp.clients()
	status.FilesURL = s.filesURL
	return status
}

// Close disconnects the CDP clients, ends the session, and closes the browser if it was launched.
func (s *executorStack) Close() error {
	clients := s.cdp.close()
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

// browsers returns the backends of the default browser and of the named ones, except for that of the
// extension.
func (s *executorStack) browsers() []*chromium.Backend {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*chromium.Backend{s.browser}, s.named...)
}

// closeIdle closes the browsers that have not been used for the time after; see
// chromium.Backend.CloseIdle.
func (s *executorStack) closeIdle(ctx context.Context, after time.Duration) {
	for _, browser := range s.browsers() {
		browser.CloseIdle(ctx, after)
	}
}

// closeBrowsers closes the browsers.
func (s *executorStack) closeBrowsers() error {
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
func (s *settings) chromium(rules chromium.NetworkPolicy, log *slog.Logger) (chromium.Options, error) {
	options := chromium.Options{
		Browser:              s.browser,
		Isolated:             s.isolated,
		DataDir:              s.data,
		NoSandbox:            s.noSandbox,
		Width:                s.viewport.width,
		Height:               s.viewport.height,
		ExtraArgs:            s.browserArgs,
		AcceptCertificates:   s.acceptCertificates,
		Network:              rules,
		Proxy:                s.proxy,
		NoProxy:              s.noProxy,
		CDPEndpoint:          s.cdpEndpoint,
		RemoteEgress:         s.remoteEgress,
		AttachDefaultContext: s.attachDefaultContext,
		MaxDownloadBytes:     int64(s.maxDownload),
		MaxDownloads:         s.maxDownloads,
		MaxDownloadTotal:     int64(s.maxDownloadTotal),
		DownloadsDir:         s.dirs.downloads(s.data),
		DownloadsUsage:       s.dirs.downloadsUsage(s.data),
		CDPClients:           s.servesCDP(),
		Logger:               log,
	}
	if s.proxy != "" {
		if _, err := egress.ParseUpstream(s.proxy); err != nil {
			return options, usagef("Set --proxy http://proxy.example:3128, or --proxy none.", "%s: %w", s.nameOf("proxy"), err)
		}
	}
	var err error
	if options.HTTPCredentials, err = s.readHTTPCredentials(); err != nil {
		return options, err
	}
	if !s.isolated {
		options.Profile = s.profile
	} else if s.cdpEndpoint == "" && !s.servesCDP() && s.httpCredentials == "" && len(s.acceptCertificates) == 0 { // these affect the whole browser
		options.Pool, options.Principal = s.pool, s.handover.Principal
	}
	if s.given("headless") {
		options.Headless = &s.headless
	}
	return options, nil
}
