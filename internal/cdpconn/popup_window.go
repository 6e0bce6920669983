package cdpconn

import (
	"context"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/target"

	"github.com/chrome-mcp/chrome-mcp/internal/notify"
)

const runIfWaiting = "Runtime.runIfWaitingForDebugger"

// A pausedPopupWindow is a popup window that waits for the debugger. Chromium resumes it at the first
// runIfWaiting of any session (measured on Chromium 156), before other sessions have prepared it.
// So these commands are delayed until all waiting sessions have sent theirs.
type pausedPopupWindow struct {
	delayed map[*Session][]*cdproto.Message // by waiting session; guarded by Conn.mu
	changed notify.Signal                   // delayed may have changed
	sent    chan struct{}                   // closed when the commands have been sent, or the connection is closed
}

// DelayPopupWindows makes popup windows that wait for the debugger resume only after all sessions
// that wait for them have sent Runtime.runIfWaitingForDebugger or were detached. It waits for at most
// timeout after the first session has sent the command. While no Client is connected,
// DelayPopupWindows has no effect.
func (c *Conn) DelayPopupWindows(timeout time.Duration) {
	c.mu.Lock()
	c.popupWindowTimeout = timeout
	c.mu.Unlock()
}

// waitForResume registers a session that was attached to a target and waits for the debugger. It runs
// in the reading goroutine. c.mu must be held.
func (c *Conn) waitForResume(s *Session, info *target.Info) {
	if info == nil || info.Type != "page" || info.OpenerID == "" || c.popupWindowTimeout <= 0 || len(c.clients) == 0 {
		return
	}
	p := c.popupWindows[info.TargetID]
	if p == nil {
		p = &pausedPopupWindow{
			delayed: make(map[*Session][]*cdproto.Message), changed: notify.NewSignal(), sent: make(chan struct{}),
		}
		c.popupWindows[info.TargetID] = p
		c.wg.Go(func() {
			defer close(p.sent)
			for _, msg := range c.waitForSessions(info.TargetID, p) {
				select {
				case c.writes <- msg:
				case <-c.done:
				}
			}
		})
	}
	p.delayed[s] = nil
}

// delayResume delays a command if other sessions must send theirs first. It returns a channel that is
// closed when the command has been sent, or the connection is closed. It returns nil if the caller
// must send the command. c.mu must be held.
func (c *Conn) delayResume(s *Session, msg *cdproto.Message) <-chan struct{} {
	if msg.Method != runIfWaiting {
		return nil
	}
	for _, p := range c.popupWindows {
		if list, ok := p.delayed[s]; ok {
			p.delayed[s] = append(list, msg)
			p.changed.Notify()
			return p.sent
		}
	}
	return nil
}

// forgetWaiting forgets the waiting sessions for which gone returns true. c.mu must be held.
func (c *Conn) forgetWaiting(gone func(*Session) bool) {
	for _, p := range c.popupWindows {
		for s := range p.delayed {
			if gone(s) {
				delete(p.delayed, s)
				p.changed.Notify()
			}
		}
	}
}

// waitForSessions waits until all waiting sessions have sent their commands, forgets the popup
// window, and returns the commands. It returns nil if the connection is closed.
func (c *Conn) waitForSessions(id target.ID, p *pausedPopupWindow) []*cdproto.Message {
	// The browser reports the popup window to all sessions before it replies to this command. If it
	// does not reply, it hangs or exits.
	_ = c.BrowserSession().Call(context.Background(), "Browser.getVersion", nil, nil)
	var timeout <-chan time.Time
	for over := false; ; {
		c.mu.Lock()
		var commands []*cdproto.Message
		missing := false
		for _, list := range p.delayed {
			commands = append(commands, list...)
			missing = missing || len(list) == 0
		}
		if over || !missing {
			delete(c.popupWindows, id)
			c.mu.Unlock()
			return commands
		}
		if len(commands) > 0 && timeout == nil {
			timeout = time.After(c.popupWindowTimeout)
		}
		c.mu.Unlock()
		select {
		case <-p.changed:
		case <-timeout:
			over = true
		case <-c.done:
			return nil
		}
	}
}
