package extension

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/chromedp/cdproto"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/target"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// commandAttach is a command of our own on a tab's session: it attaches the
// debugger. It goes the way of the browser's own commands so that its answer
// has its place among the events.
const commandAttach = "ChromeMCP.attach"

// sessionPrefix begins the session ids of tabs. Those of frames and workers
// are the browser's: 32 hexadecimal digits.
const sessionPrefix = "tab-"

// A transport is a cdpconn.Transport over the bridge. It outlives connections:
// while there is none, commands fail.
//
// Whatever is to be read is put into one queue, by whoever reads the
// connection, in the order in which the browser told it. Commands are sent as
// they come, without waiting for answers.
type transport struct {
	mu       sync.Mutex // guards what follows
	conn     connection // nil while there is none
	gone     error      // why there is none
	routes   map[target.SessionID]route
	calls    map[int64]int // commands under way, and the tab of each
	failures map[int64]error
	queue    []*cdproto.Message
	closed   bool
	signal   chan struct{} // holds one token when there may be something new
}

var (
	_ cdpconn.Transport          = (*transport)(nil)
	_ cdpconn.CommandErrorSource = (*transport)(nil)
)

// A route says where the commands of a session go.
type route struct {
	tab     int    // the browser's number
	session string // of a frame or a worker; empty for the tab itself
}

// detachReasonTimeout is how long a command that lost its tab waits to hear why.
const detachReasonTimeout = 300 * time.Millisecond

var errTransportClosed = errors.New("the backend was closed")

func newTransport() *transport {
	return &transport{
		routes: make(map[target.SessionID]route), calls: make(map[int64]int), failures: make(map[int64]error),
		signal: make(chan struct{}, 1),
	}
}

// Read implements cdpconn.Transport.
func (t *transport) Read(ctx context.Context, msg *cdproto.Message) error {
	for {
		t.mu.Lock()
		closed := t.closed
		if len(t.queue) > 0 && !closed {
			*msg = *t.queue[0]
			t.queue[0] = nil
			if t.queue = t.queue[1:]; len(t.queue) == 0 {
				t.queue = nil // let a flood's memory go
			}
			t.mu.Unlock()
			return nil
		}
		t.mu.Unlock()
		if closed {
			return errTransportClosed
		}
		select {
		case <-t.signal:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Write implements cdpconn.Transport. A command that cannot be sent fails; the
// transport goes on.
func (t *transport) Write(ctx context.Context, msg *cdproto.Message) error {
	id := msg.ID
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return errTransportClosed
	}
	r, known := t.routes[msg.SessionID]
	conn, err := t.conn, t.gone
	if known && conn != nil {
		t.calls[id] = r.tab
	}
	t.mu.Unlock()
	switch {
	case !known && msg.SessionID == "":
		err = executor.Errorf(executor.ErrUnknownMethod, "", "%s is not supported: only tab sessions exist", msg.Method)
	case !known:
		err = executor.Errorf(executor.ErrTargetGone, "List the tabs to see what is open.", "the page went away during %s", msg.Method)
	case conn == nil:
	case msg.Method == commandAttach:
		err = conn.Queue(context.Background(), wire.MethodTabAttach, wire.TabRef{TabID: r.tab}, func(_ json.RawMessage, err error) {
			t.answer(id, json.RawMessage("{}"), err)
		})
	default:
		err = conn.Queue(context.Background(), wire.MethodCDP,
			wire.CDPCommand{TabID: r.tab, SessionID: r.session, Method: string(msg.Method), Params: json.RawMessage(msg.Params)},
			func(data json.RawMessage, err error) { t.answer(id, data, err) })
	}
	if err != nil {
		t.mu.Lock()
		t.fail(id, err)
		t.mu.Unlock()
	}
	return nil
}

// Close implements cdpconn.Transport.
func (t *transport) Close() error {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.wake()
	return nil
}

// Failed implements cdpconn.Failer.
func (t *transport) Failed(id int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.failures[id]
	delete(t.failures, id)
	return err
}

// answer puts the answer to a command in its place, unless the command has
// failed before.
func (t *transport) answer(id int64, data json.RawMessage, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, waiting := t.calls[id]; !waiting {
		return
	}
	if errors.Is(err, executor.ErrDetached) || errors.Is(err, executor.ErrTargetGone) {
		// Why is told by an event that comes right after it, and fails all
		// commands of the tab.
		time.AfterFunc(detachReasonTimeout, func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			if _, waiting := t.calls[id]; waiting {
				t.fail(id, err)
			}
		})
		return
	}
	if err != nil {
		t.fail(id, err)
		return
	}
	delete(t.calls, id)
	t.put(&cdproto.Message{ID: id, Result: jsonv2.Value(data)})
}

// fail answers a command with an error. t.mu must be held.
func (t *transport) fail(id int64, err error) {
	delete(t.calls, id)
	var problem *bridge.CommandError
	if errors.Is(err, executor.ErrCDP) && errors.As(err, &problem) {
		t.put(&cdproto.Message{ID: id, Error: browserError(problem)})
		return
	}
	t.failures[id] = err
	t.put(&cdproto.Message{ID: id, Error: &cdproto.Error{Message: err.Error()}})
}

// browserError is the browser's own error, as the extension passes it on.
func browserError(p *bridge.CommandError) *cdproto.Error {
	e := &cdproto.Error{Code: -32000, Message: p.Message}
	var own struct {
		Code    int64  `json:"code"`
		Message string `json:"message"`
	}
	if json.Unmarshal(p.Data, &own) == nil && own.Message != "" {
		e.Code, e.Message = own.Code, own.Message
	}
	return e
}

// put queues a message to be read. t.mu must be held.
func (t *transport) put(msg *cdproto.Message) {
	if t.closed {
		return
	}
	t.queue = append(t.queue, msg)
	t.wake()
}

func (t *transport) wake() {
	select {
	case t.signal <- struct{}{}:
	default:
	}
}

// event puts an event of a session into the queue. params that are not raw
// must be such that JSON can hold.
func (t *transport) event(session target.SessionID, method string, params any) {
	raw, ok := params.(json.RawMessage)
	if !ok {
		raw, _ = json.Marshal(params)
	}
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	t.mu.Lock()
	t.put(&cdproto.Message{SessionID: session, Method: cdproto.MethodType(method), Params: jsonv2.Value(raw)})
	t.mu.Unlock()
}

// connect says over which connection commands go; nil, and why there is none.
func (t *transport) connect(c connection, gone error) {
	t.mu.Lock()
	t.conn, t.gone = c, gone
	t.mu.Unlock()
}

// route says where the commands of a session go. It reports whether the id was
// free.
func (t *transport) route(id target.SessionID, r route) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, taken := t.routes[id]; taken {
		return false
	}
	t.routes[id] = r
	return true
}

// routesTo reports whether a session is of a tab.
func (t *transport) routesTo(id target.SessionID, tab int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, ok := t.routes[id]
	return ok && r.tab == tab
}

// unroute forgets a session.
func (t *transport) unroute(id target.SessionID) {
	t.mu.Lock()
	delete(t.routes, id)
	t.mu.Unlock()
}

// children forgets the sessions of a tab's frames and workers, and returns
// them.
func (t *transport) children(tab int) []target.SessionID {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []target.SessionID
	for id, r := range t.routes {
		if r.tab == tab && r.session != "" {
			list = append(list, id)
			delete(t.routes, id)
		}
	}
	slices.Sort(list)
	return list
}

// failTab fails the commands of a tab that are under way.
func (t *transport) failTab(tab int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(t.calls)) {
		if t.calls[id] == tab {
			t.fail(id, err)
		}
	}
}

func tabSession(n int) target.SessionID { return target.SessionID(sessionPrefix + strconv.Itoa(n)) }
