package server

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// hold marks a session as used: a request, a stream or a call is in progress, until drop. The server
// is not idle in the meantime. s.mu must be held.
func (s *Server) hold(one *session) {
	s.begin()
	one.uses++
	s.restIdle(one)
}

// drop ends a use of a session.
func (s *Server) drop(one *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one.uses--
	s.restIdle(one)
	s.finish()
}

// restIdle starts the idle timer of a session if nothing uses the session, and otherwise stops it.
// Timers and the differences of times are monotonic: a change of the system's clock has no effect.
// s.mu must be held.
func (s *Server) restIdle(one *session) {
	if s.opts.SessionIdle <= 0 {
		return
	}
	if one.keep || one.uses > 0 {
		one.idleAt = time.Time{}
		if one.idle != nil {
			one.idle.Stop()
		}
		return
	}
	if s.sessions[one.key] != one {
		return // it is being closed
	}
	one.idleAt = time.Now().Add(s.opts.SessionIdle)
	if one.idle != nil {
		one.idle.Reset(s.opts.SessionIdle)
		return
	}
	one.idle = time.AfterFunc(s.opts.SessionIdle, func() {
		s.end(one, fmt.Sprintf("it was idle for %v", s.opts.SessionIdle), func() bool {
			return one.idleAt.IsZero() || time.Now().Before(one.idleAt) // it was used at the same time
		})
	})
}

// startTTL starts the timer that ends a session after its maximum lifetime.
func (s *Server) startTTL(one *session) {
	if s.opts.SessionTTL <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	one.ttl = time.AfterFunc(s.opts.SessionTTL, func() {
		s.end(one, fmt.Sprintf("it reached its maximum lifetime of %v", s.opts.SessionTTL), nil)
	})
}

// ends returns when the session ends unless it is used, or the zero time. s.mu must be held.
func (s *Server) ends(one *session) time.Time {
	ends := one.idleAt
	if s.opts.SessionTTL > 0 {
		if last := one.info.Started.Add(s.opts.SessionTTL); ends.IsZero() || last.Before(ends) {
			ends = last
		}
	}
	if ends.IsZero() {
		return ends
	}
	return time.Now().Add(time.Until(ends)) // by the current clock
}

// limit returns the function that limits the calls of a session. A call uses the session, also after
// its client has disconnected.
func (s *Server) limit(one *session) func(context.Context) (release func(), err error) {
	return func(ctx context.Context) (func(), error) {
		s.mu.Lock()
		s.hold(one)
		s.mu.Unlock()
		release, err := s.calls.acquire(ctx, one.key.principal)
		if err != nil {
			s.drop(one)
			return nil, err
		}
		return func() {
			release()
			s.drop(one)
		}, nil
	}
}

// maxEnded bounds the sessions whose end a server remembers.
const maxEnded = 256

// endedSessions are the sessions that ended last, the oldest first, and why. Its zero value is
// ready to use.
type endedSessions []struct {
	key    sessionKey
	reason string
}

func (e *endedSessions) add(key sessionKey, reason string) {
	e.forget(key)
	if len(*e) == maxEnded {
		*e = slices.Delete(*e, 0, 1)
	}
	*e = append(*e, struct {
		key    sessionKey
		reason string
	}{key, reason})
}

// reason returns why a session ended. ok is false if no end is remembered.
func (e *endedSessions) reason(key sessionKey) (reason string, ok bool) {
	for _, one := range *e {
		if one.key == key {
			return one.reason, true
		}
	}
	return "", false
}

// forget removes a session that is open again.
func (e *endedSessions) forget(key sessionKey) {
	for i, one := range *e {
		if one.key == key {
			*e = slices.Delete(*e, i, i+1)
			return
		}
	}
}
