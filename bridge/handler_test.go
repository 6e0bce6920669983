package bridge

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// TestAllowedOriginsAndHosts checks the Origin and Host headers that can connect. A page can make a
// browser dial the server under any name, but cannot choose these headers.
func TestAllowedOriginsAndHosts(t *testing.T) {
	s, dir, _ := start(t)
	extension := connect(t, s, "real", wire.KeyToken, token(t, s, dir))
	extension.answer(echo)
	conn := waitConn(t, s, "real")

	ours := "chrome-extension://" + ourID
	at := func(host string) string { return fmt.Sprintf("%s:%d", host, s.Port()) }
	for _, tt := range []struct {
		name, host string
		origin     []string
		ok         bool
	}{
		{"extension", "", []string{ours}, true},
		{"localhost", at("localhost"), []string{ours}, true},
		{"IPv6 loopback address", at("[::1]"), []string{ours}, true},
		{"page", "", []string{"http://evil.example"}, false},
		{"https page", "", []string{"https://evil.example"}, false},
		{"page on this machine", "", []string{"http://" + at("127.0.0.1")}, false},
		{"DNS rebinding", at("evil.example"), []string{"http://" + at("evil.example")}, false},
		{"sandboxed page", "", []string{"null"}, false},
		{"no Origin", "", nil, false},
		{"empty Origin", "", []string{""}, false},
		{"two Origins", "", []string{ours, "https://evil.example"}, false},
		{"another extension", "", []string{"chrome-extension://" + otherID}, false},
		{"extension of another browser", "", []string{"moz-extension://" + ourID}, false},
		{"page with the extension's id as host", "", []string{"https://" + ourID}, false},
		{"id with a suffix", "", []string{ours + ".evil.example"}, false},
		{"id in upper case", "", []string{strings.ToUpper(ours)}, false},
		{"forged Host", at("evil.example"), []string{ours}, false},
		{"Host that begins with a loopback address", at("127.0.0.1.evil.example"), []string{ours}, false},
		{"subdomain of localhost as Host", at("app.localhost"), []string{ours}, false},
		{"Host without port", "127.0.0.1", []string{ours}, false},
		{"Host with another port", "127.0.0.1:80", []string{ours}, false},
		{"empty Host", " ", []string{ours}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, response, err := dialAs(t, s.Port(), tt.host, http.Header{"Origin": tt.origin})
			if (err == nil) != tt.ok {
				t.Errorf("dialed: %v, want ok %v", err, tt.ok)
			}
			if !tt.ok && (response == nil || response.StatusCode/100 != 4 || len(response.Header["Access-Control-Allow-Origin"]) > 0) {
				t.Errorf("response %+v", response)
			}
			checkWorks(t, conn)
		})
	}
}

// TestPageWarning checks that a log has one warning about pages, without text of theirs.
func TestPageWarning(t *testing.T) {
	s, _, log := start(t)
	for _, origin := range []string{"http://evil.example", "https://evil.example"} {
		if _, _, err := dialAs(t, s.Port(), "", http.Header{"Origin": {origin}}); err == nil {
			t.Errorf("%s dialed", origin)
		}
	}
	if n := strings.Count(log.String(), "level=WARN msg=\"the Origin header is that of a page"); n != 1 {
		t.Errorf("%d warnings about pages, want 1", n)
	}
	if strings.Contains(log.String(), "evil.example") {
		t.Error("the log contains text of a page")
	}
}

// TestPlainHTTP checks that the server answers requests other than WebSocket handshakes with an
// error.
func TestPlainHTTP(t *testing.T) {
	s, dir, _ := start(t)
	for _, method := range []string{"GET", "POST", "OPTIONS"} {
		for _, origin := range []string{"", "http://evil.example", "chrome-extension://" + ourID} {
			request, err := http.NewRequestWithContext(await.Context(t), method, fmt.Sprintf("http://127.0.0.1:%d/connect", s.Port()), nil)
			if err != nil {
				t.Fatal(err)
			}
			if origin != "" {
				request.Header.Set("Origin", origin)
			}
			response, err := http.DefaultTransport.RoundTrip(request)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(response.Body)
			response.Body.Close()
			if response.StatusCode/100 != 4 || strings.Contains(string(body), record(t, s, dir).Token) {
				t.Errorf("%s from %q: %d %s", method, origin, response.StatusCode, body)
			}
		}
	}
}

// TestRawJunk opens connections that send no HTTP request.
func TestRawJunk(t *testing.T) {
	s, dir, _ := start(t)
	extension := connect(t, s, "real", wire.KeyToken, token(t, s, dir))
	extension.answer(echo)
	conn := waitConn(t, s, "real")
	for range 2 * maxOpen {
		raw := dialRaw(t, s.Port())
		raw.Write([]byte("\x16\x03\x01 junk\r\n"))
	}
	checkWorks(t, conn)
}

// TestMountedHandler serves the bridge on a listener of the caller.
func TestMountedHandler(t *testing.T) {
	dir := t.TempDir()
	s, err := New(&Options{DataDir: dir, ExtensionID: ourID})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/bridge", s.Handler())
	web := httptest.NewServer(mux)
	defer web.Close()
	defer s.Close()
	if err := s.Publish(web.Listener.Addr().(*net.TCPAddr).Port); err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, port: s.Port(), installation: "a", kind: wire.KeyToken, key: token(t, s, dir)}
	if c.ws, _, err = dialURL(t, strings.Replace(web.URL, "http", "ws", 1)+"/bridge"); err != nil {
		t.Fatal(err)
	}
	c.challenge()
	c.send(&wire.Proof{MAC: c.tr.ClientMAC(c.key)})
	if _, ok := c.receive().(*wire.Welcome); !ok {
		t.Error("not welcome")
	}
}

func TestPorts(t *testing.T) {
	first, _, _ := start(t)
	if p := first.Port(); p == 0 {
		t.Error("no port")
	}
	s, err := New(&Options{DataDir: t.TempDir(), ExtensionID: ourID, Port: first.Port()})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err == nil || !strings.Contains(err.Error(), fmt.Sprint(first.Port())) {
		t.Errorf("Start on a port in use: %v", err)
	} else if s.Err() != err {
		t.Errorf("Err returns %v", s.Err())
	}
	s.Close()
	// Two servers with the default port do not conflict.
	var ports []int
	for range 2 {
		s, err := New(&Options{DataDir: t.TempDir(), ExtensionID: ourID})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
		ports = append(ports, s.Port())
	}
	if ports[0] == ports[1] {
		t.Errorf("ports %v", ports)
	}
	for _, o := range []Options{{}, {ExtensionID: ourID, Port: -2}, {ExtensionID: ourID, Port: 65536}} {
		if _, err := New(&o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
}

func TestCloseEndsEverything(t *testing.T) {
	s, dir, _ := start(t)
	c := connect(t, s, "a", wire.KeyToken, token(t, s, dir))
	conn := waitConn(t, s, "a")
	silent := dial(t, s.Port()) // in its handshake
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if conn.Err() == nil {
		t.Error("the connection is still open")
	}
	c.wantClosed(closeGoingAway)
	if _, data, err := silent.Read(await.Context(t)); err == nil { // such as the rejection after wire.HelloTimeout
		t.Errorf("the handshake continues: %s", data)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Start(); err == nil {
		t.Error("a closed server started")
	}
}

// TestStartAs checks that the handshake file has the name, truncated.
func TestStartAs(t *testing.T) {
	dir := t.TempDir()
	s, err := New(&Options{DataDir: dir, ExtensionID: ourID, Port: AnyPort, Name: "first"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.StartAs(strings.Repeat("é", 100)); err != nil {
		t.Fatal(err)
	}
	if err := s.StartAs("too late"); err == nil {
		t.Error("the server was started twice")
	}
	if live := RunningServers(dir); len(live) != 1 || live[0].Name != strings.Repeat("é", 60) {
		t.Errorf("running servers %+v", live)
	}
}
