package server

import (
	"fmt"
	"time"
)

// beginUse marks a session as used by a request, a stream or a call, until endUse. While a session
// is used, the server is not idle. s.mu must be held.
func (s *Server) beginUse(ses *session) {
	s.begin()
	ses.uses++
	s.updateIdleTimer(ses)
}

// endUse ends a use of a session.
func (s *Server) endUse(ses *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ses.uses--; ses.uses == 0 {
		ses.unused.Notify()
	}
	s.updateIdleTimer(ses)
	s.finish()
}

// updateIdleTimer starts the idle timer of an unused session and stops that of a used one. Timers
// and the differences of times are monotonic: a change of the system's clock has no effect. s.mu
// must be held.
func (s *Server) updateIdleTimer(ses *session) {
	if s.opts.SessionIdle <= 0 {
		return
	}
	if ses.keep || ses.uses > 0 {
		ses.idleAt = time.Time{}
		if ses.idle != nil {
			ses.idle.Stop()
		}
		return
	}
	if s.sessions[ses.key] != ses || ses.closing {
		return
	}
	ses.idleAt = time.Now().Add(s.opts.SessionIdle)
	if ses.idle != nil {
		ses.idle.Reset(s.opts.SessionIdle)
		return
	}
	ses.idle = time.AfterFunc(s.opts.SessionIdle, func() { s.endIdle(ses) })
}

// endIdle closes a session whose idle timer has fired, unless it was used at the same time or a page
// is handed over to the user.
func (s *Server) endIdle(ses *session) {
	s.end(ses, fmt.Sprintf("it was idle for %v", s.opts.SessionIdle), func() bool {
		used := ses.idleAt.IsZero() || time.Now().Before(ses.idleAt)
		if !used && ses.HandedOver() {
			s.updateIdleTimer(ses)
			return true
		}
		return used
	})
}

// startTTL starts the timer that ends a session after its maximum lifetime.
func (s *Server) startTTL(ses *session) {
	if s.opts.SessionTTL <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ses.ttl = time.AfterFunc(s.opts.SessionTTL, func() {
		s.end(ses, fmt.Sprintf("it reached its maximum lifetime of %v", s.opts.SessionTTL), nil)
	})
}

// ends returns when the session ends unless it is used, or the zero time. s.mu must be held.
func (s *Server) ends(ses *session) time.Time {
	ends := ses.idleAt
	if s.opts.SessionTTL > 0 {
		if last := ses.info.Started.Add(s.opts.SessionTTL); ends.IsZero() || last.Before(ends) {
			ends = last
		}
	}
	if ends.IsZero() {
		return ends
	}
	return time.Now().Add(time.Until(ends)) // by the current clock
}
