package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

// A fakeBrowser responds to each command with {}, or as respond says.
type fakeBrowser struct {
	respond    func(c *fakeConn, m executor.CDPMessage) bool // reports whether it has responded
	connecting func()                                        // called by ConnectCDP, if not nil
	handedOver atomic.Pointer[string]                        // id of the target that is handed over, if not nil
	handovers  notify.Broadcast                              // handedOver has changed

	mu    sync.Mutex // guards the fields below
	conns []*fakeConn
	names []string // of the clients that have one
	pages []string // ids of the targets of type page
	err   error    // of ConnectCDP
}

func newFake() *fakeBrowser { return &fakeBrowser{} }

// A fakeConn is a connection to a fakeBrowser.
type fakeConn struct {
	browser *fakeBrowser
	queue   chan executor.CDPMessage
	closed  chan struct{}
	once    sync.Once

	mu   sync.Mutex // guards sent
	sent []executor.CDPMessage
}

var errClosed = errors.New("the connection is closed")

func (b *fakeBrowser) ConnectCDP(_ context.Context, opts *executor.CDPOptions) (executor.CDPConn, error) {
	if b.connecting != nil {
		b.connecting()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return nil, b.err
	}
	if opts != nil && !opts.Query {
		b.names = append(b.names, opts.Name)
	}
	c := &fakeConn{browser: b, queue: make(chan executor.CDPMessage, 10_000), closed: make(chan struct{})}
	b.conns = append(b.conns, c)
	return c, nil
}

// conn returns the last connection.
func (b *fakeBrowser) conn() *fakeConn {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.conns[len(b.conns)-1]
}

// sent lists the methods that clients have sent, without those of the relay's start.
func (b *fakeBrowser) sent() []string {
	b.mu.Lock()
	conns := slices.Clone(b.conns)
	b.mu.Unlock()
	var methods []string
	for _, c := range conns {
		c.mu.Lock()
		for _, m := range c.sent {
			if m.Method != "Target.attachToBrowserTarget" && m.SessionID != "watch" {
				methods = append(methods, m.Method)
			}
		}
		c.mu.Unlock()
	}
	return methods
}

func (c *fakeConn) Send(ctx context.Context, m executor.CDPMessage) error {
	select {
	case <-c.closed:
		return errClosed
	default:
	}
	m.Params = slices.Clone(m.Params)
	c.mu.Lock()
	c.sent = append(c.sent, m)
	c.mu.Unlock()
	switch {
	case m.Method == "Target.attachToBrowserTarget":
		c.emit("", "Target.attachedToTarget", map[string]any{"sessionId": "watch", "targetInfo": map[string]any{"targetId": "B", "type": "browser"}})
		c.reply(m, map[string]any{"sessionId": "watch"})
	case c.browser.respond != nil && c.browser.respond(c, m):
	default:
		select {
		case c.queue <- executor.CDPMessage{ID: m.ID, SessionID: m.SessionID, Result: encode(map[string]any{})}:
		case <-ctx.Done(): // nothing receives from the queue
			return ctx.Err()
		}
	}
	return nil
}

func (c *fakeConn) reply(m executor.CDPMessage, result any) {
	c.queue <- executor.CDPMessage{ID: m.ID, SessionID: m.SessionID, Result: encode(result)}
}

func (c *fakeConn) emit(session, method string, params any) {
	c.queue <- executor.CDPMessage{SessionID: session, Method: method, Params: encode(params)}
}

// attach emits that a session of a target exists.
func (c *fakeConn) attach(parent, id string, t target) {
	if t.Type == "page" {
		c.browser.mu.Lock()
		c.browser.pages = append(c.browser.pages, t.ID)
		c.browser.mu.Unlock()
	}
	c.emit(parent, "Target.attachedToTarget", map[string]any{"sessionId": id, "targetInfo": t})
}

func (c *fakeConn) Receive(ctx context.Context) (executor.CDPMessage, error) {
	select {
	case m := <-c.queue:
		return m, nil
	case <-c.closed:
		return executor.CDPMessage{}, errClosed
	case <-ctx.Done():
		return executor.CDPMessage{}, ctx.Err()
	}
}

// TabID implements executor.CDPConn. The tabs are the pages named P and P2.
func (c *fakeConn) TabID(target string) executor.TabID {
	if target == "P" || target == "P2" {
		return executor.NewTabID("cdp", "fake", target)
	}
	return ""
}

func (c *fakeConn) HandedOver(id string) bool {
	target := c.browser.handedOver.Load()
	c.browser.mu.Lock()
	defer c.browser.mu.Unlock()
	return target != nil && (*target == id || !slices.Contains(c.browser.pages, id))
}

func (c *fakeConn) HandoversChanged() <-chan struct{} { return c.browser.handovers.Changed() }

func (c *fakeConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// handOver hands a target over; nil means none.
func (b *fakeBrowser) handOver(target *string) {
	b.handedOver.Store(target)
	b.handovers.Notify()
}

// forget forgets the commands that were sent.
func (b *fakeBrowser) forget() {
	c := b.conn()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent = nil
}

// awaitSent waits until n commands were sent, and returns those that were sent.
func (b *fakeBrowser) awaitSent(t *testing.T, n int) (sent []executor.CDPMessage) {
	t.Helper()
	c := b.conn()
	await.Until(t, fmt.Sprintf("%d commands", n), func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		sent = slices.Clone(c.sent)
		return len(sent) >= n
	})
	return sent
}

// params returns the parameters of the last command of a method that was sent.
func (c *fakeConn) params(method string) map[string]any {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range slices.Backward(c.sent) {
		if m.Method == method {
			var p map[string]any
			_ = json.Unmarshal(m.Params, &p)
			return p
		}
	}
	return nil
}
