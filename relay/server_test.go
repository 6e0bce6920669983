package relay

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

// TestPathIsSecret checks that all requests that are not below the path, or not for this machine,
// get the same response.
func TestPathIsSecret(t *testing.T) {
	var logs bytes.Buffer
	b := newFake()
	s, address := serve(t, Options{Browser: b, Logger: slog.New(slog.NewTextHandler(&logs, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if len(s.Path()) != 65 || strings.Trim(s.Path()[1:], "0123456789abcdef") != "" {
		t.Errorf("path %q", s.Path())
	}
	base := strings.TrimSuffix(address, s.Path())
	wrong := "/" + strings.Repeat("0", 64)
	status, body := get(t, "GET", base+"/", nil)
	if status != http.StatusNotFound {
		t.Errorf("status %d", status)
	}
	for _, path := range []string{"", "/json/version", "/json/list", "/client-slot", "/devtools/browser/relay", wrong, wrong + "/json/version",
		s.Path()[:64] + "/json/version", s.Path() + "0/json/version", s.Path() + "json/version", strings.ToUpper(s.Path()) + "/json/version", "/x" + s.Path()} {
		for _, method := range []string{"GET", "PUT", "OPTIONS", "POST"} {
			if st, b := get(t, method, base+path, nil); st != status || b != body {
				t.Errorf("%s %s: %d %q", method, path, st, b)
			}
		}
		if _, st, err := tryDial(t, base+path, nil); err == nil || st != status {
			t.Errorf("WebSocket %s: %d %v", path, st, err)
		}
	}
	for _, host := range []string{"evil.com", "evil.com:80", "127.0.0.1.evil.com", "localhost.evil.com", "192.168.1.2"} {
		if st, b := get(t, "GET", address+"/json/version", func(r *http.Request) { r.Host = host }); st != status || b != body {
			t.Errorf("Host %s: %d %q", host, st, b)
		}
	}
	for _, host := range []string{"localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:3", "[::1]"} {
		if st, b := get(t, "GET", address+"/json/version", func(r *http.Request) { r.Host = host }); st != http.StatusOK {
			t.Errorf("Host %s: %d %q", host, st, b)
		}
	}
	for _, origin := range []string{"http://evil.com", "null", "http://127.0.0.1", "chrome-extension://x", ""} {
		header := http.Header{"Origin": {origin}}
		for _, path := range []string{"/json/version", "/json/list", "/client-slot", "/devtools/browser/x"} {
			if st, _ := get(t, "GET", address+path, func(r *http.Request) { r.Header = header }); st != http.StatusForbidden {
				t.Errorf("Origin %q, %s: %d", origin, path, st)
			}
		}
		if _, st, err := tryDial(t, address+"/devtools/browser/x", header); err == nil || st != http.StatusForbidden {
			t.Errorf("Origin %q: %d %v", origin, st, err)
		}
	}
	if _, st, err := tryDial(t, address+"/devtools/browser/x", http.Header{"Origin": {"devtools://devtools"}}); err != nil {
		t.Errorf("DevTools: %d %v", st, err)
	}
	s.Close()
	if text := logs.String(); strings.Contains(text, s.Path()[1:]) || !strings.Contains(text, "client=DevTools") {
		t.Errorf("log:\n%s", text)
	}
}

// TestServeLoopbackOnly checks that a server does not listen on addresses of the network.
func TestServeLoopbackOnly(t *testing.T) {
	s, err := New(&Options{Browser: newFake(), Policy: onlyHost("a.test")})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(l); !errors.Is(err, executor.ErrBadArgs) {
		t.Error(err)
	}
	if _, err := l.Accept(); err == nil {
		t.Error("the listener is open")
	}
	if _, err := New(&Options{Browser: newFake()}); !errors.Is(err, executor.ErrBadArgs) {
		t.Error(err)
	}
}

// TestJSON checks the HTTP endpoints.
func TestJSON(t *testing.T) {
	b := newFake()
	b.respond = func(c *fakeConn, m executor.CDPMessage) bool {
		switch m.Method {
		case "Browser.getVersion":
			c.reply(m, map[string]any{"product": "Chrome/156.0", "protocolVersion": "1.3", "userAgent": "UA", "jsVersion": "15.6", "revision": "@r"})
		case "Target.getTargets":
			c.reply(m, map[string]any{"targetInfos": []target{
				{ID: "P", Type: "page", URL: "http://127.0.0.1/", Title: "<T>"}, {ID: "U", Type: "browser_ui", URL: "chrome://x/"},
				{ID: "C", Type: "page", URL: "chrome://settings/"}, {ID: "E", Type: "page", URL: "chrome-extension://e/"},
			}})
		case "Target.createTarget":
			c.reply(m, map[string]any{"targetId": "N"})
		default:
			return false
		}
		return true
	}
	_, address := serve(t, Options{Browser: b})
	ws := strings.Replace(address, "http", "ws", 1)
	for _, path := range []string{"/json/version", "/json/version/"} {
		_, body := get(t, "GET", address+path, nil)
		if v := object([]byte(body)); v["Browser"] != "Chrome/156.0" || v["Protocol-Version"] != "1.3" || v["V8-Version"] != "15.6" || v["webSocketDebuggerUrl"] != ws+"/devtools/browser/relay" {
			t.Errorf("%s: %s", path, body)
		}
	}
	_, body := get(t, "GET", address+"/json/version", func(r *http.Request) { r.Host = "localhost:77" })
	if v, _ := object([]byte(body))["webSocketDebuggerUrl"].(string); !strings.HasPrefix(v, "ws://localhost:77/") {
		t.Errorf("for another host: %q", v)
	}
	for _, path := range []string{"/json", "/json/", "/json/list"} {
		_, body := get(t, "GET", address+path, nil)
		var list []map[string]string
		if err := json.Unmarshal([]byte(body), &list); err != nil || len(list) != 1 || list[0]["id"] != "P" || list[0]["title"] != "<T>" || list[0]["webSocketDebuggerUrl"] != ws+"/devtools/page/P" {
			t.Errorf("%s: %v %s", path, err, body)
		}
	}
	for _, tt := range []struct {
		method, path string
		status       int
		text         string
	}{
		{"GET", "/json/new?about:blank", http.StatusMethodNotAllowed, "only PUT"},
		{"PUT", "/json/new?http://evil.test/", http.StatusForbidden, "evil.test"},
		{"PUT", "/json/new?file:///etc/passwd", http.StatusForbidden, "scheme"},
		{"PUT", "/json/new?chrome://settings", http.StatusForbidden, "scheme"},
		{"PUT", "/json/new?http%3A%2F%2F127.0.0.1%2Fa", http.StatusOK, `"id": "N"`},
		{"PUT", "/json/new", http.StatusOK, `"url": "about:blank"`},
		{"PUT", "/json/new?http://127.0.0.1/%zz", http.StatusBadRequest, "invalid escape"},
		{"GET", "/json/activate/P", http.StatusOK, "Target activated"},
		{"GET", "/json/close/P", http.StatusOK, "Target is closing"},
		{"GET", "/json/activate/C", http.StatusNotFound, "No such target id: C"},
		{"GET", "/json/close/X", http.StatusNotFound, "No such target id: X"},
		{"GET", "/json/unknown", http.StatusNotFound, ""},
		{"GET", "/devtools/browser/x", http.StatusUpgradeRequired, ""},
		{"GET", "/client-slot", http.StatusOK, `"busy": false`},
		{"GET", "/client-slot", http.StatusOK, `"mode": "multi"`},
	} {
		if status, body := get(t, tt.method, address+tt.path, nil); status != tt.status || !strings.Contains(body, tt.text) {
			t.Errorf("%s %s: %d %s", tt.method, tt.path, status, body)
		}
	}
	page := "P"
	b.handedOver.Store(&page)
	for _, path := range []string{"/json/close/P", "/json/activate/P"} {
		if status, body := get(t, "GET", address+path, nil); status != http.StatusServiceUnavailable || !strings.Contains(body, "the page is handed over to the user") {
			t.Errorf("%s of a page that is handed over: %d %s", path, status, body)
		}
	}
	b.handedOver.Store(nil)
	_, body = get(t, "GET", address+"/json/protocol", nil)
	var schema protocolSchema
	if err := json.Unmarshal([]byte(body), &schema); err != nil || len(schema.Domains) < 30 {
		t.Fatal(err, len(schema.Domains))
	}
	for text, want := range map[string]bool{`"navigate"`: true, `"frameNavigated"`: true, `"loadNetworkResource"`: false, `"Tracing"`: false} {
		if strings.Contains(body, text) != want {
			t.Errorf("/json/protocol contains %s: %v", text, !want)
		}
	}
	b.err = executor.Errorf(executor.ErrLaunchFailed, "Install Chromium.", "no browser")
	if status, body := get(t, "GET", address+"/json/version", nil); status != http.StatusServiceUnavailable || body != "no browser. Install Chromium.\n" {
		t.Errorf("without a browser: %d %s", status, body)
	}
	if _, status, err := tryDial(t, address+"/devtools/browser/x", nil); err == nil || status != http.StatusServiceUnavailable {
		t.Errorf("without a browser: %d %v", status, err)
	}
}

// TestSingle checks that a second client gets 409, and can connect when the first one has left.
func TestSingle(t *testing.T) {
	b := newFake()
	var changes atomic.Int32
	s, address := serve(t, Options{Browser: b, MaxClients: 1, OnClients: func() { changes.Add(1) }})
	start := time.Now()
	first := dial(t, address+"/devtools/browser/x", "Playwright/1.55.0 (x64; debian 12) node/22")
	first.call("", "Browser.getVersion", nil)
	if _, status, err := tryDial(t, address+"/devtools/browser/x", nil); err == nil || status != http.StatusConflict {
		t.Errorf("second client: %d %v", status, err)
	}
	_, body := get(t, "GET", address+"/client-slot", nil)
	if v := object([]byte(body)); v["mode"] != "single" || v["busy"] != true || v["activeClient"] != "Playwright/1.55.0" || v["connectedAt"] == nil {
		t.Error(body)
	}
	if _, body := get(t, "GET", address+"/json/version", nil); !strings.Contains(body, "webSocketDebuggerUrl") || len(b.names) != 1 || b.names[0] != "Playwright/1.55.0" {
		t.Errorf("the browser knows the clients %q; %s", b.names, body)
	}
	clients := s.Clients()
	if len(clients) != 1 || clients[0].Name != "Playwright/1.55.0" || clients[0].Page != "" || clients[0].Since.Before(start) || clients[0].Since.After(time.Now()) {
		t.Errorf("%+v", clients)
	}
	s.Disconnect(clients[0].ID)
	if n := changes.Load(); len(s.Clients()) != 0 || n != 2 {
		t.Errorf("the clients are %+v, after %d changes", s.Clients(), n)
	}
	if _, _, err := first.ws.Read(await.Context(t)); err == nil || !strings.Contains(err.Error(), "disconnected by the user") {
		t.Error(err)
	}
	dial(t, address+"/devtools/browser/x", "").call("", "Browser.getVersion", nil)
}

// TestDisconnectByRequest lists two clients, and disconnects one of them.
func TestDisconnectByRequest(t *testing.T) {
	log := &entries{failing: errors.New("disk full")} // does not matter
	s, address := serve(t, Options{Browser: newFake(), Audit: log})
	first, second := dial(t, address+"/devtools/browser/x", "First/1"), dial(t, address+"/devtools/browser/x", "Second/2")
	for _, c := range []*testClient{first, second} {
		c.call("", "Browser.getVersion", nil)
	}
	var list []Client
	if _, body := get(t, "GET", address+"/json/clients", nil); json.Unmarshal([]byte(body), &list) != nil || len(list) != 2 || list[0].Name != "First/1" || list[0].ID != s.Clients()[0].ID {
		t.Fatalf("the clients are %s", body)
	}
	path := "/json/clients/" + list[0].ID
	fromPage := func(r *http.Request) { r.Header.Set("Origin", "http://evil.com") }
	for _, r := range []struct {
		method, path string
		change       func(*http.Request)
		status       int
	}{
		{"GET", path, nil, 404}, {"DELETE", path + "0", nil, 404}, {"DELETE", "/json/clients/", nil, 404}, {"DELETE", path, fromPage, 403},
		{"DELETE", path, nil, 204}, {"DELETE", path, nil, 404},
	} {
		if status, body := get(t, r.method, address+r.path, r.change); status != r.status {
			t.Errorf("%s %s: %d %s, want %d", r.method, r.path, status, body, r.status)
		}
	}
	if _, _, err := first.ws.Read(await.Context(t)); err == nil || !strings.Contains(err.Error(), "disconnected by the user") {
		t.Error(err)
	}
	second.call("", "Browser.getVersion", nil)
	if got := log.of("cdp disconnect"); len(got) != 1 {
		t.Errorf("%+v", got)
	}
}

// TestMaxClients connects 100 clients at the same time.
func TestMaxClients(t *testing.T) {
	s, address := serve(t, Options{Browser: newFake()})
	var mu sync.Mutex
	statuses := map[int]int{}
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			c, status, err := tryDial(t, address+"/devtools/browser/x", nil)
			mu.Lock()
			defer mu.Unlock()
			statuses[status]++
			if err == nil {
				c.raw(`{"id":1,"method":"Browser.getVersion"}`)
			}
		})
	}
	wg.Wait()
	if statuses[http.StatusSwitchingProtocols] != DefaultMaxClients || statuses[http.StatusServiceUnavailable] != 100-DefaultMaxClients {
		t.Errorf("statuses %v", statuses)
	}
	s.Disconnect("")
	if n := len(s.Clients()); n != 0 {
		t.Errorf("%d clients", n)
	}
}

// TestServeDevTools checks the endpoints behind a server that authenticates requests.
func TestServeDevTools(t *testing.T) {
	s, err := New(&Options{Browser: newFake(), Policy: onlyHost("a.test")})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.ServeDevTools(w, r, "/devtools/one") }))
	defer h.Close()
	defer s.Close()
	_, body := get(t, "GET", h.URL+"/devtools/one/json/version", func(r *http.Request) { r.Host = "chrome.example.com" })
	if v := object([]byte(body)); v["webSocketDebuggerUrl"] != "ws://chrome.example.com/devtools/one/devtools/browser/relay" {
		t.Error(body)
	}
	if status, _ := get(t, "GET", h.URL+"/other/json/version", nil); status != http.StatusNotFound {
		t.Error(status)
	}
	if status, _ := get(t, "GET", h.URL+"/devtools/one/json/version", func(r *http.Request) { r.Header.Set("Origin", h.URL) }); status != http.StatusForbidden {
		t.Error(status)
	}
	dial(t, h.URL+"/devtools/one/devtools/browser/x", "").call("", "Browser.getVersion", nil)
}

func TestClientName(t *testing.T) {
	for userAgent, want := range map[string]string{
		"": "CDP client",
		"Playwright/1.55.0 (x64; debian 12) node/22": "Playwright/1.55.0",
		"Puppeteer 24.1.0":                           "Puppeteer 24.1.0",
		"a\x1b[31mb\u202ec\"'<":                      "a31mbc",
		strings.Repeat("x", 100):                     strings.Repeat("x", 60),
		"(only a comment)":                           "CDP client",
	} {
		if got := clientName(userAgent); got != want {
			t.Errorf("%q: %q, want %q", userAgent, got, want)
		}
	}
}
