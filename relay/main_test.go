package relay

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/leakcheck"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

func TestMain(m *testing.M) {
	timing.ScaleForTests(5)
	os.Exit(leakcheck.Run(m))
}

// onlyHost is a Policy that allows one host.
type onlyHost string

func (h onlyHost) CheckDocument(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	if u.Hostname() != string(h) {
		return executor.Errorf(executor.ErrPolicyDenied, "Use an allowed host.", "the policy does not allow the host %s", u.Hostname())
	}
	return nil
}

func (h onlyHost) CheckCookies(scheme, host string) error {
	return h.CheckDocument(scheme + "://" + host + "/")
}

// entries is a Recorder that keeps the entries.
type entries struct {
	mu      sync.Mutex // guards the fields below
	list    []audit.Entry
	failing error
}

func (e *entries) Ready() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.failing
}

func (e *entries) Record(x audit.Entry) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, x)
}

// of returns the entries of a tool.
func (e *entries) of(tool string) []audit.Entry {
	e.mu.Lock()
	defer e.mu.Unlock()
	var found []audit.Entry
	for _, x := range e.list {
		if x.Tool == tool {
			found = append(found, x)
		}
	}
	return found
}

// serve starts a server and returns its URL with the secret path.
func serve(t testing.TB, o Options) (*Server, string) {
	t.Helper()
	if o.Policy == nil {
		o.Policy = onlyHost("127.0.0.1")
	}
	s, err := New(&o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-done; !errors.Is(err, net.ErrClosed) {
			t.Errorf("Serve returned %v", err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return s, "http://" + l.Addr().String() + s.Path()
}

// waitForNoClients waits until the clients that are connected have disconnected.
func waitForNoClients(t testing.TB, s *Server) {
	t.Helper()
	s.mu.Lock()
	clients := slices.Clone(s.clients)
	s.mu.Unlock()
	for _, c := range clients {
		await.Receive(t, "the end of client "+c.info.Name, c.ended)
	}
}

// A message is what a client sends or receives.
type message struct {
	ID      int64              `json:"id,omitempty"`
	Method  string             `json:"method,omitempty"`
	Session string             `json:"sessionId,omitempty"`
	Params  json.RawMessage    `json:"params,omitempty"`
	Result  json.RawMessage    `json:"result,omitempty"`
	Error   *executor.CDPError `json:"error,omitempty"`
}

// A testClient is a client of the relay, or of a browser.
type testClient struct {
	t      testing.TB
	ws     *websocket.Conn
	id     int64
	events []message
}

// dial connects a client to the WebSocket at address.
func dial(t testing.TB, address, userAgent string) *testClient {
	t.Helper()
	c, status, err := tryDial(t, address, http.Header{"User-Agent": {userAgent}})
	if err != nil {
		t.Fatalf("status %d: %v", status, err)
	}
	return c
}

func tryDial(t testing.TB, address string, header http.Header) (*testClient, int, error) {
	ws, res, err := websocket.Dial(await.Context(t), strings.Replace(address, "http", "ws", 1), &websocket.DialOptions{HTTPHeader: header})
	status := 0
	if res != nil {
		status = res.StatusCode
	}
	if err != nil {
		return nil, status, err
	}
	ws.SetReadLimit(256 << 20)
	t.Cleanup(func() { ws.CloseNow() })
	return &testClient{t: t, ws: ws}, status, nil
}

// raw sends text.
func (c *testClient) raw(data string) {
	c.t.Helper()
	if err := c.ws.Write(await.Context(c.t), websocket.MessageText, []byte(data)); err != nil {
		c.t.Fatal(err)
	}
}

// next returns the next message.
func (c *testClient) next() message {
	c.t.Helper()
	_, data, err := c.ws.Read(await.Context(c.t))
	if err != nil {
		c.t.Fatal(err)
	}
	var m message
	if err := json.Unmarshal(data, &m); err != nil {
		c.t.Fatalf("%v in %.300s", err, data)
	}
	return m
}

// send sends a command and returns its id.
func (c *testClient) send(session, method string, params any) int64 {
	c.t.Helper()
	c.id++
	m := message{ID: c.id, Session: session, Method: method}
	if params != nil {
		m.Params = encode(params)
	}
	c.raw(string(encode(m)))
	return c.id
}

// try sends a command and returns its reply. It keeps the events before the reply.
func (c *testClient) try(session, method string, params any) message {
	c.t.Helper()
	id := c.send(session, method, params)
	for {
		m := c.next()
		if m.ID == id {
			return m
		}
		c.events = append(c.events, m)
	}
}

// call sends a command that must succeed, and returns its result.
func (c *testClient) call(session, method string, params any) map[string]any {
	c.t.Helper()
	m := c.try(session, method, params)
	if m.Error != nil {
		c.t.Fatalf("%s: %+v", method, m.Error)
	}
	return object(m.Result)
}

// denied sends a command that must fail with an error that contains text.
func (c *testClient) denied(session, method string, params any, text string) {
	c.t.Helper()
	m := c.try(session, method, params)
	if m.Error == nil || !strings.Contains(m.Error.Message, text) {
		c.t.Errorf("%s %s: %s %+v, want an error with %q", method, encode(params), m.Result, m.Error, text)
	}
}

// event returns the next event of a method for which match, if it is not nil, returns true.
func (c *testClient) event(method string, match func(map[string]any) bool) map[string]any {
	c.t.Helper()
	for i := 0; ; i++ {
		if i == len(c.events) {
			c.events = append(c.events, c.next())
		}
		if m := c.events[i]; m.Method == method {
			p := object(m.Params)
			if match == nil || match(p) {
				c.events = append(c.events[:i:i], c.events[i+1:]...)
				return p
			}
		}
	}
}

// get requests a URL and returns the status and the body.
func get(t testing.TB, method, address string, change func(*http.Request)) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(await.Context(t), method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(req)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(res.Body); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, b.String()
}
