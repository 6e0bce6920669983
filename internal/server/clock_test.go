package server

import (
	"fmt"
	"testing"
	"time"
	"unsafe"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

// setBack changes the date and hour of a time by some seconds, and not its monotonic reading. That
// is how a time looks which was read before the system's clock was set back by that, or, if it is
// negative, forward.
func setBack(t *testing.T, at *time.Time, seconds int64) {
	t.Helper()
	before := *at
	const nanosecondBits = 30 // below the seconds, in the first field of a time.Time with a monotonic reading
	*(*uint64)(unsafe.Pointer(at)) += uint64(seconds) << nanosecondBits
	if !at.Equal(before) || at.Unix() != before.Unix()+seconds {
		t.Fatalf("%v has no monotonic reading, or is encoded in another way: it became %v", before, at)
	}
}

const hour = 3600 // seconds

// TestClockSet sets the system's clock while a session is idle. The session ends when it would have
// ended otherwise, and its end is reported by the new clock.
func TestClockSet(t *testing.T) {
	for _, seconds := range []int64{-2 * hour, 2 * hour} {
		t.Run(fmt.Sprint(seconds), func(t *testing.T) {
			t.Run("idle", func(t *testing.T) {
				s, ws, open := openIdle(t, Options{SessionIdle: time.Hour}, 0, false)
				setBack(t, &open.idleAt, seconds)
				checkEnds(t, s, open)
				s.mu.Unlock()
				s.endIdle(open)
				select {
				case <-ws.closed:
					t.Error("the session ended before its idle timeout")
				default:
				}
			})
			t.Run("idle timeout", func(t *testing.T) {
				s, ws, open := openIdle(t, Options{SessionIdle: 50 * time.Millisecond}, 0, true)
				open.keep = false
				s.updateIdleTimer(open)
				setBack(t, &open.idleAt, seconds)
				s.mu.Unlock()
				await.Receive(t, "the end of the session", ws.closed)
			})
			t.Run("lifetime", func(t *testing.T) {
				s, _, open := openIdle(t, Options{SessionTTL: time.Hour}, seconds, false)
				checkEnds(t, s, open)
				s.mu.Unlock()
			})
			t.Run("end of the lifetime", func(t *testing.T) {
				s, ws, _ := openIdle(t, Options{SessionTTL: 50 * time.Millisecond}, seconds, false)
				s.mu.Unlock()
				await.Receive(t, "the end of the session", ws.closed)
			})
		})
	}
}

// openIdle opens a session, waits until it is not in use, and locks the server. The clock is set
// back by some seconds when the session is being opened. With keep, the session has no idle timer.
func openIdle(t *testing.T, opts Options, seconds int64, keep bool) (*Server, *drainWorkspace, *workspace) {
	t.Helper()
	var s *Server
	var open *workspace
	ws := &drainWorkspace{closed: make(chan struct{})}
	opts.Open = func(OpenRequest) (Workspace, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		open = s.workspaces[workspaceKey{osUser.Name, "a"}]
		open.keep = keep
		setBack(t, &open.info.Started, seconds)
		return ws, nil
	}
	s = New(opts)
	if _, err := s.open(t.Context(), osUser, clientID{}, "a", nil, false); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "an idle session", func() bool {
		s.mu.Lock()
		idle := open.uses == 0
		if !idle {
			s.mu.Unlock()
		}
		return idle
	})
	return s, ws, open
}

// checkEnds checks that a session is reported to end in about an hour.
func checkEnds(t *testing.T, s *Server, open *workspace) {
	t.Helper()
	if left := s.ends(open).Unix() - time.Now().Unix(); left < hour/2 || left > 3*hour/2 {
		t.Errorf("the session ends in %d seconds", left)
	}
}
