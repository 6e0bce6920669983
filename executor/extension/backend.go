package extension

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/download"
	"github.com/chrome-mcp/chrome-mcp/internal/egress"
	"github.com/chrome-mcp/chrome-mcp/internal/session"
)

// A connection is a bridge.Instance.
type connection interface {
	ID() string
	Chrome() string
	Call(ctx context.Context, method string, params, result any) error
	Queue(ctx context.Context, method string, params any, done func(json.RawMessage, error)) error
	Next(ctx context.Context) (*bridge.Event, error)
	LastMessageAt() time.Time
	Err() error
}

// A Backend is the browsers whose extension is connected to one server, as
// one: it has the tabs of all of them. It is an executor.ExtensionBackend. Its
// methods are safe for concurrent use.
type Backend struct {
	opts  Options
	log   *slog.Logger
	stop  context.CancelFunc
	work  sync.WaitGroup
	files func() (*download.Dir, error) // the folder of downloads, made at first use
	quota *download.Quota               // of all downloads together
	proxy func() (*egress.Proxy, error) // decides on what is fetched by URL

	mu            sync.Mutex // guards what follows
	closed        bool
	installations []*installation // one for each installation that ever connected, in order
	lost          error           // why the last connection ended; nil before any has
	lostAt        time.Time
	shared        int // counts the tabs that users shared
	changed       chan struct{}
	sessions      map[*session.Session]bool
	proxied       *egress.Proxy // nil until proxy was called
}

var (
	_ executor.ExtensionBackend = (*Backend)(nil)
	_ session.BrowserProvider   = host{}
	_ session.BrowserInstance   = host{}
	_ session.Consenter         = host{}
	_ session.Sharer            = host{}
)

// New returns the backend of the browsers that connect to opts.Server. It
// closes nothing but what it made: the server is its caller's, and outlives
// it.
func New(opts Options) *Backend {
	opts = opts.withDefaults()
	b := &Backend{opts: opts, log: opts.Logger, changed: make(chan struct{}), sessions: make(map[*session.Session]bool)}
	b.quota = download.NewQuota(opts.MaxDownloads, opts.MaxDownloadTotal)
	b.files = sync.OnceValues(b.openDownloads)
	b.proxy = sync.OnceValues(b.startProxy)
	ctx, cancel := context.WithCancel(context.Background())
	b.stop = cancel
	b.work.Go(func() { b.watch(ctx) })
	return b
}

// watch takes up the connections that there are.
func (b *Backend) watch(ctx context.Context) {
	for {
		changed := b.opts.Server.Changed()
		for _, i := range b.opts.Server.Instances() {
			b.connect(ctx, i)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// connect takes up a connection unless that was done. A new connection of an
// installation takes the old one's place, and with it its tabs.
func (b *Backend) connect(ctx context.Context, c connection) {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return
	}
	i := slices.IndexFunc(b.installations, func(l *installation) bool { return l.key == c.ID() })
	if i < 0 {
		b.installations = append(b.installations, newInstallation(b, c.ID()))
		i = len(b.installations) - 1
	}
	l := b.installations[i]
	b.mu.Unlock() // which is taken under a link's, never around it
	l.connect(ctx, c)
}

// Kind returns executor.BackendExtension.
func (b *Backend) Kind() executor.BackendKind { return executor.BackendExtension }

// Connected reports whether an extension is connected.
func (b *Backend) Connected() bool { return len(b.connectedInstallations()) > 0 }

// connectedInstallations returns the browsers that are connected.
func (b *Backend) connectedInstallations() []*installation {
	b.mu.Lock()
	links := slices.Clone(b.installations)
	b.mu.Unlock()
	return slices.DeleteFunc(links, func(l *installation) bool { return l.connection() == nil })
}

// NewSession returns one client's Executor. Sessions share the tabs that the
// user shared, and see each other's.
func (b *Backend) NewSession(opts executor.SessionOptions) (executor.Executor, error) {
	switch opts.AfterAction {
	case "", executor.AfterDiff, executor.AfterSnapshot, executor.AfterNone:
	default:
		return nil, executor.Errorf(executor.ErrBadArgs, "Use diff, snapshot or none.", "afterAction %q is unknown", string(opts.AfterAction))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, errClosed()
	}
	s := session.New(host{b}, opts)
	b.sessions[s] = true
	return s, nil
}

func errClosed() error {
	return executor.Errorf(executor.ErrNoBackend, "Make a new one.", "the backend was closed")
}

// Status tells which browsers are connected, how many tabs each of them
// shares, and when a connection was replaced; or why there is none, and what
// to do about it.
func (b *Backend) Status(context.Context) executor.Status {
	s := executor.Status{Backend: executor.BackendExtension}
	var facts []string
	for _, l := range b.connectedInstallations() {
		facts = append(facts, l.describe())
	}
	s.Ready = len(facts) > 0
	s.ExtensionConnected = s.Ready
	if !s.Ready {
		facts = append(facts, reason(b.DisconnectedError()))
	}
	if d := b.opts.Server.Displaced(); d != nil {
		s.Displaced = true
		facts = append(facts, displaced(d))
	}
	s.Detail = strings.Join(facts, "; ")
	return s
}

// displaced tells of the connection that was replaced last.
func displaced(d *bridge.Displacement) string {
	text := "a connection was replaced by a newer one of the same browser at " + d.Time.Format(time.TimeOnly)
	if d.Count > 1 {
		text += fmt.Sprintf(", the last of %d times", d.Count)
	}
	return text
}

func reason(err error) string {
	var e *executor.Error
	if errors.As(err, &e) && e.Hint != "" {
		return e.Message() + " (" + e.Hint + ")"
	}
	return err.Error()
}

// DisconnectedError returns the error of calls while nothing is connected: why that is,
// and what to do about it.
func (b *Backend) DisconnectedError() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return errClosed()
	}
	if err := b.opts.Server.Err(); err != nil {
		return err
	}
	switch {
	case b.lost != nil:
		var e *executor.Error
		why := b.lost.Error()
		if errors.As(b.lost, &e) {
			why = e.Message()
		}
		hint := "Ask the user to open Chrome: the extension connects again by itself within seconds. Its tabs are shared again where the user chose that."
		if errors.Is(b.lost, bridge.ErrUnpaired) {
			hint = "The user revoked the key. Ask before you continue."
		}
		return &executor.Error{Code: executor.ErrExtensionDisconnected, Retryable: true,
			Err: fmt.Errorf("the extension disconnected: %s", why), Hint: hint}
	}
	if b.opts.Expected != nil && !b.opts.Expected() {
		return &executor.Error{Code: executor.ErrNoBackend, Retryable: true,
			Err:  fmt.Errorf("no extension is connected: %w", executor.ErrExtensionNotInstalled),
			Hint: "The user can install the extension with chrome-mcp extension install.",
		}
	}
	return &executor.Error{Code: executor.ErrNoBackend, Retryable: true,
		Err: errors.New("no extension is connected"),
		Hint: "Ask the user to open the Chrome that has the chrome-mcp extension (chrome-mcp extension install says how to get it), " +
			"and to share a tab with its button in the toolbar. If the button says that it is not paired, chrome-mcp --print-pairing helps."}
}

// LastDisconnect returns when the last connection ended; the zero time when it will not
// come back by itself, or there was none.
func (b *Backend) LastDisconnect() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.opts.Server.Err() != nil || errors.Is(b.lost, bridge.ErrUnpaired) {
		return time.Time{}
	}
	return b.lostAt
}

// Close ends the sessions, which closes the tabs that they opened, and lets
// the user's tabs go. It is idempotent.
func (b *Backend) Close() error {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil
	}
	sessions := make([]*session.Session, 0, len(b.sessions))
	for s := range b.sessions {
		sessions = append(sessions, s)
	}
	b.mu.Unlock()
	var closing sync.WaitGroup
	for _, s := range sessions {
		closing.Go(func() { s.Close() })
	}
	closing.Wait()

	b.mu.Lock()
	b.closed = true
	links, proxy := b.installations, b.proxied
	b.mu.Unlock()
	b.stop()
	for _, l := range links {
		l.close()
	}
	b.work.Wait()
	if proxy != nil {
		return proxy.Close()
	}
	return nil
}

// each calls f with every session.
func (b *Backend) each(f func(*session.Session)) {
	b.mu.Lock()
	sessions := make([]*session.Session, 0, len(b.sessions))
	for s := range b.sessions {
		sessions = append(sessions, s)
	}
	b.mu.Unlock()
	for _, s := range sessions {
		f(s)
	}
}

// notify wakes whoever waits for a change of the tabs.
func (b *Backend) notify() {
	b.mu.Lock()
	close(b.changed)
	b.changed = make(chan struct{})
	b.mu.Unlock()
}

// A host is a Backend as its sessions see it.
type host struct{ *Backend }

// Joins implements session.Host: the browser runs, or does not.
func (h host) AttachesToRunning() bool { return true }

// Forget implements session.Host.
func (h host) RemoveSession(s *session.Session) {
	h.mu.Lock()
	delete(h.sessions, s)
	h.mu.Unlock()
}

// Current implements session.Host.
func (h host) Current() session.BrowserInstance {
	if !h.Connected() {
		return nil
	}
	return h
}

// Acquire implements session.Host. It waits for nothing: the user's browser is
// there, or it is not.
func (h host) Acquire(ctx context.Context) (session.BrowserInstance, error) {
	for _, l := range h.connectedInstallations() {
		if err := l.ready(ctx); err != nil { // its tabs are known a moment after it connected
			return nil, err
		}
	}
	if b := h.Current(); b != nil {
		return b, nil
	}
	return nil, h.DisconnectedError()
}
