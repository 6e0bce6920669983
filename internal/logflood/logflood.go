// Package logflood throttles the pages of a tab that log in a loop.
package logflood

import (
	"context"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/emulate"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// The browser sends the log messages of all pages in one stream, in order with the replies to
// commands. A page that logs in a loop fills it, so that all other tabs wait. No command stops log
// messages alone (Runtime.disable also stops the events of execution contexts), so the renderer
// process of such a page is throttled. A script that never yields is not: the command waits for it.
//
// Tabs of the user are not throttled, and in the user's Chrome no tab is. There the extension forwards
// only as many log messages as package cdpconn accepts, but Chrome passes all of them to the extension.
const (
	// floodLosses is how many lost log messages make a flood. A few large messages do not delay
	// other tabs.
	floodLosses = 100
	// floodThrottling is the CPU throttling of a page that floods.
	floodThrottling = 20
)

// A flood tracks the log messages of a CDP session that were dropped because of the limits of
// package cdpconn.
type flood struct {
	lost      int       // messages in the current flood
	at        time.Time // of the last lost message
	throttled bool
}

// add counts n lost messages. It reports whether the target must be throttled now. A flood has
// ended when no message was lost for end.
func (f *flood) add(n int, now time.Time, end time.Duration) bool {
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

// Floods are the floods of a tab's CDP sessions. They are safe for concurrent use.
type Floods struct {
	tab       executor.TabID
	tree      *frames.Tree
	emulation *emulate.Emulator
	wg        sync.WaitGroup

	mu sync.Mutex // guards the field below, and the floods
	of map[*cdpconn.Session]*flood
}

// New returns the floods of the tab with an id, which has none.
func New(tab executor.TabID, tree *frames.Tree, emulation *emulate.Emulator) *Floods {
	return &Floods{tab: tab, tree: tree, emulation: emulation, of: make(map[*cdpconn.Session]*flood)}
}

// Wait waits until no page is throttled, which happens after the CDP sessions of the tab have
// ended.
func (l *Floods) Wait() { l.wg.Wait() }

// add counts n lost messages of a session. It returns the session's flood if the target must be
// throttled now, and nil otherwise.
func (l *Floods) add(s *cdpconn.Session, n int, end time.Duration) *flood {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.of[s]
	if f == nil {
		f = new(flood)
		l.of[s] = f
	}
	if !f.add(n, time.Now(), end) {
		return nil
	}
	return f
}

// left returns how long f lasts unless more messages are lost.
func (l *Floods) left(f *flood, end time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return end - time.Since(f.at)
}

// Forget forgets the flood of a session.
func (l *Floods) Forget(s *cdpconn.Session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.of, s)
}

// Lost handles an event that reports lost events. It may throttle the page of the tab: no tab of the user
// may share its renderer process.
func (l *Floods) Lost(ev cdpconn.Event) {
	if ev.Method != "Runtime.consoleAPICalled" && ev.Method != "Runtime.exceptionThrown" {
		return
	}
	if f := l.add(ev.Session, ev.Lost, l.tree.Timing().LogFloodEnd); f != nil {
		l.tree.Log().Warn("throttling a page that floods the log", "tab", l.tab)
		l.wg.Go(func() { l.throttle(ev.Session, f) })
	}
}

// throttle throttles the target of s until its flood has ended.
func (l *Floods) throttle(s *cdpconn.Session, f *flood) {
	setRate := func(rate float64) {
		// This fails if the target is gone, or its script never yields.
		_ = s.Call(context.Background(), "Emulation.setCPUThrottlingRate", map[string]any{"rate": rate}, nil)
	}
	for left := l.tree.Timing().LogFloodEnd; left > 0; {
		setRate(floodThrottling) // again: a change of the emulation ends it
		select {
		case <-time.After(left):
		case <-s.Gone():
			return
		}
		left = l.left(f, l.tree.Timing().LogFloodEnd)
	}
	setRate(l.emulation.CPURate())
	l.Forget(s)
}
