package compose

import (
	"log/slog"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/browsers"
	"github.com/chrome-mcp/chrome-mcp/internal/namedbrowser"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// A browserOpener opens the named browsers of a session.
type browserOpener struct {
	setup   *setup
	guard   *policy.Guard
	options executor.SessionOptions // of the default browser
	stack   *stack
	record  audit.Recorder // may be nil
	log     *slog.Logger
}

// setupFor returns a copy of the setup with the settings for a named browser, which CDP clients
// do not reach. The settings that select a browser are empty.
func (o *browserOpener) setupFor(b *namedbrowser.Browser) *setup {
	named, s := *o.setup, *o.setup.Settings
	named.Settings = &s
	s.CDPListen, s.CDPEndpoint, s.AttachDefaultContext, s.Isolated, s.Profile = "", "", false, false, ""
	if !b.LaunchedHere() {
		s.HTTPCredentials, s.AcceptCertificates = "", nil
	}
	s.Given = func(flag string) bool { return flag != "cdp-clients" && o.setup.Given(flag) }
	return &named
}

// sessionOptions returns the options of the session on a browser.
func (o *browserOpener) sessionOptions(b *namedbrowser.Browser) executor.SessionOptions {
	options := o.options
	options.Browser = b.Name
	if !b.LaunchedHere() {
		options.State = "" // cookies go only to browsers of this program
	}
	return options
}

// openChromium returns the Executor for a browser that options select.
func (o *browserOpener) openChromium(b *namedbrowser.Browser, options chromium.Options) (executor.Executor, error) {
	options.Audit = o.record
	options.Logger = o.log.With("browser", b.Name)
	backend, err := chromium.New(&options)
	if err != nil {
		return nil, err
	}
	o.stack.mu.Lock()
	o.stack.named = append(o.stack.named, backend)
	o.stack.mu.Unlock()
	var cdp executor.Backend = backend
	if b.Profile != "" && o.setup.wrapNamed != nil {
		cdp = o.setup.wrapNamed(cdp, b.Profile)
	}
	return executor.NewManager(&executor.ManagerOptions{
			CDP: cdp, Session: o.sessionOptions(b), Logger: options.Logger,
		}),

		nil
}

// open returns the Executor of the session for a browser. It starts nothing.
func (o *browserOpener) open(b *namedbrowser.Browser) (executor.Executor, error) {
	if b.Type == namedbrowser.Extension {
		return executor.NewManager(&executor.ManagerOptions{
				Extension: o.stack.extension, Session: o.sessionOptions(b), Logger: o.log,
			}),

			nil
	}
	s := o.setupFor(b)
	switch b.Type {
	case namedbrowser.Managed:
		s.Profile, s.Isolated = b.Profile, b.Profile == ""
	case namedbrowser.Endpoint:
		s.CDPEndpoint, s.AttachDefaultContext = b.URL, b.DefaultContext
	}
	options, err := s.chromium(sessionNetwork{o.guard.Network(), s.endpoints}, o.log)
	if err != nil {
		return nil, err
	}
	switch b.Type {
	case namedbrowser.Managed:
		options.Color = b.Color
	case namedbrowser.Endpoint:
		if b.HeadersFile != "" || b.HeadersEnv != "" {
			options.CDPHeaders = b.Headers
		}
	case namedbrowser.Browserless:
		options.Browserless = b.Service()
	}
	return o.openChromium(b, options)
}

// withNamed returns the Executor for the default browser main and the named browsers.
func (o *browserOpener) withNamed(main executor.Executor) executor.Executor {
	var all []browsers.Browser
	for i := range o.setup.Browsers {
		b := &o.setup.Browsers[i]
		all = append(all, browsers.Browser{
			Name: b.Name, Type: b.Type, Color: b.Color, ListUnopened: b.Type == namedbrowser.Extension,
			Open: func() (executor.Executor, error) { return o.open(b) },
		})
	}
	return browsers.New(main, all)
}
