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
func (b *FakeTransport) Read(_ context.Context, msg *cdproto.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.queue) == 0 && !b.disconnected && !b.closed {
		b.more.Wait()
	}
	switch {
	case b.closed:
		return io.ErrClosedPipe
	case len(b.queue) == 0:
		return io.EOF
	}
	*msg = *b.queue[0]
	b.queue = b.queue[1:]
	return nil
}

// Write passes a command to the handle function.
func (b *FakeTransport) Write(_ context.Context, cmd *cdproto.Message) error {
	b.mu.Lock()
	closed := b.closed || b.disconnected
	b.mu.Unlock()
	if closed {
		return io.ErrClosedPipe
	}
	b.handle(b, cmd)
	return nil
}

// Close closes the client's end of the connection. Messages that were not read are dropped.
func (b *FakeTransport) Close() error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.more.Broadcast()
	return nil
}

// Disconnect closes the browser's end of the connection. Messages that were sent before can still
// be read.
func (b *FakeTransport) Disconnect() {
	b.mu.Lock()
	b.disconnected = true
	b.mu.Unlock()
	b.more.Broadcast()
}

// Send sends a message without changes.
func (b *FakeTransport) Send(msg *cdproto.Message) {
	b.mu.Lock()
	b.queue = append(b.queue, msg)
	b.mu.Unlock()
	b.more.Broadcast()
}

// Reply sends the response to a command. result is JSON.
func (b *FakeTransport) Reply(cmd *cdproto.Message, result string) {
	b.Send(&cdproto.Message{ID: cmd.ID, SessionID: cmd.SessionID, Result: jsonv2.Value(result)})
}

// Fail sends an error response to a command.
func (b *FakeTransport) Fail(cmd *cdproto.Message, code int64, text string) {
	b.Send(&cdproto.Message{ID: cmd.ID, SessionID: cmd.SessionID, Error: &cdproto.Error{Code: code, Message: text}})
}

// Emit sends an event of a session. The empty session is that of the browser.
func (b *FakeTransport) Emit(session, method, params string) {
	b.Send(&cdproto.Message{SessionID: target.SessionID(session), Method: cdproto.MethodType(method), Params: jsonv2.Value(params)})
}

// Attach sends parent the event that the session child was attached to a target of a type, such as
// "page" or "iframe". The target has the same id as the session.
func (b *FakeTransport) Attach(parent, child, typ string) {
	id, _ := json.Marshal(child)
	b.Emit(parent, "Target.attachedToTarget", fmt.Sprintf(
		`{"sessionId":%s,"targetInfo":{"targetId":%s,"type":%q,"title":"","url":"","attached":true,"canAccessOpener":false},"waitingForDebugger":false}`,
		id, id, typ))
}

// Detach sends parent the event that the session child was detached.
func (b *FakeTransport) Detach(parent, child string) {
	id, _ := json.Marshal(child)
	b.Emit(parent, "Target.detachedFromTarget", fmt.Sprintf(`{"sessionId":%s}`, id))
}
