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
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// commandAttach is our own command on a tab's session. It attaches the debugger. It is sent like a
// CDP command, so that its response is in order with the events.
const commandAttach = "ChromeMCP.attach"

// sessionPrefix is the prefix of the session ids of tabs. The session ids of frames and workers come
// from the browser, and have 32 hexadecimal digits.
const sessionPrefix = "tab-"

// A transport is a cdpconn.Transport over the bridge. It survives its connections; without one,
// commands fail.
//
// Responses and events are read from one queue, in the order in which the browser sent them.
// Commands are sent immediately, without waiting for earlier responses.
type transport struct {
	tools  toolCommands  // set before use
	timing timing.Timing // never changes

	mu       sync.Mutex   // guards the fields below
	conn     *bridge.Conn // nil while disconnected
	gone     error        // why there is no connection
	routes   map[target.SessionID]route
	calls    map[int64]int // maps the ids of commands without a response to their tabs
	failures map[int64]error
	queue    *notify.Queue[*cdproto.Message]
	closed   bool
}

var (
	_ cdpconn.Transport          = (*transport)(nil)
	_ cdpconn.CommandErrorSource = (*transport)(nil)
)

// A route is the destination of the commands of a session.
type route struct {
	tab     int    // Chrome's tab id
	session string // session id of a frame or a worker; empty for the tab itself
}

var errTransportClosed = errors.New("the backend is closed")

func newTransport(t timing.Timing) *transport {
	return &transport{
		timing: t,
		routes: make(map[target.SessionID]route), calls: make(map[int64]int), failures: make(map[int64]error),
		queue: notify.NewQueue[*cdproto.Message](0),
	}
}

// Read implements cdpconn.Transport.
func (t *transport) Read(ctx context.Context, msg *cdproto.Message) error {
	next, err := t.queue.Next(ctx)
	if err != nil {
		return err
	}
	*msg = *next
	return nil
}

// Write implements cdpconn.Transport. If a command cannot be sent, only the command fails.
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
		err = executor.Errorf(executor.ErrTargetGone, "List the tabs to see what is open.",
			"the tab, or the frame or worker in it, was closed or detached before it received %s", msg.Method)
	case conn == nil:
	case msg.Method == commandAttach:
		t.tools.attach(r)
		err = conn.Queue(context.Background(), wire.MethodTabAttach, wire.TabRef{TabID: r.tab}, func(_ json.RawMessage, err error) {
			t.tools.attached(r, err)
			t.answer(id, emptyResult, err)
		})
	default:
		command := wire.CDPCommand{
			TabID: r.tab, SessionID: r.session, Method: string(msg.Method), Params: json.RawMessage(msg.Params),
		}
		if cdpconn.IsShort(id) {
			command.MaxString = cdpconn.MaxShortReply / 2
		}
		var answered bool
		answered, err = t.tools.command(r, msg, func(failed func()) error {
			return conn.Queue(context.Background(), wire.MethodCDP, command, func(data json.RawMessage, err error) {
				if err != nil {
					failed()
				}
				t.answer(id, data, err)
			})
		})
		if answered {
			t.answer(id, emptyResult, nil)
		}
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
	t.queue.Close(errTransportClosed)
	return nil
}

// Failed implements cdpconn.CommandErrorSource.
func (t *transport) Failed(id int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.failures[id]
	delete(t.failures, id)
	return err
}

// answer queues the response to a command, unless the command has failed already.
func (t *transport) answer(id int64, data json.RawMessage, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, waiting := t.calls[id]; !waiting {
		return
	}
	if errors.Is(err, executor.ErrDetached) || errors.Is(err, executor.ErrTargetGone) {
		// The event with the reason arrives immediately after this response. It fails all
		// commands of the tab.
		time.AfterFunc(t.timing.DetachReason, func() {
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
	t.queue.Put(&cdproto.Message{ID: id, Result: jsonv2.Value(data)})
}

// fail queues an error as the response to a command. t.mu must be held.
func (t *transport) fail(id int64, err error) {
	delete(t.calls, id)
	var problem *bridge.CommandError
	if errors.Is(err, executor.ErrCDP) && errors.As(err, &problem) {
		t.queue.Put(&cdproto.Message{ID: id, Error: browserError(problem)})
		return
	}
	t.failures[id] = err
	t.queue.Put(&cdproto.Message{ID: id, Error: &cdproto.Error{Message: err.Error()}})
}

// browserError returns the error of the browser that the extension has forwarded.
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

// event queues an event of a session. params is a json.RawMessage, or a value that mustJSON accepts.
func (t *transport) event(session target.SessionID, method string, params any) {
	raw := mustJSON(params)
	if len(raw) == 0 {
		raw = emptyResult
	}
	t.mu.Lock()
	t.queue.Put(&cdproto.Message{SessionID: session, Method: cdproto.MethodType(method), Params: jsonv2.Value(raw)})
	t.mu.Unlock()
}

// connection returns the connection, or the reason why the extension is not connected.
func (t *transport) connection() (*bridge.Conn, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.conn, t.gone
}

// connect sets the connection that commands are sent to, or nil and the reason why the extension is not connected.
func (t *transport) connect(c *bridge.Conn, gone error) {
	t.mu.Lock()
	t.conn, t.gone = c, gone
	t.mu.Unlock()
}

// route sets the destination of the commands of a session. It reports whether the id was unused.
func (t *transport) route(id target.SessionID, r route) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, taken := t.routes[id]; taken {
		return false
	}
	t.routes[id] = r
	return true
}

// routesTo reports whether a session belongs to a tab.
func (t *transport) routesTo(id target.SessionID, tab int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, ok := t.routes[id]
	return ok && r.tab == tab
}

// unroute removes the route of a session.
func (t *transport) unroute(id target.SessionID) {
	t.mu.Lock()
	delete(t.routes, id)
	t.mu.Unlock()
}

// removeChildren removes the routes of the sessions of a tab's frames and workers, and returns their
// ids.
func (t *transport) removeChildren(tab int) []target.SessionID {
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

// failTab fails the commands of a tab that have no response yet.
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
