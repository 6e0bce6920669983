package server

import (
	"testing"
	"time"
	"unsafe"
)

// setBack changes the date and hour of a time by d, and not its monotonic reading. That is how
// a time looks which was read before the system's clock was set back by d, or, if d is negative,
// forward.
func setBack(t *testing.T, at *time.Time, d time.Duration) {
	t.Helper()
	before := *at
	const nanosecondBits = 30 // below the seconds, in the first field of a time.Time with a monotonic reading
	*(*uint64)(unsafe.Pointer(at)) += uint64(d/time.Second) << nanosecondBits
	if at.Sub(before) != 0 || at.Round(0).Sub(before.Round(0)) != d {
		t.Fatalf("%v has no monotonic reading, or is encoded in another way: it became %v", before, at)
	}
}

// TestClockSet sets the system's clock while a session is idle. The session ends when it would have
// ended otherwise, and its end is reported by the new clock.
func TestClockSet(t *testing.T) {
	for _, d := range []time.Duration{-time.Hour, time.Hour} {
		for limit, opts := range map[string]Options{
			"idle": {SessionIdle: time.Second},
			"ttl":  {SessionTTL: time.Second},
		} {
			t.Run(limit+" "+d.String(), func(t *testing.T) {
				t.Parallel()
				ses := &drainSession{closed: make(chan struct{})}
				opts.Open = func(OpenRequest) (Session, error) { return ses, nil }
				s := New(opts)
				if err := s.open(t.Context(), localUser, clientID{}, "a", nil, false); err != nil {
					t.Fatal(err)
				}
				s.mu.Lock()
				open := s.sessions[sessionKey{localUser.Name, "a"}]
				if open == nil {
					s.mu.Unlock()
					t.Fatal("the session ended before the clock was set")
				}
				setBack(t, &open.info.Started, d)
				if opts.SessionIdle > 0 {
					setBack(t, &open.idleAt, d)
				}
				ends := s.ends(open)
				s.mu.Unlock()
				if left := ends.Round(0).Sub(time.Now().Round(0)); left < -10*time.Second || left > 2*time.Second {
					t.Errorf("the session ends in %v", left)
				}
				select {
				case <-ses.closed:
				case <-time.After(10 * time.Second):
					t.Error("the session has not ended")
				}
			})
		}
	}
}
