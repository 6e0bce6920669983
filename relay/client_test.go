package relay

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

// TestInvalidMessages checks that a client that sends invalid messages gets errors and stays
// connected.
func TestInvalidMessages(t *testing.T) {
	_, address := serve(t, Options{Browser: newFake()})
	c := dial(t, address+"/devtools/browser/x", "")
	for data, want := range map[string]string{
		"": `{"code":-32700`, "nonsense": `{"code":-32700`, `{"id":1,"method":"Browser.getVersion","params":{}`: `{"code":-32700`,
		"{\"id\":1,\"method\":\"\xff\"}": `{"code":-32700`, strings.Repeat("[", 100_000): `{"code":-32700`,
		`{"method":"Browser.getVersion"}`: `{"code":-32600`,
	} {
		c.raw(data)
		if m := c.next(); m.ID != 0 || m.Error == nil || !strings.HasPrefix(string(encode(m.Error)), want) {
			t.Errorf("%.50q: %+v", data, m)
		}
	}
	c.raw(`{"id":7,"method":"Browser.getVersion","sessionId":"unknown"}`)
	if m := c.next(); m.ID != 7 || m.Error == nil || m.Error.Code != codeNoSession || m.Error.Message != "Session with given id not found." {
		t.Errorf("unknown session: %+v", m)
	}
	c.raw(`{"id":8,"method":"Browser.getVersion","sessionId":"watch"}`)
	if m := c.next(); m.Error == nil || m.Error.Code != codeNoSession {
		t.Errorf("session of the relay: %+v", m)
	}
	// Two commands with the same id get two replies with it.
	c.raw(`{"id":9,"method":"Browser.getVersion"}`)
	c.raw(`{"id":9,"method":"Browser.getVersion"}`)
	if a, b := c.next(), c.next(); a.ID != 9 || b.ID != 9 || a.Error != nil || b.Error != nil {
		t.Errorf("%+v %+v", a, b)
	}
	if err := c.ws.Write(await.Context(t), websocket.MessageBinary, []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.ws.Read(await.Context(t)); websocket.CloseStatus(err) != websocket.StatusUnsupportedData {
		t.Errorf("binary message: %v", err)
	}
}

// TestMessageSize checks that a message of the maximum size passes and a larger one disconnects
// the client. The maximum is smaller here, because the race detector is slow.
func TestMessageSize(t *testing.T) {
	b := newFake()
	s, address := serve(t, Options{Browser: b})
	if s.maxMessage != 64<<20 {
		t.Errorf("maximum %d", s.maxMessage)
	}
	const maxMessage = 1 << 20
	s.maxMessage = maxMessage
	c := dial(t, address+"/devtools/browser/x", "")
	head, tail := `{"id":1,"method":"Target.setDiscoverTargets","params":{"x":"`, `"}}`
	c.raw(head + strings.Repeat("x", maxMessage-len(head)-len(tail)) + tail)
	if m := c.next(); m.Error != nil {
		t.Errorf("%+v", m.Error)
	}
	if n := len(b.conn().params("Target.setDiscoverTargets")["x"].(string)); n < maxMessage-1000 {
		t.Errorf("%d bytes arrived", n)
	}
	go c.ws.Write(await.Context(t), websocket.MessageText, []byte(head+strings.Repeat("x", maxMessage)+tail))
	if _, _, err := c.ws.Read(await.Context(t)); err == nil {
		t.Error("the client is connected")
	}
}

// TestBrokenConnection ends connections in the middle of a message and during a command, and checks
// that everything is freed. The browser never responds to the command.
func TestBrokenConnection(t *testing.T) {
	b := newFake()
	b.respond = func(c *fakeConn, m executor.CDPMessage) bool { return m.Method == "Runtime.evaluate" } // no reply
	s, address := serve(t, Options{Browser: b})
	for _, send := range []func(c *testClient){
		func(c *testClient) {
			w, err := c.ws.Writer(await.Context(t), websocket.MessageText)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(w, `{"id":1,"meth`)
		},
		func(c *testClient) { c.send("", "Runtime.evaluate", nil) },
	} {
		c := dial(t, address+"/devtools/browser/x", "")
		c.call("", "Browser.getVersion", nil)
		send(c)
		c.ws.CloseNow()
		await.Receive(t, "the end of the connection to the browser", b.conn().closed)
	}
	waitForNoClients(t, s)
}

// TestEndOfBrowser checks that a client is disconnected with the reason when the browser has exited.
func TestEndOfBrowser(t *testing.T) {
	b := newFake()
	_, address := serve(t, Options{Browser: b})
	c := dial(t, address+"/devtools/browser/x", "")
	c.call("", "Browser.getVersion", nil)
	b.conn().Close()
	if _, _, err := c.ws.Read(await.Context(t)); err == nil || !strings.Contains(err.Error(), errClosed.Error()) {
		t.Error(err)
	}
}

// TestBrowserClose checks that a client that closes the browser is only disconnected.
func TestBrowserClose(t *testing.T) {
	b := newFake()
	_, address := serve(t, Options{Browser: b})
	other := dial(t, address+"/devtools/browser/x", "")
	c := dial(t, address+"/devtools/browser/x", "")
	if m := c.try("", "Browser.close", nil); m.Error != nil || string(m.Result) != "{}" {
		t.Errorf("%+v", m)
	}
	if _, _, err := c.ws.Read(await.Context(t)); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		t.Error(err)
	}
	other.call("", "Browser.getVersion", nil)
	if sent := b.sent(); len(sent) != 1 {
		t.Errorf("the browser got %q", sent)
	}
}

// TestSessions checks that a client can use only its own sessions, until they are detached.
func TestSessions(t *testing.T) {
	b := newFake()
	_, address := serve(t, Options{Browser: b})
	c := dial(t, address+"/devtools/browser/x", "")
	c.call("", "Browser.getVersion", nil)
	conn := b.conn()
	conn.attach("", "S", target{ID: "P", Type: "page", URL: "http://127.0.0.1/"})
	conn.attach("S", "F", target{ID: "I", Type: "iframe", URL: "http://127.0.0.1/"})
	c.event("Target.attachedToTarget", nil)
	c.event("Target.attachedToTarget", nil)
	c.call("S", "Page.enable", nil)
	if m := c.try("F", "Page.enable", nil); m.Session != "F" {
		t.Errorf("%+v", m)
	}
	c.denied("", "Target.detachFromTarget", map[string]any{"sessionId": "watch"}, "No session with given id")
	c.denied("", "Target.detachFromTarget", map[string]any{"sessionId": ""}, "No session with given id")
	conn.emit("", "Target.detachedFromTarget", map[string]any{"sessionId": "S"})
	c.event("Target.detachedFromTarget", nil)
	for _, id := range []string{"S", "F"} {
		if m := c.try(id, "Page.enable", nil); m.Error == nil || m.Error.Code != codeNoSession {
			t.Errorf("%s: %+v", id, m)
		}
	}
	conn.emit("X", "Page.loadEventFired", nil) // of no session of the client
	conn.emit("", "Target.targetCreated", map[string]any{"targetInfo": target{ID: "Q", Type: "page", URL: "http://127.0.0.1/"}})
	if m := c.next(); m.Method != "Target.targetCreated" {
		t.Errorf("%+v", m)
	}
}

// TestPageWebSocket checks that a client of a page uses the page's session without its id.
func TestPageWebSocket(t *testing.T) {
	b := newFake()
	page := target{ID: "P", Type: "page", URL: "http://127.0.0.1/"}
	b.respond = func(c *fakeConn, m executor.CDPMessage) bool {
		switch m.Method {
		case "Target.getTargetInfo":
			switch object(m.Params)["targetId"] {
			case "UNKNOWN":
				c.queue <- executor.CDPMessage{ID: m.ID, SessionID: m.SessionID, Error: &executor.CDPError{Code: codeInvalidParams, Message: noTarget}}
			case "P":
				c.reply(m, map[string]any{"targetInfo": page})
			default:
				c.reply(m, map[string]any{"targetInfo": target{ID: "C", Type: "page", URL: "chrome://settings"}})
			}
		case "Target.attachToTarget":
			c.attach("", "S", page)
			c.reply(m, map[string]any{"sessionId": "S"})
		default:
			return false
		}
		return true
	}
	s, address := serve(t, Options{Browser: b})
	c := dial(t, address+"/devtools/page/P", "")
	if m := c.try("", "Page.enable", nil); m.Session != "" || m.Error != nil {
		t.Errorf("%+v", m)
	}
	conn := b.conn()
	if m := conn.sent[len(conn.sent)-1]; m.SessionID != "S" || m.Method != "Page.enable" {
		t.Errorf("sent %+v", m)
	}
	if m := c.try("S", "Page.enable", nil); m.Error == nil || m.Error.Code != codeNoSession {
		t.Errorf("%+v", m)
	}
	conn.emit("", "Target.targetCreated", map[string]any{"targetInfo": page}) // of the browser's session
	conn.emit("S", "Page.loadEventFired", nil)
	if m := c.next(); m.Method != "Page.loadEventFired" || m.Session != "" {
		t.Errorf("%+v", m)
	}
	conn.attach("S", "F", target{ID: "I", Type: "iframe", URL: "http://127.0.0.1/"})
	c.event("Target.attachedToTarget", nil)
	if m := c.try("F", "Page.enable", nil); m.Session != "F" || m.Error != nil {
		t.Errorf("%+v", m)
	}
	if list := s.Clients(); len(list) != 1 || list[0].Page != "P" {
		t.Errorf("%+v", list)
	}
	conn.emit("", "Target.detachedFromTarget", map[string]any{"sessionId": "S"})
	if m := c.next(); m.Method != "Inspector.detached" {
		t.Errorf("%+v", m)
	}
	if _, _, err := c.ws.Read(await.Context(t)); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		t.Error(err)
	}
	for _, id := range []string{"C", "UNKNOWN"} { // C is a page of the browser
		if _, status, err := tryDial(t, address+"/devtools/page/"+id, http.Header{}); err == nil || status != http.StatusNotFound {
			t.Errorf("%s: status %d, %v", id, status, err)
		}
	}
	waitForNoClients(t, s)
}

// TestFlood sends commands without reading replies, and checks that another client is served and
// that the end of the flood frees everything.
func TestFlood(t *testing.T) {
	b := newFake()
	s, address := serve(t, Options{Browser: b})
	flood := dial(t, address+"/devtools/browser/x", "")
	done := make(chan struct{})
	go func() {
		defer close(done)
		for flood.ws.Write(t.Context(), websocket.MessageText, []byte(`{"id":1,"method":"Browser.getVersion"}`)) == nil {
		}
	}()
	c := dial(t, address+"/devtools/browser/x", "")
	for range 100 {
		c.call("", "Browser.getVersion", nil)
	}
	id := s.Clients()[0].ID
	s.Disconnect(id)
	await.Receive(t, "the end of the flood", done)
	c.call("", "Browser.getVersion", nil)
}

// TestDisconnectBeforeStart checks that a client that is disconnected while it connects is closed, and
// that Disconnect and Close do not wait for it forever.
func TestDisconnectBeforeStart(t *testing.T) {
	b := newFake()
	s, address := serve(t, Options{Browser: b})
	b.connecting = func() {
		s.mu.Lock()
		c := s.clients[0]
		s.mu.Unlock()
		c.end(websocket.StatusGoingAway, "disconnected by the user")
	}
	for range 20 {
		c := dial(t, address+"/devtools/browser/x", "")
		if _, data, err := c.ws.Read(await.Context(t)); err == nil || !strings.Contains(err.Error(), "disconnected by the user") {
			t.Fatalf("%s %v", data, err)
		}
		s.Disconnect("")
	}
}

// TestScreencast forwards 100 MiB of screencast frames, which take no memory afterward.
func TestScreencast(t *testing.T) {
	const frames, frameSize = 400, 256 << 10
	forward := newScreencast(t, frameSize)
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	forward(frames)
	if grown := int64(heap()) - int64(before); grown > 4<<20 {
		t.Errorf("the heap grew by %d KiB", grown>>10)
	}
}

// BenchmarkScreencast forwards screencast frames. A screencast needs 20 MB/s.
func BenchmarkScreencast(b *testing.B) {
	const frameSize = 256 << 10
	forward := newScreencast(b, frameSize)
	b.SetBytes(frameSize)
	b.ResetTimer()
	forward(b.N)
}

// newScreencast returns a function that sends frames of a screencast from the browser, and reads
// them as a client.
func newScreencast(t testing.TB, frameSize int) (forward func(frames int)) {
	t.Helper()
	c, conn := attachPage(t, Options{Browser: newFake()})
	frame := encode(map[string]any{"data": strings.Repeat("x", frameSize), "sessionId": 1})
	return func(frames int) {
		t.Helper()
		go func() {
			for range frames {
				conn.queue <- executor.CDPMessage{SessionID: "S", Method: "Page.screencastFrame", Params: frame}
			}
		}()
		ctx := await.Context(t)
		for range frames {
			_, r, err := c.ws.Reader(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := io.Copy(io.Discard, r); err != nil || n < int64(frameSize) {
				t.Fatalf("a frame of %d bytes: %v", n, err)
			}
		}
	}
}
