package page

import (
	"context"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

// The browser sends the log messages of all pages in one stream, in order with the replies to
// commands. A page that logs in a loop fills it, so that all other tabs wait. No command stops log
// messages alone (Runtime.disable also stops the events of execution contexts), so the renderer
// process of such a page is throttled. A script that never yields is not: the command waits for it.
const (
	// floodLosses is how many lost log messages make a flood. A few large messages do not delay
	// other tabs.
	floodLosses = 100
	// floodThrottling is the CPU throttling of a page that floods.
	floodThrottling = 20
)

// A logFlood tracks the log messages of a CDP session that were dropped because of the limits of
// package cdpconn.
type logFlood struct {
	lost      int       // messages in the current flood
	at        time.Time // of the last lost message
	throttled bool
}

// add counts n lost messages. It reports whether the target must be throttled now. A flood has
// ended when no message was lost for end.
func (f *logFlood) add(n int, now time.Time, end time.Duration) bool {
	if now.Sub(f.at) > end {
		f.lost = 0
	}
	f.at = now
	f.lost += n
	if f.throttled || f.lost < floodLosses {
		return false
	}
	f.throttled = true
	return true
}

// logFloods are the floods of a tab's CDP sessions. The zero value has none. It is safe for
// concurrent use.
type logFloods struct {
	mu sync.Mutex // guards the field below, and the floods
	of map[*cdpconn.Session]*logFlood
}

// add counts n lost messages of a session. It returns the session's flood if the target must be
// throttled now, and nil otherwise.
func (l *logFloods) add(s *cdpconn.Session, n int, end time.Duration) *logFlood {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.of[s]
	if f == nil {
		if l.of == nil {
			l.of = make(map[*cdpconn.Session]*logFlood)
		}
		f = &logFlood{}
		l.of[s] = f
	}
	if !f.add(n, time.Now(), end) {
		return nil
	}
	return f
}

// left returns how long f lasts unless more messages are lost.
func (l *logFloods) left(f *logFlood, end time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return end - time.Since(f.at)
}

// forget forgets the flood of a session.
func (l *logFloods) forget(s *cdpconn.Session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.of, s)
}

// eventsLost handles an event that reports lost events.
func (t *Tab) eventsLost(ev cdpconn.Event) {
	t.recording.Lost(ev)
	if ev.Method != "Runtime.consoleAPICalled" && ev.Method != "Runtime.exceptionThrown" || !t.ownsRendererProcess() {
		return
	}
	if f := t.floods.add(ev.Session, ev.Lost, t.timing.LogFloodEnd); f != nil {
		t.log.Warn("throttling a page that floods the log", "tab", t.opts.ID)
		t.wg.Go(func() { t.throttle(ev.Session, f) })
	}
}

// throttle throttles the target of s until its flood has ended.
func (t *Tab) throttle(s *cdpconn.Session, f *logFlood) {
	setRate := func(rate float64) {
		// This fails if the target is gone, or its script never yields.
		_ = s.Call(context.Background(), "Emulation.setCPUThrottlingRate", map[string]any{"rate": rate}, nil)
	}
	for left := t.timing.LogFloodEnd; left > 0; {
		setRate(floodThrottling) // again: a change of the emulation ends it
		select {
		case <-time.After(left):
		case <-s.Gone():
			return
		}
		left = t.floods.left(f, t.timing.LogFloodEnd)
	}
	setRate(t.emulation.CPURate())
	t.floods.forget(s)
}
