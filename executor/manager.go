package executor

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// ErrExtensionNotInstalled is in the chain of [ExtensionBackend.DisconnectedError] if no extension
// has ever been set up, so that its absence is not a problem.
var ErrExtensionNotInstalled = errors.New("none was set up")

// An ExtensionBackend is the backend of the user's Chrome, as a [Manager] uses it. The Ping of its
// sessions queries the extension itself. An open connection is not enough: the extension's service
// worker may not respond.
type ExtensionBackend interface {
	Backend
	// Connected reports whether an extension is connected. It does not block.
	Connected() bool
	// DisconnectedError returns why no extension is connected. Its hint says what to do about it.
	// DisconnectedError does not block.
	DisconnectedError() error
	// LastDisconnect returns the time at which the last connection ended, if the extension is likely to
	// reconnect automatically, or else the zero time. It does not block.
	LastDisconnect() time.Time
	// Changed returns a channel that is closed at or after the next change of the connected
	// extensions.
	Changed() <-chan struct{}
}

// ManagerOptions are the options of [NewManager]. The Manager does not close the backends, which
// are shared.
type ManagerOptions struct {
	Extension ExtensionBackend // nil means no extension backend
	CDP       Backend          // nil means no CDP backend

	// Prefer is the backend to use if both are available: BackendExtension, which is the default,
	// or BackendCDP.
	Prefer BackendKind

	// NoCDPFallback disables the use of CDP, regardless of Prefer.
	NoCDPFallback bool

	// Session holds the options of the session that the Manager opens on each backend. Both
	// sessions call OnEvent, but never at the same time.
	Session SessionOptions

	// Logger logs which backend is used. It is also the default of Session.Logger. nil discards.
	Logger *slog.Logger
}

// A Manager is the Executor of one client that selects the backend for each of its calls:
//
//   - the extension, if one is connected and answers a ping within 800 ms. The result of a ping,
//     also if there was no answer, is valid for 2 s. An extension that disconnected has 600 ms to
//     reconnect.
//   - otherwise CDP, unless it is disabled;
//   - otherwise the call returns ErrNoBackend, which says how to get a browser.
//
// With Prefer BackendCDP, the Manager uses CDP whenever a CDP backend is configured.
//
// A call and a [Page] stay on the backend that they started on, even if that backend disconnects. The
// next call of the Manager selects a backend again. Each backend keeps its own session, with its tabs,
// active tab and refs, until the Manager is closed. A tab id of the backend that is not in use
// results in ErrStaleTab. After a backend switch, so does a call without a tab id, because it was
// meant for a tab of the other backend, until a call has listed, named or opened a tab. That call
// reports the switch to its observer, see [CallOptions].
//
// Its methods are safe for concurrent use. Concurrent calls that need a ping share one.
type Manager struct {
	opts      ManagerOptions
	log       *slog.Logger
	extension *backendState  // nil if not configured
	cdp       *backendState  // nil if not configured
	pings     sync.WaitGroup // grows under mu while not closed
	timing    timing.Timing  // tests replace it before the first call
	closing   chan struct{}  // closed when Close starts
	ended     chan struct{}  // closed when Close has finished
	closeErr  error          // set before ended is closed

	mu     sync.Mutex // guards the fields below, and the sessions of the backend states
	closed bool
	probe  *probe        // the last or pending ping of the extension; nil if the extension must be pinged
	used   *backendState // the backend of the client's last accepted call; nil before the first one
}

// A backendState is a backend and the Manager's session on it.
type backendState struct {
	kind    BackendKind
	backend Backend
	session Executor // nil until it is needed
}

var (
	_ Executor   = (*Manager)(nil)
	_ CDPBrowser = (*Manager)(nil)
)

// NewManager returns a Manager. It starts nothing. Nil options mean a Manager without backends.
// Close the Manager before the backends.
func NewManager(options *ManagerOptions) *Manager {
	opts := *cmp.Or(options, new(ManagerOptions))
	opts.Session.Logger = cmp.Or(opts.Session.Logger, opts.Logger)
	if onEvent := opts.Session.OnEvent; onEvent != nil {
		var mu sync.Mutex // each session calls from its own goroutine
		opts.Session.OnEvent = func(ev Event) {
			mu.Lock()
			defer mu.Unlock()
			onEvent(ev)
		}
	}
	m := &Manager{opts: opts, log: cmp.Or(opts.Logger, slog.New(slog.DiscardHandler)), timing: timing.Current(), closing: make(chan struct{}), ended: make(chan struct{})}
	if opts.Extension != nil {
		m.extension = &backendState{kind: BackendExtension, backend: opts.Extension}
	}
	if opts.CDP != nil {
		m.cdp = &backendState{kind: BackendCDP, backend: opts.CDP}
	}
	return m
}

// Status returns the state of both backends, and in Backend the one that a call would use now. If
// that is CDP although the extension is preferred, Detail says why. Status may ping the extension,
// and starts nothing.
func (m *Manager) Status(ctx context.Context) Status {
	c, skipped, err := m.choose(ctx, false)
	var s Status
	if err == nil {
		s = m.statusOf(ctx, c)
		s.Backend = c.kind
	} else {
		s = Status{Detail: reason(err)}
	}
	if m.extension != nil {
		extension := m.statusOf(ctx, m.extension)
		s.ExtensionConnected, s.Displaced = m.opts.Extension.Connected(), extension.Displaced
		if skipped != nil {
			why := reason(skipped)
			if err == nil && errors.Is(skipped, ErrExtensionNotInstalled) {
				why = message(skipped) // another browser is available, so the user does not have to do anything
			}
			s.Detail = strings.TrimSuffix(why+"; "+s.Detail, "; ")
		}
	}
	if m.cdp != nil {
		s.CDPAttached = m.statusOf(ctx, m.cdp).CDPAttached
	}
	return s
}

// statusOf returns the status of the session on c, which knows the active tab, or of the backend if
// there is no session.
func (m *Manager) statusOf(ctx context.Context, c *backendState) Status {
	m.mu.Lock()
	session := c.session
	m.mu.Unlock()
	if session == nil {
		return c.backend.Status(ctx)
	}
	return session.Status(ctx)
}

// ConnectCDP connects a CDP client to the browser of the backend that a call would use now, and
// opens the session there, whose gate decides about downloads. The connection stays there, even if
// calls go to the other backend later. It returns ErrBadArgs if that backend is not a [CDPBrowser],
// and otherwise the errors of [CDPBrowser.ConnectCDP] and of calls.
func (m *Manager) ConnectCDP(ctx context.Context, opts *CDPOptions) (CDPConn, error) {
	const op = "connect CDP client"
	c, _, err := m.choose(ctx, true)
	if err != nil {
		return nil, Wrap(op, "", err)
	}
	browser, ok := c.backend.(CDPBrowser)
	if !ok {
		return nil, Wrap(op, "", Errorf(ErrBadArgs, "Use the other backend with ManagerOptions.Prefer.", "the %s backend does not support CDP clients", c.kind))
	}
	m.mu.Lock()
	session, err := m.open(c)
	m.mu.Unlock()
	if err == nil && m.opts.Session.State != "" {
		err = session.Ready(ctx) // loads the state
	}
	if err != nil {
		return nil, Wrap(op, "", err)
	}
	return browser.ConnectCDP(ctx, opts)
}

// Close closes the sessions on both backends and waits until they are closed. A call that is still
// running returns the error of its closed session. Later calls return ErrNoBackend. Close is
// idempotent; a second Close waits for the first.
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

	// No session is opened after closed is set.
	var sessions sync.WaitGroup
	var errs [2]error
	for i, c := range []*backendState{m.extension, m.cdp} {
		if c != nil && c.session != nil {
			sessions.Go(func() { errs[i] = c.session.Close() })
		}
	}
	sessions.Wait()
	m.closeErr = errors.Join(errs[:]...)
	close(m.ended)
	return m.closeErr
}
