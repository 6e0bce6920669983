package cdpconn

import (
	"fmt"
	"strings"
	"time"

	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
)

// The limits of a message from the browser, in bytes. Pages control the content: a console message
// can have any length.
const (
	// MaxReply limits the reply to a command. Screenshots and response bodies must fit. The
	// bridge has the same limit.
	MaxReply = 64 << 20
	// MaxShortReply limits the reply to a command of Session.StartShort. Only the first
	// shortHead bytes of a larger reply are stored.
	MaxShortReply = 1 << 20
	shortHead     = MaxShortReply / 2
	// MaxEvent limits an event. The number of events is not limited by commands.
	MaxEvent = 8 << 20
	// maxQueued limits the parameters of the unread events of a stream, in bytes. Beyond it, the
	// stream drops events for which MayDrop returns true.
	maxQueued = 32 << 20
	// A session may send a burst of floodBurst bytes of each rate-limited event, and then floodRate
	// bytes per second. Further events are dropped before they are decoded: a page can log faster
	// than we can decode, and the browser sends replies after the events.
	floodBurst = 8 << 20
	floodRate  = 2 << 20
	// messageExtra is added to the size of each message, in bytes, where many small messages count.
	messageExtra = 200
)

// isLog reports whether method is a log event, which reports a console message or an exception of a
// page. Pages can log without limit.
func isLog(method string) bool {
	return method == "Runtime.consoleAPICalled" || method == "Runtime.exceptionThrown"
}

// A budget limits the bytes of one rate-limited event of one session.
type budget struct {
	left int       // bytes
	at   time.Time // when left was computed
}

// take subtracts n bytes from the budget. If fewer than n bytes are left, it subtracts nothing and
// returns false.
func (b *budget) take(n int, now time.Time) bool {
	b.left = int(min(floodBurst, float64(b.left)+floodRate*now.Sub(b.at).Seconds()))
	b.at = now
	if b.left < n {
		return false
	}
	b.left -= n
	return true
}

// MayDrop reports whether an event can be dropped. Events of documents, frames and CDP sessions
// cannot, because the state of the page layer, and that of a CDP client, depends on them.
func MayDrop(method string) bool {
	switch method {
	case "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Runtime.exceptionRevoked", "Log.entryAdded",
		"Target.targetInfoChanged", "Target.targetCreated", "Browser.downloadWillBegin",
		"Fetch.requestPaused", "Fetch.authRequired": // the request stays paused and is not sent
		return true
	}
	return strings.HasPrefix(method, "Network.")
}

// lost handles the loss of an event of s that was over the limit. If the state of the page layer
// would be wrong without the event, lost detaches the session, and the session's calls fail.
func (c *Conn) lost(s *Session, method string) {
	if MayDrop(method) {
		c.dropped.Add(1)
		if s.client == nil {
			s.deliver(Event{Session: s, Method: method, Lost: 1})
		}
		return
	}
	if s.client != nil && s.client.session == s {
		s.client.end(fmt.Errorf("event %s exceeds %d MiB", method, MaxEvent>>20))
		return
	}
	if s.parent == nil {
		// No page can cause a browser event of this size. In a goroutine: end closes the transport,
		// which may wait for this one.
		go c.end(fmt.Errorf("browser event %s exceeds %d MiB", method, MaxEvent>>20))
		return
	}
	params, err := jsonv2.Marshal(map[string]any{"sessionId": s.id}, jsonOptions)
	if err != nil {
		return
	}
	// Detach, so that no more messages of the session arrive.
	if p, msg, err := c.register(s.parent, "Target.detachFromTarget", params, false); err == nil {
		select {
		case c.writes <- msg:
		default: // the queue is full: continue without detaching
		}
		c.forget(p)
	}
	parent := s.parent
	c.drop(s.id)
	if s.client != nil {
		s.client.put(ClientMessage{SessionID: s.client.clientSessionID(parent), Method: "Target.detachedFromTarget", Params: params})
	} else {
		parent.deliver(Event{Session: parent, Method: "Target.detachedFromTarget", Params: params, Child: s})
	}
	s.markGone()
}

// Dropped returns the number of events that were dropped because of a limit.
func (c *Conn) Dropped() int64 { return c.dropped.Load() }
