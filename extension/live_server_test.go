package extension_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/websocket"

	"github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// A fakeServer implements the server's side of the protocol with package wire. It decodes
// the extension's messages as strictly as the bridge does.
type fakeServer struct {
	t       testing.TB
	http    *httptest.Server
	port    int
	name    string
	version string
	given   bool              // whether it sees only tabs that were given to it
	keys    map[string][]byte // by key of the hello
	own     []byte            // the key that a pairing string is exchanged for
	conns   chan *fakeConn    // authenticated connections

	mu     sync.Mutex // guards the fields below
	policy wire.Policy
	hold   chan struct{} // handshakes wait until it is closed; nil if they do not
	refuse string        // the message with which handshakes are rejected, if any
	fails  []string      // why handshakes failed
	live   []*fakeConn
}

func newServer(t testing.TB, name string, policy wire.Policy) *fakeServer {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return newServerAt(t, name, policy, l)
}

// usualPort listens on one of the default ports that the extension probes.
func usualPort(t testing.TB) net.Listener {
	t.Helper()
	for port := wire.FirstPort; port <= wire.LastPort; port++ {
		if l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return l
		}
	}
	t.Fatal("all default ports are in use")
	return nil
}

func newServerAt(t testing.TB, name string, policy wire.Policy, at net.Listener) *fakeServer {
	t.Helper()
	s := &fakeServer{
		t: t, name: name, version: "test", policy: policy, conns: make(chan *fakeConn, 16),
		keys: map[string][]byte{wire.KeyToken: wire.NewKey()},
	}
	s.http = httptest.NewUnstartedServer(websocket.Server{Handler: s.serve})
	s.http.Listener.Close()
	s.http.Listener = at
	s.http.Start()
	s.port = s.http.Listener.Addr().(*net.TCPAddr).Port
	t.Cleanup(s.stop)
	return s
}

// stop stops the server as if its process exited.
func (s *fakeServer) stop() {
	s.mu.Lock()
	live := s.live
	s.live = nil
	s.mu.Unlock()
	for _, c := range live {
		c.ws.Close()
		<-c.done
	}
	s.http.Close()
}

func (s *fakeServer) serve(ws *websocket.Conn) {
	c := &fakeConn{s: s, ws: ws, done: make(chan struct{}), pending: map[string]chan answer{}, changed: make(chan struct{})}
	ws.MaxPayloadBytes = wire.MaxMessage
	if err := c.handshake(); err != nil {
		s.mu.Lock()
		s.fails = append(s.fails, err.Error())
		s.mu.Unlock()
		return
	}
	s.mu.Lock()
	s.live = append(s.live, c)
	s.mu.Unlock()
	s.conns <- c
	c.read()
}

// next waits for the next connection.
func (s *fakeServer) next(t testing.TB) *fakeConn {
	t.Helper()
	defer func() {
		if t.Failed() {
			s.mu.Lock()
			defer s.mu.Unlock()
			t.Logf("failed handshakes: %v", s.fails)
		}
	}()
	return await.Receive(t, "the extension to connect to "+s.name, s.conns)
}

// A fakeConn is one connection of the extension.
type fakeConn struct {
	s            *fakeServer
	ws           *websocket.Conn
	installation string
	run          string        // run id of the browser
	done         chan struct{} // closed when it ended

	mu      sync.Mutex // guards the fields below
	pending map[string]chan answer
	events  []event
	changed chan struct{} // closed and replaced with each event
}

type answer struct {
	data json.RawMessage
	err  *wire.Problem
}

type event struct {
	name string
	data json.RawMessage
}

func (c *fakeConn) receive() (wire.Message, error) {
	var text string
	if err := websocket.Message.Receive(c.ws, &text); err != nil {
		return nil, err
	}
	return wire.Decode([]byte(text))
}

func (c *fakeConn) send(f wire.Message) error {
	data, err := wire.Encode(f)
	if err != nil {
		return err
	}
	return websocket.Message.Send(c.ws, string(data))
}

func (c *fakeConn) handshake() error {
	f, err := c.receive()
	if err != nil {
		return err
	}
	hello, ok := f.(*wire.Hello)
	if !ok {
		return fmt.Errorf("got %s, want hello", f.Type())
	}
	c.s.mu.Lock()
	hold, refuse := c.s.hold, c.s.refuse
	c.s.mu.Unlock()
	if hold != nil {
		<-hold
	}
	if refuse != "" {
		c.send(&wire.Rejection{Reason: wire.ReasonNotPaired, Message: refuse})
		return errors.New(refuse)
	}
	key := c.s.keys[hello.Key]
	if key == nil {
		c.send(&wire.Rejection{Reason: wire.ReasonNotPaired, Message: "this browser is not paired"})
		return errors.New("no key of kind " + hello.Key)
	}
	nonceC, err := wire.DecodeKey(hello.Nonce)
	if err != nil {
		return err
	}
	if hello.Ext.ID != extension.ID() {
		return fmt.Errorf("extension %s", hello.Ext.ID)
	}
	c.installation, c.run = hello.Installation, hello.Run
	tr := &wire.Transcript{ExtensionID: hello.Ext.ID, Installation: hello.Installation, Port: c.s.port, NonceC: nonceC, NonceS: wire.NewKey()}
	if err := c.send(&wire.Challenge{Nonce: wire.EncodeKey(tr.NonceS), MAC: tr.ServerMAC(key)}); err != nil {
		return err
	}
	if f, err = c.receive(); err != nil {
		return err
	}
	proof, ok := f.(*wire.Proof)
	if !ok || !tr.VerifyClient(key, proof.MAC) {
		return errors.New("the proof is wrong")
	}
	c.s.mu.Lock()
	policy := c.s.policy
	c.s.mu.Unlock()
	w := &wire.Welcome{
		Session: "s1", Server: wire.Server{Version: c.s.version, PID: c.s.port, Name: c.s.name},
		HeartbeatMs: wire.Heartbeat.Milliseconds(), Policy: policy,
	}
	if hello.Key == wire.KeyPairing {
		c.s.own = wire.NewKey()
		c.s.keys[wire.KeyPaired] = c.s.own
		delete(c.s.keys, wire.KeyPairing)
		w.Pairing = &wire.Pairing{Key: tr.Seal(key, c.s.own)}
	}
	return c.send(w)
}

func (c *fakeConn) read() {
	defer close(c.done)
	for {
		f, err := c.receive()
		if err != nil {
			var bad *wire.VersionError
			if errors.As(err, &bad) {
				c.s.t.Error(err)
			}
			c.mu.Lock()
			for _, ch := range c.pending {
				ch <- answer{err: &wire.Problem{Code: "EXTENSION_DISCONNECTED", Message: err.Error()}}
			}
			c.pending = nil
			c.mu.Unlock()
			return
		}
		c.mu.Lock()
		switch f := f.(type) {
		case *wire.Result:
			c.deliver(f.ID, answer{data: f.Data})
		case *wire.Failure:
			c.deliver(f.ID, answer{err: &f.Error})
		case *wire.Event:
			c.events = append(c.events, event{f.Event, f.Data})
			close(c.changed)
			c.changed = make(chan struct{})
		}
		c.mu.Unlock()
	}
}

// deliver passes a result to its waiting caller. c.mu must be held.
func (c *fakeConn) deliver(id string, a answer) {
	if ch := c.pending[id]; ch != nil {
		delete(c.pending, id)
		ch <- a
	}
}

// start sends a command.
func (c *fakeConn) start(method string, params any) <-chan answer {
	raw, err := json.Marshal(params)
	if err != nil {
		panic(err)
	}
	ch := make(chan answer, 1)
	id := wire.NewID()
	c.mu.Lock()
	if c.pending == nil {
		ch <- answer{err: &wire.Problem{Code: "EXTENSION_DISCONNECTED"}}
		c.mu.Unlock()
		return ch
	}
	c.pending[id] = ch
	c.mu.Unlock()
	if err := c.send(&wire.Command{ID: id, Method: method, Params: raw, TimeoutMs: 30000}); err != nil {
		c.mu.Lock()
		c.deliver(id, answer{err: &wire.Problem{Code: "EXTENSION_DISCONNECTED", Message: err.Error()}})
		c.mu.Unlock()
	}
	return ch
}

// try runs a command and returns its result.
func (c *fakeConn) try(t *testing.T, method string, params any) (json.RawMessage, *wire.Problem) {
	t.Helper()
	a := await.Receive(t, "a response to "+method, c.start(method, params))
	return a.data, a.err
}

// call runs a command that must succeed, and decodes its result strictly into
// result if that is a type of package wire.
func (c *fakeConn) call(t *testing.T, method string, params, result any) {
	t.Helper()
	data, problem := c.try(t, method, params)
	if problem != nil {
		t.Fatalf("%s %+v: %s: %s", method, params, problem.Code, problem.Message)
	}
	if result == nil {
		return
	}
	if err := wire.Unmarshal(data, result); err != nil {
		t.Fatalf("%s answered %s: %v", method, data, err)
	}
}

// cdp runs a CDP command.
func (c *fakeConn) cdp(t *testing.T, tab int, method string, params map[string]any) json.RawMessage {
	t.Helper()
	data, problem := c.try(t, wire.MethodCDP, command(tab, method, params))
	if problem != nil {
		t.Fatalf("%s: %s: %s", method, problem.Code, problem.Message)
	}
	return data
}

// refused runs a command that must fail with a code, and returns the message.
func (c *fakeConn) refused(t *testing.T, code string, method string, params any) string {
	t.Helper()
	data, problem := c.try(t, method, params)
	if problem == nil {
		t.Fatalf("%s %+v succeeded: %s", method, params, data)
	}
	if string(problem.Code) != code {
		t.Fatalf("%s %+v: %s: %s, want %s", method, params, problem.Code, problem.Message, code)
	}
	return problem.Message
}

func command(tab int, method string, params map[string]any) map[string]any {
	if params == nil {
		params = map[string]any{}
	}
	return map[string]any{"tabId": tab, "method": method, "params": params}
}

// await waits for an event after the mark.
func (c *fakeConn) await(t *testing.T, mark int, what string, ok func(event) bool) event {
	t.Helper()
	deadline := time.After(await.HangLimit)
	for {
		c.mu.Lock()
		events, changed := c.events, c.changed
		c.mu.Unlock()
		for _, e := range events[mark:] {
			if ok(e) {
				return e
			}
		}
		select {
		case <-changed:
		case <-deadline:
			var seen []string
			for _, e := range events[mark:] {
				seen = append(seen, e.name+" "+string(e.data[:min(len(e.data), 120)]))
			}
			t.Fatalf("no event: %s; there were %q", what, seen)
		}
	}
}

// mark returns the number of events received.
func (c *fakeConn) mark() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.events)
}

// named matches an event with a name for a tab.
func named(name string, tab int) func(event) bool {
	return func(e event) bool {
		var d struct {
			TabID int `json:"tabId"`
		}
		return e.name == name && json.Unmarshal(e.data, &d) == nil && d.TabID == tab
	}
}

// unshared matches a tab_unshared event with a reason.
func unshared(tab int, reason string) func(event) bool {
	return func(e event) bool {
		var d wire.TabUnshared
		return e.name == wire.EventTabUnshared && wire.Unmarshal(e.data, &d) == nil && d.TabID == tab && d.Reason == reason
	}
}

// A site is a web server that counts hits by path.
type site struct {
	*httptest.Server
	mu   sync.Mutex
	hits map[string]int
}

func newSite(t testing.TB) *site {
	s := &site{hits: map[string]int{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.hits[r.Host+r.URL.Path]++
		s.mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		title := r.URL.Path
		if named := r.URL.Query().Get("title"); named != "" {
			title = named
		}
		fmt.Fprintf(w, "<!doctype html><meta charset=utf-8><title>%s</title><h1>%[1]s</h1>", html.EscapeString(title))
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *site) port() int { return s.Listener.Addr().(*net.TCPAddr).Port }

// at returns a URL of the site under a host name.
func (s *site) at(host, path string) string {
	return fmt.Sprintf("http://%s:%d%s", host, s.port(), path)
}

func (s *site) count(host, path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hits[fmt.Sprintf("%s:%d%s", host, s.port(), path)]
}
