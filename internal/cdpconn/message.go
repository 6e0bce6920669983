package cdpconn

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/chromedp/cdproto"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/target"

	"github.com/chrome-mcp/chrome-mcp/internal/lazyregexp"
)

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
// replies are odd.
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
// does not pass messages through a Message must shorten the reply itself.
func IsShort(id int64) bool { return id%2 == 1 }

// maxReused limits the capacity, in bytes, of a buffer that Reset retains.
const maxReused = 512 << 10

// Reset empties the message. It invalidates the parameters and the result that Decode returned.
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
	overHead    = lazyregexp.New(`^\{"(?:id":(\d{1,18})|method":"([A-Za-z]{1,40}\.[A-Za-z]{1,60})")[,}]`)
	overSession = lazyregexp.New(`,"sessionId":"([0-9A-Za-z-]{1,64})"\}\s*$`)
)

// Decode decodes the message into msg. For a message over the limit, msg has an error and the id or
// method of the message, except that the reply to a command of StartShort is truncated if that
// is possible. The result of a reply with an error is the error as JSON. The parameters and the
// result are not decoded, and are valid until Reset.
func (m *Message) Decode(msg *cdproto.Message) error {
	if m.head == nil {
		if m.split(msg) {
			return nil
		}
		return m.decode(msg)
	}
	found := overHead().FindSubmatch(m.head)
	if found == nil {
		return fmt.Errorf("message of %d bytes is neither a reply nor an event", m.size)
	}
	*msg = cdproto.Message{Error: &cdproto.Error{Code: codeServer}}
	if session := overSession().FindSubmatch(m.tail); session != nil {
		msg.SessionID = target.SessionID(session[1])
	}
	if len(found[1]) > 0 {
		msg.ID, _ = strconv.ParseInt(string(found[1]), 10, 64)
		if result := m.truncatedResult(); result != nil {
			msg.Error, msg.Result = nil, result
			return nil
		}
		msg.Error.Message = fmt.Sprintf("reply of %d bytes exceeds %d MiB; request less data", m.size, MaxReply>>20)
		return nil
	}
	msg.Method = cdproto.MethodType(found[2])
	msg.Error.Message = fmt.Sprintf("event of %d bytes exceeds %d MiB", m.size, MaxEvent>>20)
	return nil
}

// decode decodes a message of any form.
func (m *Message) decode(msg *cdproto.Message) error {
	if err := jsonv2.Unmarshal(m.buf, msg, jsonOptions); err != nil || msg.Error == nil {
		return err
	}
	var raw struct {
		Error jsonv2.Value `json:"error"`
	}
	err := jsonv2.Unmarshal(m.buf, &raw, jsonOptions)
	msg.Result = raw.Error
	return err
}

// split stores an event or a successful reply of a session other than the root session in msg.
// It does not decode the parameters or the result, which is between the head and the tail of the
// message. split reports whether the message has the form in which Chromium writes such messages.
func (m *Message) split(msg *cdproto.Message) bool {
	rest, ok := bytes.CutSuffix(m.buf, []byte(`"}`))
	if !ok {
		return false
	}
	tail := rest[max(0, len(rest)-tailSize):]
	const member = `,"sessionId":"`
	at := bytes.LastIndex(tail, []byte(member))
	if at < 0 || !isSessionID(tail[at+len(member):]) {
		return false
	}
	session := target.SessionID(tail[at+len(member):])
	content := rest[:len(rest)-len(tail)+at] // the message up to the member sessionId

	head := content[:min(len(content), headSize)]
	if name, ok := bytes.CutPrefix(head, []byte(`{"method":"`)); ok {
		method, params, ok := bytes.Cut(name, []byte(`","params":`))
		if !ok || len(params) == 0 || !isMethod(method) {
			return false
		}
		params = content[len(head)-len(params):]
		*msg = cdproto.Message{Method: cdproto.MethodType(method), SessionID: session, Params: jsonv2.Value(params[:len(params):len(params)])}
		return true
	}
	if number, ok := bytes.CutPrefix(head, []byte(`{"id":`)); ok {
		digits, result, ok := bytes.Cut(number, []byte(`,"result":`))
		id, err := strconv.ParseInt(string(digits), 10, 64)
		if !ok || err != nil || id <= 0 || len(result) == 0 {
			return false
		}
		result = content[len(head)-len(result):]
		*msg = cdproto.Message{ID: id, SessionID: session, Result: jsonv2.Value(result[:len(result):len(result)])}
		return true
	}
	return false
}

// isSessionID reports whether b is a session id as Chromium writes it.
func isSessionID(b []byte) bool {
	for _, c := range b {
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && c != '-' {
			return false
		}
	}
	return len(b) > 0
}

// isMethod reports whether b consists of letters and dots.
func isMethod(b []byte) bool {
	for _, c := range b {
		if (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && c != '.' {
			return false
		}
	}
	return len(b) > 0
}

// threwTail matches the end of a reply that reports an exception. The details of the exception
// are nested one level deeper than a value. In page text a quotation mark would precede the braces.
var threwTail = lazyregexp.New(`\}\}\},"sessionId":"[0-9A-Za-z-]{1,64}"\}\s*$`)

// truncatedResult returns the valid start of the result of a short reply over its limit, with the
// additional members cut, which is true, and threw, which reports whether the result contains an
// exception. It returns nil if the head of the message does not end inside a string.
func (m *Message) truncatedResult() jsonv2.Value {
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
	out = fmt.Appendf(out, `,"cut":true,"threw":%t}`, threwTail().Match(m.tail))
	if !json.Valid(out) {
		return nil
	}
	return jsonv2.Value(out)
}
