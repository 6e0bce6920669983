// Package cdptest provides a fake browser for tests: the other end of a CDP connection, in memory.
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

	mu     sync.Mutex // guards the fields below
	more   *sync.Cond
	queue  []*cdproto.Message
	hungUp bool // Read fails after the end of the queue
	closed bool
}

// New returns a browser that calls handle with each command, one at a time.
// A nil handle answers each with {}.
func New(handle func(b *FakeTransport, cmd *cdproto.Message)) *FakeTransport {
	if handle == nil {
		handle = func(b *FakeTransport, cmd *cdproto.Message) { b.Reply(cmd, "{}") }
	}
	b := &FakeTransport{handle: handle}
	b.more = sync.NewCond(&b.mu)
	return b
}

// Read waits for the next message of the browser. It returns io.EOF when the
// browser has hung up, and io.ErrClosedPipe when the connection was closed.
func (b *FakeTransport) Read(_ context.Context, msg *cdproto.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.queue) == 0 && !b.hungUp && !b.closed {
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

// Write takes a command.
func (b *FakeTransport) Write(_ context.Context, cmd *cdproto.Message) error {
	b.mu.Lock()
	closed := b.closed || b.hungUp
	b.mu.Unlock()
	if closed {
		return io.ErrClosedPipe
	}
	b.handle(b, cmd)
	return nil
}

// Close is the client's: what was not read is lost.
func (b *FakeTransport) Close() error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.more.Broadcast()
	return nil
}

// Disconnect ends the connection after what was sent.
func (b *FakeTransport) Disconnect() {
	b.mu.Lock()
	b.hungUp = true
	b.mu.Unlock()
	b.more.Broadcast()
}

// Send sends a message as it is.
func (b *FakeTransport) Send(msg *cdproto.Message) {
	b.mu.Lock()
	b.queue = append(b.queue, msg)
	b.mu.Unlock()
	b.more.Broadcast()
}

// Reply answers a command with a result, in JSON.
func (b *FakeTransport) Reply(cmd *cdproto.Message, result string) {
	b.Send(&cdproto.Message{ID: cmd.ID, SessionID: cmd.SessionID, Result: jsonv2.Value(result)})
}

// Fail answers a command with an error.
func (b *FakeTransport) Fail(cmd *cdproto.Message, code int64, text string) {
	b.Send(&cdproto.Message{ID: cmd.ID, SessionID: cmd.SessionID, Error: &cdproto.Error{Code: code, Message: text}})
}

// Emit sends an event of a session, the browser's own when it is empty.
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
