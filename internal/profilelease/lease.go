// Package profilelease gives the profiles of managed browsers to the sessions of a server, each to one
// session at a time.
package profilelease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

const (
	// poll is the interval at which it checks whether another process still uses the
	// profile.
	poll = 100 * time.Millisecond
)

// Leases are the leases of the profiles of a server: one session holds a profile at a time,
// because a profile has only one set of cookies and logins. It is safe for concurrent use.
type Leases struct {
	released notify.Broadcast // a profile was released

	mu   sync.Mutex        // guards held
	held map[string]*Lease // by the name of the profile
}

// New returns the leases of a server without sessions.
func New() *Leases { return &Leases{held: map[string]*Lease{}} }

// A Lease is the right of a session to use a profile, while it holds one.
type Lease struct {
	of                 *Leases
	principal, session string

	// The fields below are guarded by of.mu.
	starting int      // calls that hold the profile and start the browser
	started  bool     // the browser has been started
	others   []*Lease // that NewSibling has returned
}

// Lease returns a lease for a session, which holds no profile yet. Its owner releases it after the
// browser has exited.
func (p *Leases) Lease(principal, session string) *Lease {
	return &Lease{of: p, principal: principal, session: session}
}

// NewSibling returns a lease of the same session for another profile. The release of l also releases
// it.
func (l *Lease) NewSibling() *Lease {
	other := l.of.Lease(l.principal, l.session)
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	l.others = append(l.others, other)
	return other
}

// acquire waits until no other session uses a profile. A session acquires a profile before its
// browser starts, and calls settle with the result.
func (l *Lease) acquire(ctx context.Context, profile string) error {
	timeout := time.NewTimer(timing.Current().ProfileInUse)
	defer timeout.Stop()
	for {
		released := l.of.released.Changed()
		l.of.mu.Lock()
		other := l.of.held[profile]
		if other == nil || other == l {
			l.of.held[profile] = l
			l.starting++
			l.of.mu.Unlock()
			return nil
		}
		l.of.mu.Unlock()
		select {
		case <-released:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timeout.C:
			return l.inUse(profile, other)
		}
	}
}

// inUse returns the error for a profile that another session uses. A session of another principal
// is not named.
func (l *Lease) inUse(profile string, other *Lease) error {
	by, hint := "another session", "Use another Options.Profile."
	if other.principal == l.principal {
		by = fmt.Sprintf("session %q", other.session)
		hint = fmt.Sprintf("Use session %q or another Options.Profile, or close that session.", other.session)
	}
	err := executor.Errorf(executor.ErrBackpressure, hint, "profile %s is in use by %s", profile, by)
	err.Retryable = true
	return err
}

// settle ends the start of a browser, which failed with err unless err is nil. The lease is
// released if the session has no browser, and no other call starts one.
func (l *Lease) settle(err error) {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	l.starting--
	if err == nil {
		l.started = true
	}
	if l.starting == 0 && !l.started {
		l.releaseLocked()
	}
}

// Release releases the profile of the lease, if it holds one, and those of the leases that NewSibling
// returned. Their browsers have exited.
func (l *Lease) Release() {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	for _, one := range append([]*Lease{l}, l.others...) {
		one.started = false
		one.releaseLocked()
	}
}

// releaseLocked releases the profile of the lease, if it holds one. of.mu must be held.
func (l *Lease) releaseLocked() {
	for profile, holder := range l.of.held {
		if holder == l {
			delete(l.of.held, profile)
			l.of.released.Notify()
		}
	}
}

// Wrap wraps a backend of managed browsers with a profile.
func (l *Lease) Wrap(b executor.Backend, profile string) executor.Backend {
	return &backend{b, l, profile}
}

// A backend is a backend whose browser uses a profile.
type backend struct {
	executor.Backend
	lease   *Lease
	profile string
}

// NewSession implements executor.Backend.
func (b *backend) NewSession(opts *executor.SessionOptions) (executor.Executor, error) {
	ex, err := b.Backend.NewSession(opts)
	if err != nil {
		return nil, err
	}
	return &profileExecutor{ex, b}, nil
}

// A profileExecutor acquires the profile before it starts the browser. Its other methods do not
// launch a browser.
type profileExecutor struct {
	executor.Executor
	backend *backend
}

// Ready implements executor.Executor.
func (e *profileExecutor) Ready(ctx context.Context) error {
	return e.backend.start(ctx, e.Executor.Ready)
}

// ConnectCDP implements executor.CDPBrowser.
func (b *backend) ConnectCDP(ctx context.Context, opts *executor.CDPOptions) (executor.CDPConn, error) {
	browser, ok := b.Backend.(executor.CDPBrowser)
	if !ok {
		return nil, executor.Errorf(executor.ErrBadArgs, "", "the backend does not support CDP clients")
	}
	var conn executor.CDPConn
	err := b.start(ctx, func(ctx context.Context) (err error) {
		conn, err = browser.ConnectCDP(ctx, opts)
		return err
	})
	return conn, err
}

// start calls ready, which starts the browser if none is running. If another process uses the
// profile, it waits up to Timing.ProfileInUse for that process to exit. After an error, the session
// does not use the profile, unless another call has started the browser.
func (b *backend) start(ctx context.Context, ready func(context.Context) error) (err error) {
	deadline := time.Now().Add(timing.Current().ProfileInUse)
	if err := b.lease.acquire(ctx, b.profile); err != nil {
		return err
	}
	defer func() { b.lease.settle(err) }()
	err = ready(ctx)
	for errors.Is(err, chromium.ErrProfileInUse) {
		if !time.Now().Before(deadline) {
			err = asBackpressure(err)
			break
		}
		select {
		case <-time.After(poll):
			err = ready(ctx)
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	return err
}

// asBackpressure returns err, an *executor.Error, with the code ErrBackpressure.
func asBackpressure(err error) error {
	e, ok := executor.Wrap("", "", err).(*executor.Error)
	if !ok {
		return err
	}
	e.Code, e.Retryable = executor.ErrBackpressure, true
	return e
}

// SelectTab implements executor.Executor.
func (e *profileExecutor) SelectTab(ctx context.Context, tab executor.TabID) (*executor.Tab, error) {
	if err := e.Ready(ctx); err != nil {
		return nil, err
	}
	return e.Executor.SelectTab(ctx, tab)
}

// Page implements executor.Executor. The methods of the page start the browser if none is running.
func (e *profileExecutor) Page(ctx context.Context, tab executor.TabID) (executor.Page, error) {
	if err := e.Ready(ctx); err != nil {
		return nil, err
	}
	return e.Executor.Page(ctx, tab)
}

// NewPage implements executor.Executor.
func (e *profileExecutor) NewPage(ctx context.Context, opts *executor.NewPageOptions) (executor.Page, *executor.Tab, error) {
	if err := e.Ready(ctx); err != nil {
		return nil, nil, err
	}
	return e.Executor.NewPage(ctx, opts)
}

// Navigate implements executor.Executor.
func (e *profileExecutor) Navigate(ctx context.Context, url string, opts *executor.NavigateOptions) (*executor.Navigation, error) {
	if err := e.Ready(ctx); err != nil {
		return nil, err
	}
	return e.Executor.Navigate(ctx, url, opts)
}

// SaveState implements executor.Executor.
func (e *profileExecutor) SaveState(ctx context.Context, name string) (*executor.StateResult, error) {
	if err := e.Ready(ctx); err != nil {
		return nil, err
	}
	return e.Executor.SaveState(ctx, name)
}

// LoadState implements executor.Executor.
func (e *profileExecutor) LoadState(ctx context.Context, name string) (*executor.StateResult, error) {
	if err := e.Ready(ctx); err != nil {
		return nil, err
	}
	return e.Executor.LoadState(ctx, name)
}

var _ executor.Watcher = (*profileExecutor)(nil)

// WatchTabs implements executor.Watcher.
func (e *profileExecutor) WatchTabs(ctx context.Context) []executor.Tab {
	return executor.AsWatcher(e.Executor).WatchTabs(ctx)
}

// Watch implements executor.Watcher.
func (e *profileExecutor) Watch(ctx context.Context, tab executor.TabID) (executor.LiveView, error) {
	return executor.AsWatcher(e.Executor).Watch(ctx, tab)
}
