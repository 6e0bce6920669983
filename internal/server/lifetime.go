package server

import (
	"fmt"
	"time"
)

// beginUse marks a workspace as used by a request, a stream or a call, until endUse. While a
// workspace is used, the server is not idle. s.mu must be held.
func (s *Server) beginUse(ws *workspace) {
	s.begin()
	ws.uses++
	s.updateIdleTimer(ws)
}

// endUse ends a use of a workspace.
func (s *Server) endUse(ws *workspace) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ws.uses--; ws.uses == 0 {
		ws.unused.Notify()
	}
	s.updateIdleTimer(ws)
	s.finish()
}

// updateIdleTimer starts the idle timer of an unused workspace and stops that of a used one. Timers
// and the differences of times are monotonic: a change of the system's clock has no effect. s.mu
// must be held.
func (s *Server) updateIdleTimer(ws *workspace) {
	if s.opts.SessionIdle <= 0 {
		return
	}
	if ws.keep || ws.uses > 0 {
		ws.idleAt = time.Time{}
		if ws.idle != nil {
			ws.idle.Stop()
		}
		return
	}
	if s.workspaces[ws.key] != ws || ws.closing {
		return
	}
	ws.idleAt = time.Now().Add(s.opts.SessionIdle)
	if ws.idle != nil {
		ws.idle.Reset(s.opts.SessionIdle)
		return
	}
	ws.idle = time.AfterFunc(s.opts.SessionIdle, func() { s.endIdle(ws) })
}

// endIdle closes a workspace whose idle timer has fired, unless it was used at the same time or a
// page is handed over to the user.
func (s *Server) endIdle(ws *workspace) {
	s.end(ws, fmt.Sprintf("it was idle for %v", s.opts.SessionIdle), func() bool {
		used := ws.idleAt.IsZero() || time.Now().Before(ws.idleAt)
		if !used && ws.HandedOver() {
			s.updateIdleTimer(ws)
			return true
		}
		return used
	})
}

// startTTL starts the timer that ends a workspace after its maximum lifetime.
func (s *Server) startTTL(ws *workspace) {
	if s.opts.SessionTTL <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ws.ttl = time.AfterFunc(s.opts.SessionTTL, func() {
		s.end(ws, fmt.Sprintf("it reached its maximum lifetime of %v", s.opts.SessionTTL), nil)
	})
}

// ends returns the time at which the workspace ends unless it is used, or the zero time. s.mu must be
// held.
func (s *Server) ends(ws *workspace) time.Time {
	ends := ws.idleAt
	if s.opts.SessionTTL > 0 {
		if last := ws.info.Started.Add(s.opts.SessionTTL); ends.IsZero() || last.Before(ends) {
			ends = last
		}
	}
	if ends.IsZero() {
		return ends
	}
	return time.Now().Add(time.Until(ends)) // by the current clock
}
