package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

const (
	// profileWait is the time that a call waits for a profile that another session or process uses.
	profileWait = 5 * time.Second
	// profilePoll is the interval at which it checks whether another process still uses the profile.
	profilePoll = 100 * time.Millisecond
)

// profileUsers are the sessions of a server that use a profile: one session at a time, because a
// profile has only one set of cookies and logins. It is safe for concurrent use.
type profileUsers struct {
	mu      sync.Mutex              // guards the fields below
	users   map[string]*profileUser // by the name of the profile
	changed chan struct{}           // closed when a profile is released
}

func newProfileUsers() *profileUsers {
	return &profileUsers{users: map[string]*profileUser{}, changed: make(chan struct{})}
}

// A profileUser is a session that may use a profile.
type profileUser struct {
	of                 *profileUsers
	principal, session string
}

// user returns the user for a session. Its owner releases it after the browser has exited.
func (p *profileUsers) user(principal, session string) *profileUser {
	return &profileUser{p, principal, session}
}

// acquire waits until no other session uses a profile. A session acquires a profile before its
// browser starts.
func (u *profileUser) acquire(ctx context.Context, profile string) error {
	timeout := time.NewTimer(profileWait)
	defer timeout.Stop()
	for {
		u.of.mu.Lock()
		other := u.of.users[profile]
		if other == nil || other == u {
			u.of.users[profile] = u
			u.of.mu.Unlock()
			return nil
		}
		changed := u.of.changed
		u.of.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timeout.C:
			return u.inUse(profile, other)
		}
	}
}

// inUse returns the error for a profile that another session uses. A session of another principal
// is not named.
func (u *profileUser) inUse(profile string, other *profileUser) error {
	by, hint := "another session", "Use another Options.Profile."
	if other.principal == u.principal {
		by = fmt.Sprintf("session %q", other.session)
		hint = fmt.Sprintf("Use session %q or another Options.Profile, or close that session.", other.session)
	}
	err := executor.Errorf(executor.ErrBackpressure, hint, "profile %s is in use by %s", profile, by)
	err.Retryable = true
	return err
}

// release ends the use of a profile by u, if it uses one.
func (u *profileUser) release() {
	u.of.mu.Lock()
	defer u.of.mu.Unlock()
	for profile, user := range u.of.users {
		if user == u {
			delete(u.of.users, profile)
			close(u.of.changed)
			u.of.changed = make(chan struct{})
		}
	}
}

// wrap returns a function that wraps the backend of managed browsers, or nil if the session uses no
// profile.
func (u *profileUser) wrap(s *settings) func(executor.Backend) executor.Backend {
	if s.isolated || s.cdpEndpoint != "" {
		return nil
	}
	return func(b executor.Backend) executor.Backend { return &profileBackend{b, u, s.profile} }
}

// A profileBackend is a backend whose browser uses a profile.
type profileBackend struct {
	executor.Backend
	user    *profileUser
	profile string
}

// NewSession implements executor.Backend.
func (b *profileBackend) NewSession(opts executor.SessionOptions) (executor.Executor, error) {
	ex, err := b.Backend.NewSession(opts)
	if err != nil {
		return nil, err
	}
	return &profileExecutor{ex, b}, nil
}

// A profileExecutor acquires the profile before it starts the browser. Its other methods do not launch
// a browser.
type profileExecutor struct {
	executor.Executor
	backend *profileBackend
}

// Ready implements executor.Executor. If another process uses the profile, it waits up to
// profileWait for that process to exit. After an error, the session does not use the profile.
func (e *profileExecutor) Ready(ctx context.Context) error {
	deadline := time.Now().Add(profileWait)
	if err := e.backend.user.acquire(ctx, e.backend.profile); err != nil {
		return err
	}
	err := e.Executor.Ready(ctx)
	for isProfileInUse(err) {
		if !time.Now().Before(deadline) {
			err = asBackpressure(err)
			break
		}
		select {
		case <-time.After(profilePoll):
			err = e.Executor.Ready(ctx)
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	if err != nil {
		e.backend.user.release()
	}
	return err
}

// isProfileInUse reports whether err is the backend's error for a profile that another process
// uses.
func isProfileInUse(err error) bool {
	return executor.CodeOf(err) == executor.ErrLaunchFailed && strings.Contains(err.Error(), " is in use by ")
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
