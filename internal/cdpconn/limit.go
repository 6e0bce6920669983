package cdpconn

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/chromedp/cdproto"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/target"
)

// The limits of a message from the browser, in bytes. Pages control the content: a console message
// can have any length.
const (
	// MaxReply limits the response to a command. Screenshots and response bodies must fit. The
	// bridge has the same limit.
	MaxReply = 64 << 20
	// MaxShortReply limits the response to a command of Session.StartShort. Only the first
	// shortHead bytes of a larger response are stored.
	MaxShortReply = 1 << 20
	shortHead     = MaxShortReply / 2
	// MaxEvent limits an event. The number of events is not limited by commands.
	MaxEvent = 8 << 20
	// maxQueued limits the parameters of the unread events of a stream, in bytes. Beyond it, the
	// stream drops events for which mayDrop returns true.
	maxQueued = 32 << 20
	// A session may send a burst of logBurst bytes of each log event, and then logRate bytes per
	// second. Further events are dropped before they are decoded: a page can log faster than we can
	// decode, and the browser sends responses after the events. logExtra bytes are added for each
	// event.
	logBurst = 8 << 20
	logRate  = 2 << 20
	logExtra = 200
)

// isLog reports whether method is a log event, which reports a console message or an exception of a
// page. Pages can log without limit.
func isLog(method string) bool {
	return method == "Runtime.consoleAPICalled" || method == "Runtime.exceptionThrown"
}

// A budget limits the bytes of one log event of one session.
type budget struct {
	left int       // bytes
	at   time.Time // when left was computed
}

// take subtracts n bytes from the budget. If fewer than n bytes are left, it subtracts nothing and
// returns false.
func (b *budget) take(n int, now time.Time) bool {
	b.left = int(min(logBurst, float64(b.left)+logRate*now.Sub(b.at).Seconds()))
	b.at = now
	if b.left < n {
		return false
	}
	b.left -= n
	return true
}

// A Message collects the parts of one message as they arrive. It stores only the head and the tail
// of a message over its limit. The zero value is an empty message. Reset prepares a Message for the
// next one.
type Message struct {
	buf  []byte // the message; nil if it is over its limit
	head []byte // the first bytes of a message over its limit, otherwise nil
	tail []byte // its last bytes
	size int    // bytes received
}

// The head of a message contains its id or method, and the tail contains its session. The browser
// writes both. Page text is between them.
const (
	headSize = 256
	tailSize = 128
)

// Write adds a part of the message. It never fails.
func (m *Message) Write(part []byte) (int, error) {
	n := len(part)
	m.size += n
	if m.head == nil {
		m.buf = append(m.buf, part...)
		if len(m.buf) <= MaxShortReply || len(m.buf) <= limitOf(m.buf) {
			return n, nil
		}
		if m.head = bytes.Clone(m.buf[:headSize]); limitOf(m.buf) == MaxShortReply {
			m.head = bytes.Clone(m.buf[:shortHead])
		}
		part, m.buf = m.buf, nil
	}
	m.tail = append(m.tail, part[max(0, len(part)-tailSize):]...)
	m.tail = bytes.Clone(m.tail[max(0, len(m.tail)-tailSize):])
	return n, nil
}

// limitOf returns the limit of the message that starts with head. The ids of commands with short
// responses are odd.
func limitOf(head []byte) int {
	id, ok := bytes.CutPrefix(head, []byte(`{"id":`))
	if !ok {
		return MaxEvent
	}
	if end := bytes.IndexAny(id, ",}"); end > 0 && (id[end-1]-'0')%2 == 1 {
		return MaxShortReply
	}
	return MaxReply
}

// IsShort reports whether the command with an id was sent by Session.StartShort. A transport that
// does not pass messages through a Message must shorten the response itself.
func IsShort(id int64) bool { return id%2 == 1 }

// maxReused limits the capacity, in bytes, of a buffer that Reset retains.
const maxReused = 512 << 10

// Reset empties the message. It invalidates the parameters of a log event.
func (m *Message) Reset() {
	buf := m.buf[:0]
	if cap(buf) > maxReused {
		buf = nil
	}
	*m = Message{buf: buf}
}

// Empty reports whether the message contains only white space.
func (m *Message) Empty() bool { return m.head == nil && len(bytes.TrimSpace(m.buf)) == 0 }

var (
	overHead    = regexp.MustCompile(`^\{"(?:id":(\d{1,18})|method":"([A-Za-z]{1,40}\.[A-Za-z]{1,60})")[,}]`)
	overSession = regexp.MustCompile(`,"sessionId":"([0-9A-Za-z-]{1,64})"\}\s*$`)
)

// Decode decodes the message into msg. For a message over the limit, msg has an error and the id or
// method of the message, except that the response to a command of StartShort is truncated if that
// is possible. The parameters of a log event are not decoded, and are valid until Reset.
func (m *Message) Decode(msg *cdproto.Message) error {
	if m.head == nil {
		if m.log(msg) {
			return nil
		}
		return jsonv2.Unmarshal(m.buf, msg, jsonOptions)
	}
	found := overHead.FindSubmatch(m.head)
	if found == nil {
		return fmt.Errorf("message of %d bytes is neither a response nor an event", m.size)
	}
	*msg = cdproto.Message{Error: &cdproto.Error{Code: -32000}}
	if session := overSession.FindSubmatch(m.tail); session != nil {
		msg.SessionID = target.SessionID(session[1])
	}
	if len(found[1]) > 0 {
		msg.ID, _ = strconv.ParseInt(string(found[1]), 10, 64)
		if start := m.start(); start != nil {
			msg.Error, msg.Result = nil, start
			return nil
		}
		msg.Error.Message = fmt.Sprintf("response of %d bytes exceeds %d MiB; request less data", m.size, MaxReply>>20)
		return nil
	}
	msg.Method = cdproto.MethodType(found[2])
	msg.Error.Message = fmt.Sprintf("event of %d bytes exceeds %d MiB", m.size, MaxEvent>>20)
	return nil
}

// log stores a log event in msg. It reports whether the message is a log event.
func (m *Message) log(msg *cdproto.Message) bool {
	rest, ok := bytes.CutPrefix(m.buf, []byte(`{"method":"`))
	if !ok {
		return false
	}
	method, params, ok := bytes.Cut(rest[:min(len(rest), headSize)], []byte(`","params":`))
	if !ok || !isLog(string(method)) {
		return false
	}
	params = rest[len(rest[:min(len(rest), headSize)])-len(params):]
	tail := params[max(0, len(params)-tailSize):]
	session := overSession.FindSubmatchIndex(tail)
	if session == nil {
		return false
	}
	*msg = cdproto.Message{
		Method:    cdproto.MethodType(method),
		SessionID: target.SessionID(tail[session[2]:session[3]]),
		Params:    jsonv2.Value(params[: len(params)-len(tail)+session[0] : len(params)]),
	}
	return true
}

// threwTail matches the end of a response that reports an exception. The details of the exception
// are nested one level deeper than a value. In page text a quotation mark would precede the braces.
var threwTail = regexp.MustCompile(`\}\}\},"sessionId":"[0-9A-Za-z-]{1,64}"\}\s*$`)

// start returns the start of the result of a short response over its limit, with the additional
// members cut, which is true, and threw. It returns nil if the head of the message does not end
// inside a string.
func (m *Message) start() jsonv2.Value {
	_, result, ok := bytes.Cut(m.head, []byte(`"result":`))
	if len(m.head) < shortHead || !ok {
		return nil
	}
	var open []byte // missing closing brackets, the innermost last
	inString, escape := false, -1
	for i, c := range result {
		switch {
		case inString && escape >= 0:
			if c != 'u' && i == escape+1 || i == escape+5 {
				escape = -1
			}
		case inString && c == '\\':
			escape = i
		case c == '"':
			inString = !inString
		case inString:
		case c == '{', c == '[':
			open = append(open, c+2) // the closing bracket
		case c == '}', c == ']':
			open = open[:max(0, len(open)-1)]
		}
	}
	if !inString || len(open) == 0 || open[0] != '}' {
		return nil
	}
	if escape >= 0 {
		result = result[:escape]
	}
	out := append(bytes.ToValidUTF8(result, nil), '"')
	for i := len(open) - 1; i > 0; i-- {
		out = append(out, open[i])
	}
	out = fmt.Appendf(out, `,"cut":true,"threw":%t}`, threwTail.Match(m.tail))
	if !json.Valid(out) {
		return nil
	}
	return jsonv2.Value(out)
}

// mayDrop reports whether an event can be dropped. Events of documents, frames and CDP sessions
// cannot, because the state of the page layer depends on them.
func mayDrop(method string) bool {
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
	if mayDrop(method) {
		c.dropped.Add(1)
		s.deliver(Event{Session: s, Method: method, Lost: 1})
		return
	}
	if s.parent == nil {
		// No page can cause a browser event of this size. end closes the transport, which may wait
		// for the reading goroutine, which runs this code.
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
	parent.deliver(Event{Session: parent, Method: "Target.detachedFromTarget", Params: params, Child: s})
	s.markGone()
}

// Dropped returns the number of events that were dropped because of a limit.
func (c *Conn) Dropped() int64 { return c.dropped.Load() }
