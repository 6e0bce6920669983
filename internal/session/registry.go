package session

import (
	"maps"
	"slices"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// A Registry contains the open sessions of a backend. The zero value is an empty Registry. Its
// methods are safe for concurrent use.
type Registry struct {
	mu       sync.Mutex // guards the fields below
	sessions map[*Session]bool
	closed   bool
}

// Open returns a new session on a provider. After CloseAll it returns ErrNoBackend.
func (r *Registry) Open(provider BrowserProvider, opts executor.SessionOptions) (executor.Executor, error) {
	switch opts.AfterAction {
	case "", executor.AfterDiff, executor.AfterSnapshot, executor.AfterNone:
	default:
		return nil, executor.Errorf(executor.ErrBadArgs, "Use diff, snapshot or none.", "afterAction %q is unknown", string(opts.AfterAction))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, ErrClosed()
	}
	s := New(provider, opts)
	s.registry = r
	if r.sessions == nil {
		r.sessions = make(map[*Session]bool)
	}
	r.sessions[s] = true
	return s, nil
}

// ErrClosed returns the error of calls after the backend was closed.
func ErrClosed() error {
	return executor.Errorf(executor.ErrNoBackend, "Create a new Backend.", "the backend is closed")
}

// remove removes a session that has closed. A nil Registry contains no sessions.
func (r *Registry) remove(s *Session) {
	if r == nil {
		return
	}
	r.mu.Lock()
	delete(r.sessions, s)
	r.mu.Unlock()
}

// Each calls f with each open session, in no particular order.
func (r *Registry) Each(f func(*Session)) {
	r.mu.Lock()
	sessions := slices.Collect(maps.Keys(r.sessions))
	r.mu.Unlock()
	for _, s := range sessions {
		f(s)
	}
}

// CloseAll closes all sessions in parallel, and rejects new ones. It reports whether it was the
// first call.
func (r *Registry) CloseAll() bool {
	r.mu.Lock()
	first := !r.closed
	r.closed = true
	r.mu.Unlock()
	var closing sync.WaitGroup
	r.Each(func(s *Session) { closing.Go(func() { s.Close() }) })
	closing.Wait()
	return first
}

// Emit calls Session.Emit of all sessions.
func (r *Registry) Emit(ev executor.Event, t *Tab, frame string) {
	r.Each(func(s *Session) { s.Emit(ev, t, frame) })
}
