// Package session implements executor.Executor for a browser: tab ids, the active tab, and one
// client's views of the tabs. All backends use it. A backend provides a [BrowserProvider].
package session

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/download"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
	"github.com/chrome-mcp/chrome-mcp/internal/page"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// A BrowserProvider is a backend as its sessions see it. Its methods are safe for
// concurrent use.
type BrowserProvider interface {
	Kind() executor.BackendKind
	// Acquire returns the browser. It starts one if none is running.
	Acquire(ctx context.Context) (BrowserInstance, error)
	// Current returns the running browser, or nil.
	Current() BrowserInstance
	// AttachesToRunning reports whether Acquire attaches to a running browser, whose tabs can be
	// listed.
	AttachesToRunning() bool
	// Status returns the state of the backend, without starting anything.
	Status(ctx context.Context) executor.Status
}

// A BrowserInstance is one running browser, or all connected browsers of users. Its methods are safe for concurrent use.
type BrowserInstance interface {
	// ID returns a short id of this browser instance. It is part of the ids of tabs whose
	// InstanceID is empty.
	ID() string
	// HasInstance reports whether id is the id of this browser, or of one of the browsers that it
	// represents.
	HasInstance(id string) bool
	// Tabs returns the open tabs, in the order in which they were opened.
	Tabs() []*Tab
	// NewTab opens a blank tab for a session.
	NewTab(ctx context.Context, owner *Session) (*Tab, error)
	// Changed returns a channel that is closed at the next change of Tabs.
	Changed() <-chan struct{}
	// CloseTab closes a tab, or releases it if it is a tab of the user.
	CloseTab(ctx context.Context, t *Tab) (released bool, err error)
	// Ping reports whether the browser answers.
	Ping(ctx context.Context) error
	// Downloads returns the download directory.
	Downloads() (*download.Dir, error)
	// Fetcher returns what is needed to fetch a URL as the browser does.
	Fetcher() Fetcher
}

// A Consenter is a BrowserInstance that prompts its user for script consent, site by site, before
// scripts of the client run in pages.
type Consenter interface {
	// Consent returns nil if the user allows scripts in a document of t with the given origin,
	// ErrConsentRequired until the user has answered, and ErrPolicyDenied if the user denies it.
	Consent(ctx context.Context, t *Tab, origin string) error
}

// A Sharer is a BrowserInstance in which the user shares tabs with several clients. Each client
// drives its own tabs.
type Sharer interface {
	// TabsOfOtherDrivers returns the number of shared tabs that other servers drive.
	TabsOfOtherDrivers(ctx context.Context) int
	// WhyUnshared returns an error that says why the tab with the given id is no longer shared, or
	// nil if the tab is shared, was closed or is unknown.
	WhyUnshared(id executor.TabID) *executor.Error
	// Used is called when a call uses a tab. It does not wait.
	Used(t *Tab)
}

// A Session is one client's use of a backend. It implements executor.Executor.
type Session struct {
	provider BrowserProvider
	registry *Registry // nil if the session is in none
	gate     executor.Gate
	opts     executor.SessionOptions
	log      *slog.Logger
	events   *notify.Queue[executor.Event] // nil without an OnEvent function
	delivery sync.WaitGroup                // the goroutine that delivers events
	timing   timing.Timing                 // never changes
	ids      tabIDs                        // never changes
	storageState
	selection selection
	opening   openingCount

	mu     sync.Mutex // guards the fields below
	views  map[*Tab]*page.View
	closed bool
}

var _ executor.Executor = (*Session)(nil)

// New returns a session on a provider.
func New(provider BrowserProvider, opts executor.SessionOptions) *Session {
	s := &Session{provider: provider, gate: opts.Gate, opts: opts, log: cmp.Or(opts.Logger, slog.New(slog.DiscardHandler)), views: make(map[*Tab]*page.View), timing: timing.Current()}
	s.storageState = storageState{session: s, turn: make(chan struct{}, 1)}
	s.ids, s.selection.newestShared = tabIDs{provider, opts.Browser}, time.Now()
	if s.gate == nil {
		s.gate = executor.GateFunc(denyAll)
	}
	if opts.OnEvent != nil {
		s.events = deliverEvents(&s.delivery, opts.OnEvent)
	}
	return s
}

func denyAll(context.Context, executor.Access) error {
	return executor.Errorf(executor.ErrPolicyDenied, "Give the session a Gate.", "the session has no policy, so everything is denied")
}

// Ready starts the browser if none is running.
func (s *Session) Ready(ctx context.Context) error {
	_, err := s.acquire(ctx)
	return executor.Wrap("ready", "", asExecutorError(err))
}

// Ping reports whether the browser responds.
func (s *Session) Ping(ctx context.Context) error {
	if err := s.alive(); err != nil {
		return executor.Wrap("ping", "", err)
	}
	b := s.provider.Current()
	if b == nil {
		return executor.Wrap("ping", "", executor.Errorf(executor.ErrNoBackend, "Any other call launches it.", "no running browser"))
	}
	return executor.Wrap("ping", "", asExecutorError(b.Ping(ctx)))
}

// Status returns the state of the backend and the active tab.
func (s *Session) Status(ctx context.Context) executor.Status {
	st := s.provider.Status(ctx)
	if b := s.provider.Current(); b != nil {
		s.noticeShared(ctx, b)
		s.reportDownloads(ctx)
	}
	if b, active := s.provider.Current(), s.selection.tab(); b != nil && s.ids.find(b, active) != nil {
		st.ActiveTabID = active
	}
	return st
}

// Close closes the tabs that the session opened and releases the others.
func (s *Session) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	views := slices.Collect(maps.Values(s.views))
	if s.opts.Record {
		for t := range s.views {
			t.Page.Recording.Stop()
		}
	}
	s.mu.Unlock()
	for _, v := range views {
		v.Release()
	}
	if b := s.provider.Current(); b != nil {
		ctx, cancel := context.WithTimeout(context.Background(), s.timing.CloseTabs)
		defer cancel()
		for _, t := range b.Tabs() {
			if t.Owner() == s {
				if _, err := b.CloseTab(ctx, t); err != nil && !errors.Is(err, executor.ErrTargetGone) {
					s.log.Debug("closing a tab of the closed session failed", "error", err)
				}
			}
		}
	}
	s.registry.remove(s)
	if s.events != nil {
		s.events.Close(errSessionClosed)
		s.delivery.Wait()
	}
	return nil
}

// browser is acquire for a call that depends on the tabs of the session: it returns an error once if the
// browser was closed with them.
func (s *Session) browser(ctx context.Context) (BrowserInstance, error) {
	if s.alive() == nil && s.opts.Gate != nil {
		if err := reportIdleClose(ctx, s); err != nil {
			return nil, err
		}
	}
	return s.acquire(ctx)
}

// acquire returns the browser. It starts one if none is running, and loads SessionOptions.State into it.
func (s *Session) acquire(ctx context.Context) (BrowserInstance, error) {
	if err := s.alive(); err != nil {
		return nil, err
	}
	if s.opts.Gate == nil {
		return nil, denyAll(ctx, executor.Access{}) // everything is denied, so no browser is needed
	}
	b, err := s.provider.Acquire(ctx)
	if err == nil && s.opts.State != "" {
		err = s.loadInitialState(ctx, b)
	}
	return b, err
}

// errSessionClosed is the error of calls after the session was closed.
var errSessionClosed = executor.Errorf(executor.ErrNoBackend, "Open a new session.", "the session is closed")

// alive returns errSessionClosed if the session is closed.
func (s *Session) alive() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errSessionClosed
	}
	return nil
}

// Emit queues an event of a tab for the session's client, if the session may see the tab. For a
// dialog, frame is the frame that opened it.
func (s *Session) Emit(ev executor.Event, t *Tab, frame string) {
	if owner := t.Owner(); s.opts.OnEvent == nil || (owner != nil && owner != s) {
		return
	}
	b := s.provider.Current()
	if b == nil {
		return
	}
	ev.Tab = s.ids.of(b, t)
	switch ev.Kind {
	case executor.EventTabClosed, executor.EventTabCrashed:
	default:
		v := s.view(t)
		if v.Check(context.Background(), executor.OpList, "") != nil {
			ev.URL, ev.Dialog, ev.Download = "", nil, nil
		}
		if ev.Dialog != nil && !canRead(v, frame) {
			ev.Dialog = &executor.Dialog{Type: ev.Dialog.Type}
		}
		if v.Entered.Any() { // other sessions get the same dialog and download
			ev.Dialog, ev.Download = clone(ev.Dialog), clone(ev.Download)
		}
		v.Entered.Mask(&ev)
	}
	s.events.Put(ev)
}

// clone returns a copy of what p points to, or nil.
func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}

// canRead reports whether the gate allows a frame to be read. An empty frame means the top frame.
func canRead(v *page.View, frame string) bool {
	if frame == "" {
		return v.Check(context.Background(), executor.OpRead, "") == nil
	}
	return v.CanRead(context.Background(), frame)
}

// asExecutorError converts an error of a context to an *executor.Error. It returns other errors
// unchanged.
func asExecutorError(err error) error {
	switch _, ok := errors.AsType[*executor.Error](err); {
	case ok:
	case errors.Is(err, context.DeadlineExceeded):
		return &executor.Error{Code: executor.ErrTimeout, Retryable: true, Err: errs.WithCause("the call did not finish in time", err), Hint: executor.HintMoreTime}
	case errors.Is(err, context.Canceled):
		return &executor.Error{Code: executor.ErrTimeout, Retryable: true, Err: errs.WithCause("the call was canceled", err)}
	}
	return err
}
