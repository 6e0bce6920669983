package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
)

var (
	ann = &Principal{Name: "ann", Settings: Settings{"--allow-domain": {"example.com"}}, MaxSessions: 2}
	bob = &Principal{Name: "bob", Settings: Settings{}}
)

// A harness sends requests to a server without a connection.
type harness struct {
	t      *testing.T
	server *Server
	opened []string                                                     // principal/name
	limits map[string]func(context.Context) (release func(), err error) // of the sessions
	hold   chan struct{}                                                // requests wait until it is closed; nil means no wait
	ending chan struct{}                                                // the same for Close of a session

	handedOver atomic.Bool // a page of each session is handed over to the user

	mu     sync.Mutex // guards the field below
	closed []string
}

func newHarness(t *testing.T, opts Options) *harness {
	h := &harness{t: t, limits: map[string]func(context.Context) (func(), error){}}
	opts.Open = func(r OpenRequest) (Workspace, error) {
		name := r.Principal + "/" + r.Name
		h.opened = append(h.opened, name)
		h.limits[name] = r.Limit
		return &heldWorkspace{h, name}, nil
	}
	h.server = New(opts)
	return h
}

// A heldWorkspace answers each request with its principal and name.
type heldWorkspace struct {
	h    *harness
	name string
}

func (s *heldWorkspace) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if s.h.hold != nil {
		<-s.h.hold
	}
	fmt.Fprint(w, s.name)
}

func (s *heldWorkspace) ServeTool(w http.ResponseWriter, r *http.Request, tool string) {
	s.ServeHTTP(w, r)
	fmt.Fprint(w, " "+tool)
}

func (s *heldWorkspace) HasState() bool { return true }

func (s *heldWorkspace) HandedOver() bool { return s.h.handedOver.Load() }

func (s *heldWorkspace) ServeStream(stream io.ReadWriteCloser) error { return stream.Close() }

func (s *heldWorkspace) ServeDevTools(w http.ResponseWriter, r *http.Request) error {
	if r.URL.Path == "/json/none" {
		return errs.Errorf(errs.ErrBadArgs, "", "no CDP clients")
	}
	s.ServeHTTP(w, r)
	fmt.Fprint(w, " "+r.URL.Path)
	return nil
}

func (s *heldWorkspace) Close(string) error {
	if s.h.ending != nil {
		<-s.h.ending
	}
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	s.h.closed = append(s.h.closed, s.name)
	return nil
}

// wantClosed checks which sessions were closed.
func (h *harness) wantClosed(names ...string) {
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Equal(h.closed, names) {
		h.t.Errorf("closed %v, want %v", h.closed, names)
	}
}

// send sends a request of a principal and returns the status and the text of the response. headers
// are names and values.
func (h *harness) send(p *Principal, method, path, body string, headers ...string) (int, string, http.Header) {
	h.t.Helper()
	r := httptest.NewRequestWithContext(withPrincipal(h.t.Context(), p), method, path, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.server.handler().ServeHTTP(w, r)
	return w.Code, strings.TrimSpace(w.Body.String()), w.Header()
}

// want sends a request and checks the status and the text of the response.
func (h *harness) want(status int, text string, p *Principal, method, path string, headers ...string) {
	h.t.Helper()
	body := ""
	switch {
	case method == http.MethodPut:
		body = "{}"
	case method == http.MethodPost && path == mcpPath:
		body = ping
	}
	if got, answer, _ := h.send(p, method, path, body, headers...); got != status || !strings.Contains(answer, text) {
		h.t.Errorf("%s: %s %s %v: %d %s, want %d with %q", p.Name, method, path, headers, got, answer, status, text)
	}
}

// ping is a JSON-RPC request.
const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// call are the headers of a call with protocol version 2026-07-28.
var call = []string{"Mcp-Method", "tools/call"}

// TestPrincipalsSeeOnlyTheirSessions uses names of other principals' sessions on every route.
func TestPrincipalsSeeOnlyTheirSessions(t *testing.T) {
	h := newHarness(t, Options{})
	h.want(200, "ann/default", ann, "POST", "/mcp")
	h.want(200, "ann/shop", ann, "POST", "/mcp", SessionHeader, "shop")
	h.want(204, "", osUser, "PUT", "/v1/sessions/mine")

	for _, p := range []*Principal{bob, osUser} {
		h.want(404, "not found", p, "POST", "/mcp", SessionHeader, "shop", "Mcp-Session-Id", "of-ann")
		h.want(404, "not found", p, "GET", "/mcp", SessionHeader, "shop")
		h.want(404, "not found", p, "DELETE", "/mcp", SessionHeader, "shop", "Mcp-Session-Id", "of-ann")
		h.want(404, "not found", p, "DELETE", "/v1/sessions/shop")
	}
	h.want(404, "not found", osUser, "POST", "/v1/sessions/shop/tools/snapshot")
	for _, path := range []string{"/json", "/json/version", "/devtools/browser/1"} {
		h.want(404, "not found", osUser, "GET", path, SessionHeader, "shop")
		h.want(200, "ann/shop "+path, ann, "GET", path, SessionHeader, "shop")
	}
	h.want(200, "ann/default /json/list", ann, "GET", "/json/list")
	h.want(200, "ann/shop /json/clients", ann, "GET", "/json/clients", SessionHeader, "shop")
	h.want(404, "not found", bob, "GET", "/json/clients", SessionHeader, "shop")
	h.want(404, "not found", bob, "GET", "/json/clients", SessionHeader, "shop@ann")
	h.want(404, "not found", osUser, "DELETE", "/json/clients/1", SessionHeader, "shop")
	h.want(200, "ann/shop /json/clients/1", osUser, "DELETE", "/json/clients/1", SessionHeader, "shop@ann")
	h.want(404, "not found", osUser, "GET", "/json/version", SessionHeader, "shop@ann")
	h.want(404, "not found", ann, "GET", "/json/clients", SessionHeader, "unopened")
	h.want(400, "no CDP clients", ann, "GET", "/json/none")
	h.want(200, "ann/shop snapshot", ann, "POST", "/v1/sessions/shop/tools/snapshot")
	h.want(404, "not found", ann, "DELETE", "/v1/sessions/mine")
	h.want(404, "not found", osUser, "POST", "/mcp", SessionHeader, "shop")
	h.want(404, "not found", osUser, "POST", "/v1/sessions/shop/stream")
	h.want(200, "[]", bob, "GET", "/v1/sessions")
	h.want(200, `"sessions":0`, bob, "GET", "/v1/server")
	h.want(200, `"sessions":2`, ann, "GET", "/v1/server")
	h.want(403, "POLICY_DENIED", ann, "POST", "/v1/server/stop")

	// The same name is another session.
	h.want(200, "bob/shop", bob, "POST", "/mcp", SessionHeader, "shop")
	h.want(200, "bob/shop /devtools/browser/1", bob, "GET", "/devtools/browser/1", SessionHeader, "shop")
	h.want(204, "", osUser, "PUT", "/v1/sessions/shop")
	h.want(200, "/shop", osUser, "POST", "/mcp", SessionHeader, "shop")
	h.want(204, "", bob, "DELETE", "/v1/sessions/shop")
	h.want(200, "ann/shop", ann, "POST", "/mcp", SessionHeader, "shop", "Mcp-Session-Id", "of-ann")
	if got := strings.Join(h.opened, " "); got != "ann/default ann/shop /mine bob/shop /shop" {
		t.Errorf("opened %s", got)
	}
}

// TestSessionsOfTokens checks that only the operating-system user can list and close the sessions
// of other principals.
func TestSessionsOfTokens(t *testing.T) {
	h := newHarness(t, Options{})
	for _, p := range []*Principal{ann, bob} {
		h.want(204, "", p, "PUT", "/v1/sessions/shop")
	}
	h.want(204, "", osUser, "PUT", "/v1/sessions/mine")
	h.want(200, `{"name":"shop","principal":"bob"`, osUser, "GET", "/v1/sessions?all=true")
	for _, path := range []string{"/v1/sessions", "/v1/sessions?all=false"} {
		if _, body, _ := h.send(osUser, "GET", path, ""); strings.Contains(body, "shop") || !strings.Contains(body, "mine") {
			t.Errorf("%s: %s", path, body)
		}
	}
	if _, body, _ := h.send(ann, "GET", "/v1/sessions?all=true", ""); strings.Contains(body, "bob") || strings.Contains(body, "mine") || !strings.Contains(body, "shop") {
		t.Errorf("of a token: %s", body)
	}
	h.want(400, "unknown query parameter", ann, "GET", "/v1/sessions?al=true")
	h.want(404, "not found", ann, "DELETE", "/v1/sessions/shop@bob")
	h.want(204, "", osUser, "DELETE", "/v1/sessions/shop@bob")
	h.want(404, "not found", osUser, "DELETE", "/v1/sessions/shop@bob")
	h.want(404, "not found", osUser, "DELETE", "/v1/sessions/shop")
	h.wantClosed("bob/shop")
}

// TestPrincipalSettings checks that a principal cannot choose the settings of its sessions.
func TestPrincipalSettings(t *testing.T) {
	h := newHarness(t, Options{})
	if _, answer, _ := h.send(ann, "PUT", "/v1/sessions/a", `{"--allow-domain":["example.org"]}`); strings.Contains(answer, "example.com") {
		t.Errorf("the error shows the settings of the token: %s", answer)
	}
	for body, want := range map[string]int{`{}`: 204, `{"--allow-domain":["example.com"]}`: 204, `{"--allow-domain":["example.org"]}`: 400, `{"--enable-mutations":["true"]}`: 400} {
		if got, answer, _ := h.send(ann, "PUT", "/v1/sessions/a", body); got != want {
			t.Errorf("%s: %d %s", body, got, answer)
		}
	}
	ws, release, err := h.server.use(withPrincipal(t.Context(), ann), clientID{}, "a", mustBeOpen)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if fmt.Sprint(ws.settings) != fmt.Sprint(ann.Settings) {
		t.Errorf("the settings are %v", ws.settings)
	}
	h.want(400, "invalid session name", ann, "PUT", "/v1/sessions/..x")
	// The names of settings are quoted, which can be anything.
	_, body, _ := h.send(ann, "PUT", "/v1/sessions/q", `{"--no-such\n\u001b[31m": ["x"], "--no-other": ["y"]}`)
	var failed failure
	if err := json.Unmarshal([]byte(body), &failed); err != nil || failed.Error.Message != `the token sets --no-other, "--no-such\n\x1b[31m" to other values` {
		t.Errorf("%q, %v", failed.Error.Message, err)
	}
	h.want(404, "not found", ann, "POST", "/mcp", SessionHeader, "..x")
}

// TestSessionLimits reaches the limits of a principal and of the server. Only the
// second error is retryable.
func TestSessionLimits(t *testing.T) {
	h := newHarness(t, Options{MaxSessions: 4})
	for _, name := range []string{"a", "b"} {
		h.want(200, "ann/"+name, ann, "POST", "/mcp", SessionHeader, name)
		h.want(204, "", osUser, "PUT", "/v1/sessions/"+name)
	}
	for text, p := range map[string]*Principal{"2 sessions are open": ann, "4 sessions are open, the maximum of the server": bob} {
		code, body, header := h.send(p, "POST", "/mcp", ping, SessionHeader, "c")
		if code != http.StatusTooManyRequests || !strings.Contains(body, "BACKPRESSURE: ") || !strings.Contains(body, text) || (header.Get("Retry-After") != "") != (p == bob) {
			t.Errorf("%s: %d %s, Retry-After %q", p.Name, code, body, header.Get("Retry-After"))
		}
	}
	h.want(204, "", ann, "DELETE", "/v1/sessions/a")
	h.want(200, "ann/c", ann, "POST", "/mcp", SessionHeader, "c")
}

// TestIdleSession checks when a session ends because no client uses it, and what later requests
// get.
func TestIdleSession(t *testing.T) {
	const idle = 15 * time.Minute
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Options{SessionIdle: idle})
		for _, path := range []string{"/v1/sessions/a", "/v1/sessions/kept?keep=true"} {
			h.want(204, "", osUser, "PUT", path)
		}
		time.Sleep(idle - time.Second)
		h.want(204, "", osUser, "PUT", "/v1/sessions/a")
		if infos := h.server.list(osUser, false); !infos[0].LastUsed.Equal(time.Now()) {
			t.Errorf("the last request was at %v, want %v", infos[0].LastUsed, time.Now())
		}
		time.Sleep(idle - time.Second)
		h.want(200, "/a", osUser, "POST", "/mcp", SessionHeader, "a")
		time.Sleep(idle - time.Second)
		if infos := h.server.list(osUser, false); len(infos) != 2 || time.Until(infos[0].Ends) != time.Second || !infos[1].Ends.IsZero() {
			t.Errorf("sessions %+v", infos)
		}

		// A request in progress and a running call keep the session open.
		h.hold = make(chan struct{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			h.want(200, "/a", osUser, "POST", "/mcp", SessionHeader, "a")
		}()
		time.Sleep(3 * idle)
		release, err := h.limits["/a"](t.Context())
		if err != nil {
			t.Fatal(err)
		}
		close(h.hold)
		<-done
		if infos := h.server.list(osUser, false); !infos[0].Ends.IsZero() {
			t.Errorf("a session in use ends %v", infos[0].Ends)
		}
		time.Sleep(3 * idle)
		release()

		// So does a page that is handed over to the user.
		h.handedOver.Store(true)
		time.Sleep(3*idle + 1)
		h.handedOver.Store(false)
		h.wantClosed()
		time.Sleep(idle - 2)
		h.wantClosed()
		time.Sleep(2 * time.Nanosecond)
		synctest.Wait()
		h.wantClosed("/a")
		for range 2 {
			h.want(404, `SESSION_ENDED: session \"a\" ended: it was idle for 15m0s. Open it again`, osUser, "POST", "/mcp", SessionHeader, "a")
			h.want(404, "idle for 15m0s", osUser, "POST", "/v1/sessions/a/stream")
			h.want(404, `"SESSION_ENDED"`, osUser, "POST", "/v1/sessions/a/tools/snapshot")
		}
		h.want(204, "", osUser, "PUT", "/v1/sessions/a?keep=true")
		time.Sleep(100 * idle)
		h.want(200, "/a", osUser, "POST", "/mcp", SessionHeader, "a")
		h.want(200, "/kept", osUser, "POST", "/mcp", SessionHeader, "kept")
	})
}

// TestEndedSessionOpensAgain checks that a principal whose session ended learns about it, and then
// gets a new one.
func TestEndedSessionOpensAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Options{SessionIdle: time.Minute})
		end := func() {
			t.Helper()
			time.Sleep(time.Minute + 1)
			synctest.Wait()
			if len(h.server.list(ann, false)) != 0 {
				t.Fatal("the session is open")
			}
		}
		h.want(200, "ann/default", ann, "POST", "/mcp", call...)
		h.want(200, "ann/default", ann, "POST", "/mcp", call...)
		end()
		for range 2 { // of an earlier MCP session
			h.want(404, "SESSION_ENDED", ann, "POST", "/mcp", "Mcp-Session-Id", "old")
		}
		h.want(404, `SESSION_ENDED: session \"default\" ended: it was idle for 1m0s. Its pages are closed. The next call opens it again`, ann, "POST", "/mcp", call...)
		h.want(200, "ann/default", ann, "POST", "/mcp", call...)
		end()
		h.want(200, "ann/default", ann, "POST", "/mcp") // a new client
		h.want(200, "ann/default", ann, "POST", "/mcp", call...)
		if len(h.opened) != 3 {
			t.Errorf("opened %v", h.opened)
		}
		h.want(204, "", ann, "DELETE", "/v1/sessions/default")
		h.want(404, "a client closed it", ann, "POST", "/mcp", call...)
		h.want(200, "ann/default", ann, "POST", "/v1/sessions/default/tools/snapshot")
		end()
		h.want(404, "The next call opens it again", ann, "POST", "/v1/sessions/default/tools/snapshot")
		h.want(200, "ann/default", ann, "POST", "/v1/sessions/default/tools/snapshot")
	})
}

// TestEachClientLearnsOfEnd checks that every client that used a session which ended gets the
// reason once, also if another client has opened the session again.
func TestEachClientLearnsOfEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Options{SessionIdle: time.Minute})
		const rest = "/v1/sessions/default/tools/snapshot"
		one, two := append(call, "User-Agent", "one"), []string{"User-Agent", "two"}
		mcp := []string{"Mcp-Session-Id", "m"}
		use := func() {
			t.Helper()
			h.want(200, "ann/default", ann, "POST", "/mcp", one...)
			h.want(200, "ann/default", ann, "POST", rest, two...)
			h.want(200, "ann/default", ann, "POST", "/mcp", mcp...)
		}
		const ended = "it was idle for 1m0s"
		use()
		time.Sleep(time.Minute + 1)
		h.want(404, ended, ann, "POST", rest, two...)
		h.want(200, "ann/default", ann, "POST", rest, two...)
		h.want(200, "ann/default", ann, "POST", rest, "User-Agent", "three") // has not used it
		h.want(200, "ann/default", ann, "POST", "/mcp", "Mcp-Method", "tools/list", "User-Agent", "one")
		h.want(404, ended, ann, "POST", "/mcp", one...)
		h.want(404, ended, ann, "POST", "/mcp", mcp...)
		use() // each learned once
		time.Sleep(time.Minute + 1)
		h.want(200, "ann/default", ann, "POST", "/mcp", two...) // initialize of a new client
		time.Sleep(time.Minute + 1)
		h.want(204, "", ann, "PUT", "/v1/sessions/default", "User-Agent", "one") // opens it knowingly
		h.want(200, "ann/default", ann, "POST", "/mcp", one...)
		h.want(404, ended, ann, "POST", "/mcp", mcp...) // of the end before the last
		use()
		if len(h.server.ended) != 1 || len(h.server.ended[0].clients) != 1 { // three
			t.Errorf("ended sessions %+v", h.server.ended)
		}
	})
}

// TestSessionTTL checks that a session ends after its maximum lifetime, also while it is in use.
func TestSessionTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Options{SessionTTL: time.Hour})
		h.want(200, "bob/default", bob, "POST", "/mcp")
		if infos := h.server.list(bob, false); time.Until(infos[0].Ends) != time.Hour {
			t.Errorf("ends %v", infos[0].Ends)
		}
		release, err := h.limits["bob/default"](t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour + 1)
		synctest.Wait()
		h.wantClosed("bob/default")
		release()
		h.want(404, "it reached its maximum lifetime of 1h0m0s", bob, "POST", "/mcp", call...)
	})
}

// TestInvalidBodyOpensNoSession checks that a request which is not a JSON-RPC message opens no
// session.
func TestInvalidBodyOpensNoSession(t *testing.T) {
	h := newHarness(t, Options{})
	for _, body := range []string{"", "{", "junk", "null", "7", `""`, "{}", "[]", "[7]", `{"jsonrpc":"2.0","id":1}`, `{"method":"ping"}`, `{"jsonrpc":"1.0","method":"ping"}`, ping + ping, "[" + ping + ",{}]"} {
		for _, headers := range [][]string{nil, call, {SessionHeader, "other"}} {
			if status, answer, _ := h.send(ann, "POST", "/mcp", body, headers...); status != http.StatusBadRequest || !strings.Contains(answer, "BAD_ARGS: the body is not a JSON-RPC request") {
				t.Errorf("%s %v: %d %s", body, headers, status, answer)
			}
		}
	}
	if len(h.opened) > 0 {
		t.Errorf("opened %v", h.opened)
	}
	for i, body := range []string{ping, " \n" + ping + " ", "[" + ping + "," + ping + "]", `{"jsonrpc":"2.0","method":"notifications/initialized"}`} {
		name := fmt.Sprint("s", i)
		if status, answer, _ := h.send(bob, "POST", "/mcp", body, SessionHeader, name); status != http.StatusOK || answer != "bob/"+name {
			t.Errorf("%s: %d %s", body, status, answer)
		}
	}
}

// TestMCPFailure checks that the clients of the SDK can decode an error of /mcp.
func TestMCPFailure(t *testing.T) {
	h := newHarness(t, Options{})
	for _, id := range []string{`7`, `"x\u0000"`} {
		_, body, _ := h.send(osUser, "POST", "/mcp", `{"jsonrpc":"2.0","id":`+id+`,"method":"ping"}`)
		m, err := jsonrpc.DecodeMessage([]byte(body))
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		if r, ok := m.(*jsonrpc.Response); !ok || r.Error == nil || !strings.Contains(r.Error.Error(), `session "default" not found`) || !strings.Contains(body, `"id":`+id+`,`) {
			t.Errorf("%s is decoded as %+v", body, m)
		}
	}
	for _, request := range []string{"", "junk", `{"id":{}}`, `[1]`} {
		if _, body, _ := h.send(osUser, "POST", "/mcp", request); !strings.Contains(body, `"id":null`) {
			t.Errorf("%s: %s", request, body)
		}
	}
}
