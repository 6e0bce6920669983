package extension

import (
	"cmp"
	"context"
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
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
	"github.com/chrome-mcp/chrome-mcp/internal/page"
	"github.com/chrome-mcp/chrome-mcp/internal/session"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// A Backend drives the browsers whose extension is connected to one server. It has the tabs of all
// of them. It implements executor.ExtensionBackend. Its methods are safe for concurrent use.
type Backend struct {
	opts      Options
	log       *slog.Logger
	sessions  session.Registry
	changed   notify.Broadcast // of the tabs
	handovers notify.Broadcast // a handover has begun or ended
	stop      context.CancelFunc
	work      sync.WaitGroup
	files     func() (*download.Dir, error) // the download directory, created at first use
	quota     *download.Quota               // of all downloads
	hub       *hub                          // of CDP clients
	secrets   page.SecretGuard
	timing    timing.Timing                 // tests replace it before the first call
	proxy     func() (*egress.Proxy, error) // of fetched URLs

	mu            sync.Mutex // guards the fields below
	closed        bool
	installations []*installation // all that have connected, in the order of their first connection
	lost          error           // why the last connection ended; nil if none has ended
	lostAt        time.Time
	shared        int           // total number of tabs that users have shared
	proxied       *egress.Proxy // nil until proxy is called
}

var (
	_ executor.ExtensionBackend = (*Backend)(nil)
	_ session.BrowserProvider   = host{}
	_ session.BrowserInstance   = host{}
	_ session.Consenter         = host{}
	_ session.Sharer            = host{}
)

// New returns a Backend for the browsers that connect to opts.Server. Close the Backend before the
// server; Close does not close the server. New returns ErrBadArgs if opts.Server is nil, or if
// opts.Proxy is invalid or set without opts.Network.
func New(opts *Options) (*Backend, error) {
	if opts == nil || opts.Server == nil {
		return nil, executor.Errorf(executor.ErrBadArgs, "Set Server.", "no server for the extension")
	}
	if opts.Proxy != "" && opts.Network == nil {
		return nil, executor.Errorf(executor.ErrBadArgs, "Set Network, too.", "Proxy requires Network")
	}
	if _, err := egress.ParseUpstream(opts.Proxy); err != nil {
		return nil, err
	}
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	b := &Backend{opts: o, log: o.Logger, timing: timing.Current()}
	b.hub = &hub{backend: b}
	b.quota = download.NewQuota(o.MaxDownloads, o.MaxDownloadTotal)
	b.quota.ShareUsage(o.DownloadsDir, o.DownloadsUsage)
	b.files = sync.OnceValues(func() (*download.Dir, error) {
		return download.OpenShared(o.DownloadsDir, o.MaxDownloadBytes, b.quota)
	})
	b.proxy = sync.OnceValues(b.startProxy)
	ctx, cancel := context.WithCancel(context.Background())
	b.stop = cancel
	b.work.Go(func() { b.watch(ctx) })
	return b, nil
}

// watch connects each new connection of the server until ctx is done.
func (b *Backend) watch(ctx context.Context) {
	for {
		changed := b.opts.Server.Changed()
		for _, c := range b.opts.Server.Connections() {
			b.connect(ctx, c)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// connect starts using c, unless it is already used. A new connection of an installation replaces
// the old one, and keeps its tabs.
func (b *Backend) connect(ctx context.Context, c *bridge.Conn) {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return
	}
	i := slices.IndexFunc(b.installations, func(in *installation) bool { return in.key == c.InstallationID() })
	if i < 0 {
		b.installations = append(b.installations, newInstallation(b, c.InstallationID()))
		i = len(b.installations) - 1
	}
	in := b.installations[i]
	b.mu.Unlock() // b.mu may be locked while in.mu is held, but not the reverse
	in.connect(ctx, c)
}

// Kind returns executor.BackendExtension.
func (b *Backend) Kind() executor.BackendKind { return executor.BackendExtension }

// Connected reports whether an extension is connected.
func (b *Backend) Connected() bool { return len(b.connectedInstallations()) > 0 }

// connectedInstallations returns the browsers that are connected.
func (b *Backend) connectedInstallations() []*installation {
	return slices.DeleteFunc(b.allInstallations(), func(in *installation) bool { return in.connection() == nil })
}

// allInstallations returns the browsers that have connected.
func (b *Backend) allInstallations() []*installation {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.installations)
}

// NewSession returns an Executor for one client. Sessions see the tabs that the user has shared, and
// each other's tabs.
func (b *Backend) NewSession(opts *executor.SessionOptions) (executor.Executor, error) {
	return b.sessions.Open(host{b}, *cmp.Or(opts, new(executor.SessionOptions)))
}

// Status returns which browsers are connected, how many tabs each of them shares, and when a
// connection was replaced. If no browser is connected, it returns why, and what to do about it.
func (b *Backend) Status(context.Context) executor.Status {
	s := executor.Status{Backend: executor.BackendExtension}
	var facts []string
	for _, in := range b.connectedInstallations() {
		facts = append(facts, in.describe())
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

// displaced describes the last replacement of a connection.
func displaced(d *bridge.Displacement) string {
	text := "a connection was replaced by a newer one of the same browser at " + d.Time.Format(time.TimeOnly)
	if d.Count > 1 {
		text += fmt.Sprintf(", the last of %d times", d.Count)
	}
	return text
}

func reason(err error) string {
	if e, ok := errors.AsType[*executor.Error](err); ok && e.Hint != "" {
		return e.Message() + " (" + e.Hint + ")"
	}
	return err.Error()
}

// DisconnectedError returns the error of calls while no extension is connected. It says why, and
// what to do about it.
func (b *Backend) DisconnectedError() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return session.ErrClosed()
	}
	if err := b.opts.Server.Err(); err != nil {
		return err
	}
	mismatch := b.opts.Server.Mismatch()
	switch {
	case mismatch != nil && !errors.Is(b.lost, bridge.ErrUnpaired):
		return mismatch
	case b.lost != nil:
		var e *executor.Error
		why := b.lost.Error()
		if errors.As(b.lost, &e) {
			why = e.Message()
		}
		hint := "Ask the user to open Chrome: the extension reconnects automatically within seconds. Its tabs are shared again if the user enabled that."
		if errors.Is(b.lost, bridge.ErrUnpaired) {
			hint = "The user revoked the key. Ask the user before you continue."
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
			"and to share a tab with its button in the toolbar. If the button says that it is not paired, bridge.NewPairing helps."}
}

// LastDisconnect returns the time at which the last connection ended. It returns the zero time if
// there was none, or if the extension will not reconnect automatically.
func (b *Backend) LastDisconnect() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.opts.Server.Err() != nil || errors.Is(b.lost, bridge.ErrUnpaired) {
		return time.Time{}
	}
	return b.lostAt
}

// Close closes the sessions. That closes the tabs that they opened, and releases the user's tabs. It
// is idempotent.
func (b *Backend) Close() error {
	if !b.sessions.CloseAll() {
		return nil
	}
	b.hub.close()
	b.mu.Lock()
	b.closed = true
	installations, proxy := b.installations, b.proxied
	b.mu.Unlock()
	b.stop()
	for _, in := range installations {
		in.close()
	}
	b.work.Wait()
	if proxy != nil {
		return proxy.Close()
	}
	return nil
}

// A host implements session.BrowserProvider and session.BrowserInstance for a Backend.
type host struct{ *Backend }

// AttachesToRunning implements session.BrowserProvider.
func (h host) AttachesToRunning() bool { return true }

// Current implements session.BrowserProvider.
func (h host) Current() session.BrowserInstance {
	if !h.Connected() {
		return nil
	}
	return h
}

// Acquire implements session.BrowserProvider. It does not wait for an extension to connect.
func (h host) Acquire(ctx context.Context) (session.BrowserInstance, error) {
	for _, in := range h.connectedInstallations() {
		if err := in.ready(ctx); err != nil { // its tabs are known shortly after it has connected
			return nil, err
		}
	}
	if b := h.Current(); b != nil {
		return b, nil
	}
	return nil, h.DisconnectedError()
}
