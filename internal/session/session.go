// Package session makes an executor.Executor of a browser: tab ids, the
// active tab, and one client's views of the tabs. It is the same for every
// backend; a backend gives it a [Host].
package session

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/download"
	"github.com/chrome-mcp/chrome-mcp/internal/page"
)

// A Host is a backend as its sessions see it. Its methods are safe for
// concurrent use.
type Host interface {
	Kind() executor.BackendKind
	// Acquire returns the browser, starting it when it does not run.
	Acquire(ctx context.Context) (Browser, error)
	// Current returns the browser that runs, nil when none does.
	Current() Browser
	// Joins reports whether Acquire joins a browser that runs already, whose
	// tabs are there to be listed.
	Joins() bool
	// Status tells what is there, without starting anything.
	Status(ctx context.Context) executor.Status
	// Forget is called when a session has closed.
	Forget(s *Session)
}

// A Browser is one running browser. Its methods are safe for concurrent use.
type Browser interface {
	// ID is short and names this run of the browser; it is part of the ids of
	// tabs that have no Run of their own.
	ID() string
	// Is reports whether run is the ID of this browser, or of one of those that
	// it stands for.
	Is(run string) bool
	// Tabs returns the open tabs, in the order they were opened.
	Tabs() []*Tab
	// NewTab opens a blank tab for a session.
	NewTab(ctx context.Context, owner *Session) (*Tab, error)
	// Changed returns a channel that is closed at the next change of Tabs.
	Changed() <-chan struct{}
	// CloseTab closes a tab, or lets it go when it is not ours to close.
	CloseTab(ctx context.Context, t *Tab) (released bool, err error)
	// Ping reports whether the browser answers.
	Ping(ctx context.Context) error
	// Downloads returns the folder of downloads.
	Downloads() (*download.Dir, error)
	// Fetcher says how to fetch a URL as the browser would.
	Fetcher() Fetcher
}

// A Consenter is a Browser whose user is asked, site by site, before scripts
// of the client run in pages.
type Consenter interface {
	// Consent returns nil when the user lets scripts run in a document of t
	// with an origin, ErrConsentRequired while the user has not answered, and
	// ErrPolicyDenied when the answer is no.
	Consent(ctx context.Context, t *Tab, origin string) error
}

// A Sharer is a Browser in which the user shares tabs with several clients. Each
// client drives its own tabs.
type Sharer interface {
	// Elsewhere returns the number of shared tabs that other programs drive.
	Elsewhere(ctx context.Context) int
}

// A Session is one client's hold on a backend. It implements
// executor.Executor.
type Session struct {
	host   Host
	gate   executor.Gate
	opts   executor.SessionOptions
	log    *slog.Logger
	events eventQueue

	mu     sync.Mutex // guards what follows
	active executor.TabID
	chose  bool // the client has opened or selected a tab
	// noticed is the time when the newest tab that noticeShared has seen was
	// shared, or when the session started.
	noticed time.Time
	views   map[*Tab]*page.View
	closed  bool
}

var _ executor.Executor = (*Session)(nil)

// New returns a session on host.
func New(host Host, opts executor.SessionOptions) *Session {
	s := &Session{host: host, gate: opts.Gate, opts: opts, log: opts.Logger, noticed: time.Now(), views: make(map[*Tab]*page.View)}
	if s.gate == nil {
		s.gate = executor.GateFunc(denyAll)
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if opts.OnEvent != nil {
		s.events.start(opts.OnEvent)
	}
	return s
}

func denyAll(context.Context, executor.Access) error {
	return executor.Errorf(executor.ErrPolicyDenied, "Give the session a Gate.", "the session has no policy, so everything is denied")
}

// Ready starts the browser when it does not run.
func (s *Session) Ready(ctx context.Context) error {
	_, err := s.browser(ctx)
	return executor.Wrap("ready", "", explain(err))
}

// Ping reports whether the browser answers.
func (s *Session) Ping(ctx context.Context) error {
	if err := s.alive(); err != nil {
		return executor.Wrap("ping", "", err)
	}
	b := s.host.Current()
	if b == nil {
		return executor.Wrap("ping", "", executor.Errorf(executor.ErrNoBackend, "Any other call starts it.", "no browser runs"))
	}
	return executor.Wrap("ping", "", explain(b.Ping(ctx)))
}

// Status tells what is there.
func (s *Session) Status(ctx context.Context) executor.Status {
	st := s.host.Status(ctx)
	if b := s.host.Current(); b != nil {
		s.noticeShared(ctx, b)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.host.Current(); b != nil {
		if t := find(b, s.active, s.prefix()); t != nil {
			st.ActiveTabID = s.active
		}
	}
	return st
}

// Close closes the tabs that the session opened and lets the others go.
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
			t.Page.StopRecording()
		}
	}
	s.mu.Unlock()
	for _, v := range views {
		v.LetGo()
	}
	if b := s.host.Current(); b != nil {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		for _, t := range b.Tabs() {
			if t.Owner() == s {
				if _, err := b.CloseTab(ctx, t); err != nil && !errors.Is(err, executor.ErrTargetGone) {
					s.log.Debug("a tab was not closed with its session", "error", err)
				}
			}
		}
	}
	s.host.Forget(s)
	s.events.stop()
	return nil
}

// browser returns the browser, starting it when it does not run.
func (s *Session) browser(ctx context.Context) (Browser, error) {
	if err := s.alive(); err != nil {
		return nil, err
	}
	if s.opts.Gate == nil {
		return nil, denyAll(ctx, executor.Access{}) // nothing needs to run to refuse everything
	}
	return s.host.Acquire(ctx)
}

// alive returns ErrNoBackend when the session was closed.
func (s *Session) alive() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return executor.Errorf(executor.ErrNoBackend, "Open a new session.", "the session is closed")
	}
	return nil
}

// MayRead asks the session's gate whether a frame of a tab may be read.
func (s *Session) MayRead(ctx context.Context, t *Tab, frame string) bool {
	return s.view(t).Reads(ctx, frame)
}

// MayDownload asks the session's gate whether a frame of a tab may download
// url by itself.
func (s *Session) MayDownload(ctx context.Context, t *Tab, frame, url string) error {
	return s.view(t).MayDownload(ctx, frame, url)
}

// Emit tells the session's client of an event in a tab that it may see. frame
// is that of a dialog.
func (s *Session) Emit(ev executor.Event, t *Tab, frame string) {
	if owner := t.Owner(); s.opts.OnEvent == nil || (owner != nil && owner != s) {
		return
	}
	b := s.host.Current()
	if b == nil {
		return
	}
	ev.Tab = s.id(b, t)
	switch ev.Kind {
	case executor.EventTabClosed, executor.EventTabCrashed:
	default:
		v := s.view(t)
		if v.Allows(context.Background(), executor.OpList, "") != nil {
			ev.URL, ev.Dialog, ev.Download = "", nil, nil
		}
		if ev.Dialog != nil && !readable(v, frame) {
			ev.Dialog = &executor.Dialog{Type: ev.Dialog.Type}
		}
	}
	s.events.put(ev)
}

// readable reports whether the gate lets a frame be read; the top one when it
// is not named.
func readable(v *page.View, frame string) bool {
	if frame == "" {
		return v.Allows(context.Background(), executor.OpRead, "") == nil
	}
	return v.Reads(context.Background(), frame)
}

// explain makes an error that a caller understands of whatever comes up.
func explain(err error) error {
	var e *executor.Error
	switch {
	case err == nil || errors.As(err, &e):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return &executor.Error{Code: executor.ErrTimeout, Retryable: true, Err: err, Hint: executor.HintMoreTime}
	case errors.Is(err, context.Canceled):
		return &executor.Error{Code: executor.ErrTimeout, Retryable: true, Err: err, Hint: "The call was cancelled."}
	}
	return err
}
