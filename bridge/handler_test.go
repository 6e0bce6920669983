package bridge

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// TestAllowedOriginsAndHosts: a page can make a browser dial us, by any name; it cannot
// choose what Origin and Host say.
func TestAllowedOriginsAndHosts(t *testing.T) {
	s, dir, log := start(t)
	real := connect(t, s, "real", wire.KeyToken, token(t, s, dir))
	real.answer(echo)
	i := waitInstance(t, s, "real")

	ours := "chrome-extension://" + ourID
	at := func(host string) string { return fmt.Sprintf("%s:%d", host, s.Port()) }
	for _, tt := range []struct {
		name, host string
		origin     []string
		ok         bool
	}{
		{"the extension", "", []string{ours}, true},
		{"by localhost", at("localhost"), []string{ours}, true},
		{"by IPv6's name", at("[::1]"), []string{ours}, true},
		{"a page", "", []string{"http://evil.example"}, false},
		{"a page over https", "", []string{"https://evil.example"}, false},
		{"a page of this machine", "", []string{"http://" + at("127.0.0.1")}, false},
		{"a page that was rebound", at("evil.example"), []string{"http://" + at("evil.example")}, false},
		{"a sandboxed page", "", []string{"null"}, false},
		{"no Origin", "", nil, false},
		{"an empty Origin", "", []string{""}, false},
		{"two Origins", "", []string{ours, "https://evil.example"}, false},
		{"another extension", "", []string{"chrome-extension://" + otherID}, false},
		{"another browser's extension", "", []string{"moz-extension://" + ourID}, false},
		{"a page with our id", "", []string{"https://" + ourID}, false},
		{"our id with a tail", "", []string{ours + ".evil.example"}, false},
		{"our id in capitals", "", []string{strings.ToUpper(ours)}, false},
		{"a forged Host", at("evil.example"), []string{ours}, false},
		{"a Host that only looks local", at("127.0.0.1.evil.example"), []string{ours}, false},
		{"a Host that is a loopback name", at("app.localhost"), []string{ours}, false},
		{"a Host without port", "127.0.0.1", []string{ours}, false},
		{"a Host with another port", "127.0.0.1:80", []string{ours}, false},
		{"an empty Host", " ", []string{ours}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, response, err := dialAs(t, s.Port(), tt.host, http.Header{"Origin": tt.origin})
			if (err == nil) != tt.ok {
				t.Errorf("dialed: %v, want ok %v", err, tt.ok)
			}
			if !tt.ok && (response == nil || response.StatusCode/100 != 4 || len(response.Header["Access-Control-Allow-Origin"]) > 0) {
				t.Errorf("response %+v", response)
			}
			works(t, i)
		})
	}
	if n := strings.Count(log.String(), "level=WARN msg=\"the Origin header is that of a page"); n != 1 {
		t.Errorf("%d warnings about pages, want 1", n)
	}
	if strings.Contains(log.String(), "evil.example") {
		t.Error("the log contains text of a page")
	}
}

// TestPlainHTTP: to anything but a WebSocket there is nothing here.
func TestPlainHTTP(t *testing.T) {
	s, dir, _ := start(t)
	for _, method := range []string{"GET", "POST", "OPTIONS"} {
		for _, origin := range []string{"", "http://evil.example", "chrome-extension://" + ourID} {
			request, err := http.NewRequestWithContext(soon(t), method, fmt.Sprintf("http://127.0.0.1:%d/connect", s.Port()), nil)
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

// TestRawJunk: bytes that are no HTTP, and connections that say nothing.
func TestRawJunk(t *testing.T) {
	s, dir, _ := start(t)
	real := connect(t, s, "real", wire.KeyToken, token(t, s, dir))
	real.answer(echo)
	i := waitInstance(t, s, "real")
	for range 2 * maxOpen {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.Port()))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.Write([]byte("\x16\x03\x01 junk\r\n"))
	}
	works(t, i)
}

// TestMountedHandler: the bridge on a listener of the caller's own.
func TestMountedHandler(t *testing.T) {
	dir := t.TempDir()
	s, err := New(Options{DataDir: dir, ExtensionID: ourID})
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
	c := &client{t: t, port: s.Port(), instance: "a", kind: wire.KeyToken, key: token(t, s, dir)}
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
	s, err := New(Options{DataDir: t.TempDir(), ExtensionID: ourID, Port: first.Port()})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err == nil || !strings.Contains(err.Error(), fmt.Sprint(first.Port())) {
		t.Errorf("a port that is taken: %v", err)
	} else if s.Err() != err {
		t.Errorf("the reason is %v", s.Err())
	}
	s.Close()
	// Two with the default do not get into each other's way.
	var ports []int
	for range 2 {
		s, err := New(Options{DataDir: t.TempDir(), ExtensionID: ourID})
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
		if _, err := New(o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

func TestCloseEndsEverything(t *testing.T) {
	s, dir, _ := start(t)
	c := connect(t, s, "a", wire.KeyToken, token(t, s, dir))
	i := waitInstance(t, s, "a")
	silent := dial(t, s.Port()) // in its handshake
	began := time.Now()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("Close took %v", took)
	}
	if i.Err() == nil {
		t.Error("a connection stays open")
	}
	c.closed(closeGoingAway)
	if _, _, err := silent.Read(soon(t)); err == nil {
		t.Error("a handshake continues")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Start(); err == nil {
		t.Error("a closed server starts")
	}
}

// TestSetName checks that the extension receives the name.
func TestSetName(t *testing.T) {
	dir := t.TempDir()
	s, err := New(Options{DataDir: dir, ExtensionID: ourID, Port: AnyPort, Name: "first"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.SetName("")
	s.SetName(strings.Repeat("é", 100))
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	s.SetName("too late")
	if live := RunningServers(dir); len(live) != 1 || live[0].Name != strings.Repeat("é", 60) {
		t.Errorf("servers %+v", live)
	}
}
