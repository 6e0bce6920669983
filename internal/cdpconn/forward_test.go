package cdpconn

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/chromedp/cdproto"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/cdptest"
)

// newClients returns a connection to a fake browser with clients, whose sessions are C1, C2 and so
// on. handle handles the commands other than those that attach and detach a client; nil replies to
// each with {}.
func newClients(t testing.TB, n int, handle func(*cdptest.FakeTransport, *cdproto.Message)) (*cdptest.FakeTransport, *Conn, []*Client) {
	t.Helper()
	if handle == nil {
		handle = func(b *cdptest.FakeTransport, cmd *cdproto.Message) { b.Reply(cmd, "{}") }
	}
	attached := 0
	b := cdptest.New(func(b *cdptest.FakeTransport, cmd *cdproto.Message) {
		switch cmd.Method {
		case "Target.attachToBrowserTarget":
			attached++
			id := fmt.Sprintf("C%d", attached)
			b.Attach("", id, "browser")
			b.Reply(cmd, `{"sessionId":"`+id+`"}`)
		default:
			handle(b, cmd)
		}
	})
	c := connect(t, b)
	var clients []*Client
	for range n {
		client, err := c.Connect(t.Context(), func() {})
		if err != nil {
			t.Fatal(err)
		}
		clients = append(clients, client)
	}
	return b, c, clients
}

// receive returns the next message of a client.
func receive(t *testing.T, cl *Client) ClientMessage {
	t.Helper()
	m, err := cl.Receive(await.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (m ClientMessage) String() string {
	return fmt.Sprintf("%d %q %s ", m.ID, m.SessionID, m.Method) + string(m.Params) + string(m.Result) + string(m.Error)
}

// TestClients checks that two clients have separate sessions and ids, and that the messages of a
// client and of sessions below its own are in order.
func TestClients(t *testing.T) {
	b, c, clients := newClients(t, 2, func(b *cdptest.FakeTransport, cmd *cdproto.Message) {
		switch cmd.Method {
		case "Test.fail":
			b.Send(&cdproto.Message{ID: cmd.ID, SessionID: cmd.SessionID, Error: &cdproto.Error{Code: -32602, Message: "m"},
				Result: []byte(`{"code":-32602,"message":"m","data":"d"}`)})
		case "Test.attach":
			b.Attach(string(cmd.SessionID), "P-"+string(cmd.SessionID), "page")
			b.Reply(cmd, "{}")
		case "Test.detach":
			b.Emit(string(cmd.SessionID), "Target.detachedFromTarget", `{"sessionId":"P-`+string(cmd.SessionID)+`"}`)
			b.Emit("P-"+string(cmd.SessionID), "Test.late", `{}`)
			b.Reply(cmd, "{}")
		default:
			b.Emit(string(cmd.SessionID), "Test.event", string(cmd.Params))
			b.Reply(cmd, fmt.Sprintf(`{"echo":%s}`, cmd.Params))
		}
	})
	for i, cl := range clients {
		id := fmt.Sprintf("C%d", i+1)
		attached := `{"sessionId":"P-` + id + `","targetInfo":{"targetId":"P-` + id + `","type":"page","title":"","url":"","attached":true,"canAccessOpener":false},"waitingForDebugger":false}`
		send := func(m ClientMessage, want ...string) {
			t.Helper()
			if err := cl.Send(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			for _, w := range want {
				if got := receive(t, cl); got.String() != w {
					t.Errorf("got %v, want %s", got, w)
				}
			}
		}
		send(ClientMessage{ID: 1, Method: "Test.echo", Params: []byte(`{"a":1}`)}, `0 "" Test.event {"a":1}`, `1 ""  {"echo":{"a":1}}`)
		send(ClientMessage{ID: 2, Method: "Test.fail"}, `2 ""  {"code":-32602,"message":"m","data":"d"}`)
		send(ClientMessage{ID: 1, Method: "Test.attach"}, `0 "" Target.attachedToTarget `+attached, `1 ""  {}`)
		page := "P-" + id
		send(ClientMessage{ID: 3, SessionID: page, Method: "Test.echo", Params: []byte(`[]`)}, `0 "`+page+`" Test.event []`, `3 "`+page+`"  {"echo":[]}`)
		const none = `{"code":-32001,"message":"Session with given id not found."}`
		if i > 0 {
			send(ClientMessage{ID: 4, SessionID: "P-C1", Method: "Test.echo"}, `4 "P-C1"  `+none)
		}
		send(ClientMessage{ID: 4, Method: "Test.echo", Params: []byte(`{"a":`)}, `4 ""  {"code":-32700,"message":"JSON: the parameters are not valid"}`)
		if i > 0 {
			send(ClientMessage{ID: 5, Method: "Test.detach"}, `0 "" Target.detachedFromTarget {"sessionId":"`+page+`"}`, `5 ""  {}`)
			send(ClientMessage{ID: 6, SessionID: page, Method: "Test.echo"}, `6 "`+page+`"  `+none)
		}
	}
	clients[0].Close()
	clients[0].Close()
	if _, err := clients[0].Receive(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if err := clients[0].Send(t.Context(), ClientMessage{ID: 1, Method: "Test.echo"}); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	c.mu.Lock()
	if n := len(c.sessions); n != 2 || len(c.commands) != 0 || len(c.clients) != 1 {
		t.Errorf("%d sessions, %d commands, %d clients are left", n, len(c.commands), len(c.clients))
	}
	c.mu.Unlock()
	b.Disconnect()
	if _, err := clients[1].Receive(t.Context()); !errors.Is(err, errs.ErrTargetGone) {
		t.Errorf("after the browser's exit: %v", err)
	}
	clients[1].Close()
}

// TestClientNotReading checks that the queue of a client that does not read is limited: events that
// may be dropped are dropped first, and then the connection of that client ends.
func TestClientNotReading(t *testing.T) {
	const size = 1 << 20
	params := `{"a":"` + strings.Repeat("x", size) + `"}`
	b, c, clients := newClients(t, 2, nil)
	sync := func() {
		t.Helper()
		if err := c.BrowserSession().Call(t.Context(), "Test.sync", nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		b.Emit("C1", "Page.screencastFrame", params)
	}
	for range 100 {
		b.Emit("C1", "Target.targetInfoChanged", params)
	}
	sync()
	cl := clients[0]
	if n := cl.events; n > maxQueued || n < 30*size || cl.Err() != nil {
		t.Fatalf("%d bytes are queued, %v", n, cl.Err())
	}
	for range 10 {
		b.Emit("C1", "Page.screencastFrame", params)
	}
	sync()
	if n := len(cl.queue); n != 30 || cl.Err() != nil {
		t.Fatalf("%d events are queued, %v", n, cl.Err())
	}
	b.Emit("C1", "Page.screencastFrame", params)
	b.Emit("C1", "Page.screencastFrame", params)
	sync()
	if err := cl.Err(); !errors.Is(err, errs.ErrBackpressure) || !strings.Contains(err.Error(), "does not read") {
		t.Errorf("got %v", err)
	}
	if cl.queue != nil {
		t.Error("the queue is not freed")
	}
	<-cl.closed
	if err := clients[1].Send(t.Context(), ClientMessage{ID: 1, Method: "Test.works"}); err != nil {
		t.Fatal(err)
	}
	if m := receive(t, clients[1]); m.ID != 1 {
		t.Errorf("the other client received %v", m)
	}
}

// TestClientFloods checks the limit of the rate of log and network events.
func TestClientFloods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		params := `{"a":"` + strings.Repeat("x", 100<<10) + `"}`
		b, c, clients := newClients(t, 1, nil)
		for _, method := range []string{"Runtime.consoleAPICalled", "Network.requestWillBeSent", "Log.entryAdded"} {
			for range 1000 {
				b.Emit("C1", method, params)
			}
			if err := c.BrowserSession().Call(t.Context(), "Test.sync", nil, nil); err != nil {
				t.Fatal(err)
			}
			n := 0
			for clients[0].events > 0 {
				receive(t, clients[0])
				n++
			}
			if n < 70 || n > 100 {
				t.Errorf("%s: %d events", method, n)
			}
		}
		if c.Dropped() < 2700 {
			t.Errorf("%d dropped events", c.Dropped())
		}
		clients[0].Close()
	})
}

// TestClientCommands checks the limit of commands without a reply.
func TestClientCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, c, clients := newClients(t, 1, func(b *cdptest.FakeTransport, cmd *cdproto.Message) {
			switch cmd.Method {
			case "Test.attach":
				b.Attach("C1", "P", "page")
				b.Reply(cmd, "{}")
			case "Target.detachFromTarget":
				b.Reply(cmd, "{}")
			}
		})
		cl := clients[0]
		if err := cl.Send(t.Context(), ClientMessage{ID: 1, Method: "Test.attach"}); err != nil {
			t.Fatal(err)
		}
		receive(t, cl)
		receive(t, cl)
		for range maxCommands {
			if err := cl.Send(t.Context(), ClientMessage{ID: 2, SessionID: "P", Method: "Test.hang"}); err != nil {
				t.Fatal(err)
			}
		}
		sent := make(chan error, 1)
		go func() { sent <- cl.Send(t.Context(), ClientMessage{ID: 3, Method: "Test.hang"}) }()
		synctest.Wait()
		select {
		case err := <-sent:
			t.Fatalf("Send returned %v", err)
		default:
		}
		b.Emit("C1", "Target.detachedFromTarget", `{"sessionId":"P"}`)
		if err := <-sent; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		c.mu.Lock()
		if len(c.commands) != 1 || len(cl.slots) != 1 {
			t.Errorf("%d commands, %d slots", len(c.commands), len(cl.slots))
		}
		c.mu.Unlock()
		cl.Close()
	})
}

// TestClientLongEvent checks that an event over the limit ends only the session that received it.
func TestClientLongEvent(t *testing.T) {
	b, _, clients := newClients(t, 1, nil)
	b.Attach("C1", "P", "page")
	b.Send(&cdproto.Message{SessionID: "P", Method: "Page.frameNavigated", Error: &cdproto.Error{Code: -32000, Message: "too long"}})
	receive(t, clients[0])
	if m := receive(t, clients[0]); m.String() != `0 "" Target.detachedFromTarget {"sessionId":"P"}` {
		t.Errorf("got %v", m)
	}
}
