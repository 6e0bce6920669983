package executor

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// ErrNotSetUp is in the chain of an ExtensionBackend's Absent when nobody ever
// set an extension up, so that none is missed.
var ErrNotSetUp = errors.New("none was set up")

// An ExtensionBackend is the backend of the user's own Chrome, as a [Manager]
// needs it. Its sessions' Ping asks the extension itself, and not only whether
// the connection is open: the extension's worker may be dead behind it.
type ExtensionBackend interface {
	Backend
	// Connected reports whether an extension is connected. It does not block.
	Connected() bool
	// Absent returns why none is connected, with what to do about it as the
	// hint. It does not block.
	Absent() error
	// Lost returns when the last connection ended, if it may well come back by
	// itself; else the zero time. It does not block.
	Lost() time.Time
	// Changed returns a channel that is closed at the next change of what is
	// connected, or later.
	Changed() <-chan struct{}
}

// ManagerOptions are the options of [NewManager]. The Manager closes none of
// the backends, which are shared.
type ManagerOptions struct {
	Extension ExtensionBackend // nil means that there is none
	CDP       Backend          // nil means that there is none

	// Prefer is the backend to use when both are there: BackendExtension,
	// which the zero value means too, or BackendCDP.
	Prefer BackendKind

	// NoCDPFallback leaves CDP unused, whatever Prefer says.
	NoCDPFallback bool

	// Session is for the session that the Manager opens on each backend. With
	// both in use OnEvent is called by either, but never by both at once.
	Session SessionOptions

	// Logger is told which backend is used, and is the sessions' too unless
	// Session has one. nil discards.
	Logger *slog.Logger
}

// A Manager is the Executor of one client that picks the backend anew for
// every call:
//
//   - the extension, when one is connected and answers a ping within 800 ms;
//     an answer, or that there was none, counts for 2 s; one that was lost has
//     600 ms to come back;
//   - else CDP, unless that is turned off;
//   - else the call returns ErrNoBackend, which says how to get a browser.
//
// With Prefer BackendCDP it is CDP whenever there is one.
//
// A call ends on the backend that it began on, also when that goes away
// meanwhile; the next call picks again. Each backend keeps its own session for
// as long as the Manager lives, with its tabs, active tab and refs. A tab id of
// the backend that is not in use gives ErrStaleTab. So does a call that leaves
// its tab out, after the backend has changed, until another has listed, named
// or opened a tab: it was meant for a tab of the other one. The call that does
// so is told of the change, see [WithSwitch].
//
// Its methods are safe for concurrent use. Calls that need a ping at the same
// time share one.
type Manager struct {
	opts      ManagerOptions
	log       *slog.Logger
	extension *child         // nil without one
	cdp       *child         // nil without one
	pings     sync.WaitGroup // grows under mu while not closed
	closing   chan struct{}  // closed when Close begins
	ended     chan struct{}  // closed when Close is through
	closeErr  error          // set before ended is closed

	mu     sync.Mutex // guards what follows, and the children's sessions
	closed bool
	probe  *probe // the last ping of the extension, or one under way; nil when it must be asked
	used   *child // what the client's calls go to as far as it knows; nil before the first
}

// A child is a backend and the Manager's session on it.
type child struct {
	kind    BackendKind
	prefix  string // of its tab ids
	backend Backend
	session Executor // nil until it is needed
}

// other is the kind of the other backend.
func (c *child) other() BackendKind {
	if c.kind == BackendExtension {
		return BackendCDP
	}
	return BackendExtension
}

var _ Executor = (*Manager)(nil)

// NewManager returns a Manager. It starts nothing. Close it before the
// backends.
func NewManager(opts ManagerOptions) *Manager {
	if opts.Session.Logger == nil {
		opts.Session.Logger = opts.Logger
	}
	if tell := opts.Session.OnEvent; tell != nil {
		var one sync.Mutex // each session calls from a goroutine of its own
		opts.Session.OnEvent = func(ev Event) {
			one.Lock()
			defer one.Unlock()
			tell(ev)
		}
	}
	m := &Manager{opts: opts, log: opts.Logger, closing: make(chan struct{}), ended: make(chan struct{})}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	if opts.Extension != nil {
		m.extension = &child{kind: BackendExtension, prefix: "ext", backend: opts.Extension}
	}
	if opts.CDP != nil {
		m.cdp = &child{kind: BackendCDP, prefix: "cdp", backend: opts.CDP}
	}
	return m
}

// Status tells what is there on both sides, and under Backend what a call
// would use now. When that is CDP although the extension is preferred, Detail
// says why. It may ping the extension, and starts nothing.
func (m *Manager) Status(ctx context.Context) Status {
	c, passed, err := m.choose(ctx, false)
	var s Status
	if err == nil {
		s = m.statusOf(ctx, c)
		s.Backend = c.kind
	} else {
		s = Unavailable{err}.Status(ctx)
	}
	if m.extension != nil {
		side := m.statusOf(ctx, m.extension)
		s.ExtensionConnected, s.Displaced = m.opts.Extension.Connected(), side.Displaced
		if passed != nil {
			why := reason(passed)
			if err == nil && errors.Is(passed, ErrNotSetUp) {
				why = message(passed) // another browser is there: nobody need do anything
			}
			s.Detail = strings.TrimSuffix(why+"; "+s.Detail, "; ")
		}
	}
	if m.cdp != nil {
		s.CDPAttached = m.statusOf(ctx, m.cdp).CDPAttached
	}
	return s
}

// statusOf asks the session on c, which knows the active tab, or else the
// backend.
func (m *Manager) statusOf(ctx context.Context, c *child) Status {
	m.mu.Lock()
	session := c.session
	m.mu.Unlock()
	if session == nil {
		return c.backend.Status(ctx)
	}
	return session.Status(ctx)
}

// Close ends the sessions on both backends and returns when they have ended.
// Calls that are still running end as their session has them end; later ones
// return ErrNoBackend. Close is idempotent; a second Close waits for the
// first.
func (m *Manager) Close() error {
	m.mu.Lock()
	first := !m.closed
	if first {
		close(m.closing)
	}
	m.closed = true
	m.forgetProbe()
	m.mu.Unlock()
	if !first {
		<-m.ended
		return m.closeErr
	}
	m.pings.Wait()

	// No session begins once closed is set.
	var sessions sync.WaitGroup
	var errs [2]error
	for i, c := range []*child{m.extension, m.cdp} {
		if c != nil && c.session != nil {
			sessions.Go(func() { errs[i] = c.session.Close() })
		}
	}
	sessions.Wait()
	m.closeErr = errors.Join(errs[:]...)
	close(m.ended)
	return m.closeErr
}
