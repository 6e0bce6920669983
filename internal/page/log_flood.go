package page

import (
	"cmp"
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
	// floodLosses is how many lost log messages make a flood. A few large messages do not delay other tabs.
	floodLosses = 100
	// floodThrottling is the CPU throttling of a page that floods.
	floodThrottling = 20
)

// A logFlood tracks the log messages of a page that were dropped because of the limits of package
// cdpconn. The zero value is ready to use. Its methods are safe for concurrent use.
type logFlood struct {
	mu        sync.Mutex // guards the fields below
	lost      int        // messages in the current flood
	at        time.Time  // of the last lost message
	throttled bool
}

// add counts n lost messages. It reports whether the page must be throttled now. A flood has ended when
// no message was lost for end.
func (f *logFlood) add(n int, now time.Time, end time.Duration) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
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

// left returns how long no message may be lost until the flood has ended.
func (f *logFlood) left(now time.Time, end time.Duration) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return end - now.Sub(f.at)
}

// ended records that the page is no longer throttled.
func (f *logFlood) ended() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lost, f.throttled = 0, false
}

// eventsLost handles an event that reports lost events. t.mu must be held.
func (t *Tab) eventsLost(ev cdpconn.Event) {
	t.recording.update(func(l *activityLog) { l.lost(ev) })
	if ev.Method != "Runtime.consoleAPICalled" && ev.Method != "Runtime.exceptionThrown" || !t.ownsRendererProcess() {
		return
	}
	if !t.flood.add(ev.Lost, time.Now(), t.timing.LogFloodEnd) {
		return
	}
	t.log.Warn("throttling a page that floods the log", "tab", t.opts.ID)
	t.wg.Go(func() {
		defer t.flood.ended()
		throttle := func(rate float64) {
			_ = ev.Session.Call(context.Background(), "Emulation.setCPUThrottlingRate", map[string]any{"rate": rate}, nil) // fails if the page is gone, or never yields
		}
		for left := t.timing.LogFloodEnd; left > 0; left = t.flood.left(time.Now(), t.timing.LogFloodEnd) {
			throttle(floodThrottling) // again: a change of the emulation ends it
			select {
			case <-time.After(left):
			case <-ev.Session.Gone():
				return
			}
		}
		throttle(cmp.Or(t.emulation.get().CPUThrottling, 1))
	})
}
