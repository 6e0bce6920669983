// Package cdptest provides a fake browser for tests: the browser's end of a CDP connection, in
// memory.
package cdptest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/chromedp/cdproto"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/target"
)

// A FakeTransport is a cdpconn.Transport whose other end is a test. Its methods are safe for concurrent
// use, and messages arrive in the order of the calls. Only Read blocks.
type FakeTransport struct {
	handle func(*FakeTransport, *cdproto.Message)

	mu           sync.Mutex // guards the fields below
	more         *sync.Cond
	queue        []*cdproto.Message
	disconnected bool // Read fails after the end of the queue
	closed       bool
}

// New returns a FakeTransport that calls handle with each command, one at a time. A nil handle
// replies to each with {}.
func New(handle func(b *FakeTransport, cmd *cdproto.Message)) *FakeTransport {
	if handle == nil {
		handle = func(b *FakeTransport, cmd *cdproto.Message) { b.Reply(cmd, "{}") }
	}
	b := &FakeTransport{handle: handle}
	b.more = sync.NewCond(&b.mu)
	return b
}

// Read waits for the next message of the browser. It returns io.EOF after Disconnect and the last
// message, and io.ErrClosedPipe after Close.
func (t *FakeTransport) Read(_ context.Context, msg *cdproto.Message) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.queue) == 0 && !t.disconnected && !t.closed {
		t.more.Wait()
	}
	switch {
	case t.closed:
		return io.ErrClosedPipe
	case len(t.queue) == 0:
		return io.EOF
	}
	*msg = *t.queue[0]
	t.queue = t.queue[1:]
	return nil
}

// Write passes a command to the handle function.
func (t *FakeTransport) Write(_ context.Context, cmd *cdproto.Message) error {
	t.mu.Lock()
	closed := t.closed || t.disconnected
	t.mu.Unlock()
	if closed {
		return io.ErrClosedPipe
	}
	t.handle(t, cmd)
	return nil
}

// Close closes the client's end of the connection. Messages that were not read are dropped.
func (t *FakeTransport) Close() error {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.more.Broadcast()
	return nil
}

// Disconnect closes the browser's end of the connection. Messages that were sent before can still
// be read.
func (t *FakeTransport) Disconnect() {
	t.mu.Lock()
	t.disconnected = true
	t.mu.Unlock()
	t.more.Broadcast()
}

// Send sends a message without changes.
func (t *FakeTransport) Send(msg *cdproto.Message) {
	t.mu.Lock()
	t.queue = append(t.queue, msg)
	t.mu.Unlock()
	t.more.Broadcast()
}

// Reply sends the response to a command. result is JSON.
func (t *FakeTransport) Reply(cmd *cdproto.Message, result string) {
	t.Send(&cdproto.Message{ID: cmd.ID, SessionID: cmd.SessionID, Result: jsonv2.Value(result)})
}

// Fail sends an error response to a command.
func (t *FakeTransport) Fail(cmd *cdproto.Message, code int64, text string) {
	t.Send(&cdproto.Message{ID: cmd.ID, SessionID: cmd.SessionID, Error: &cdproto.Error{Code: code, Message: text}})
}

// Emit sends an event of a session. The empty session is that of the browser.
func (t *FakeTransport) Emit(session, method, params string) {
	t.Send(&cdproto.Message{SessionID: target.SessionID(session), Method: cdproto.MethodType(method), Params: jsonv2.Value(params)})
}

// Attach sends parent the event that the session child was attached to a target of a type, such as
// "page" or "iframe". The target has the same id as the session.
func (t *FakeTransport) Attach(parent, child, typ string) {
	id, _ := json.Marshal(child)
	t.Emit(parent, "Target.attachedToTarget", fmt.Sprintf(
		`{"sessionId":%s,"targetInfo":{"targetId":%s,"type":%q,"title":"","url":"","attached":true,"canAccessOpener":false},"waitingForDebugger":false}`,
		id, id, typ))
}

// Detach sends parent the event that the session child was detached.
func (t *FakeTransport) Detach(parent, child string) {
	id, _ := json.Marshal(child)
	t.Emit(parent, "Target.detachedFromTarget", fmt.Sprintf(`{"sessionId":%s}`, id))
}
