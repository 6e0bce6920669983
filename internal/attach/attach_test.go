package attach

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

func TestDialErrors(t *testing.T) {
	serve := func(h http.HandlerFunc) string {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		return s.URL
	}
	answer := func(code int, body string) string {
		return serve(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code); fmt.Fprint(w, body) })
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	unused := l.Addr().String()
	l.Close()

	for _, c := range []struct {
		name, address string
		code          executor.Code
		message       string
	}{
		{"no listener", "http://" + unused, executor.ErrNoBackend, "nothing listens at http://" + unused},
		{"no listener, ws", "ws://" + unused + "/devtools/browser/x", executor.ErrNoBackend, "nothing listens at ws://" + unused},
		{"no such host", "http://host.invalid:9222", executor.ErrNoBackend, "was not found"},
		{"not found", answer(404, "nope"), executor.ErrLaunchFailed, "HTTP 404"},
		{"error", answer(503, ""), executor.ErrLaunchFailed, "HTTP 503"},
		{"html", answer(200, "<html>hello"), executor.ErrLaunchFailed, "did not answer as a browser does"},
		{"json without WebSocket URL", answer(200, `{"Browser":"x"}`), executor.ErrLaunchFailed, "returned no webSocketDebuggerUrl"},
		{"WebSocket URL with another scheme", answer(200, `{"webSocketDebuggerUrl":"file:///etc/passwd"}`), executor.ErrLaunchFailed, "returned no webSocketDebuggerUrl"},
		{"endless response", answer(200, strings.Repeat(" ", maxDiscovery+1)), executor.ErrLaunchFailed, "more than"},
		{"no websocket", answer(200, `{"webSocketDebuggerUrl":"ws://elsewhere/devtools/browser/x"}`), executor.ErrLaunchFailed, "endpoint ws://127.0.0.1"},
		{"redirect", serve(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://192.0.2.1/", http.StatusFound)
		}), executor.ErrLaunchFailed, "HTTP 302"},
		{"scheme", "ftp://x", executor.ErrBadArgs, `scheme is "ftp"`},
		{"host and port only", "127.0.0.1:9222", executor.ErrBadArgs, "not a URL"},
		{"no host", "http://", executor.ErrBadArgs, "not a URL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr, _, err := Dial(t.Context(), Endpoint{URL: c.address})
			if err == nil {
				tr.Close()
			}
			if executor.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.message) {
				t.Errorf("dial %s: %v, want %s with %q", c.address, err, c.code, c.message)
			}
		})
	}
}

func TestDialErrorsOmitSecrets(t *testing.T) {
	for _, address := range []string{
		"ws://127.0.0.1:1/devtools/SECRET?token=SECRET", "http://user:SECRET@127.0.0.1:1/?token=SECRET", "http://[::1/SECRET", "x://SECRET",
	} {
		_, _, err := Dial(t.Context(), Endpoint{URL: address})
		if err == nil || strings.Contains(fmt.Sprintf("%v %+v", err, err), "SECRET") {
			t.Errorf("dial %s: %v", address, err)
		}
	}
}

func TestDialRejectedHostName(t *testing.T) {
	var hosts []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hosts = append(hosts, r.Host)
		if len(hosts) == 1 {
			w.WriteHeader(500)
			fmt.Fprint(w, "Host header is specified and is not an IP address or localhost.")
			return
		}
		fmt.Fprint(w, `{"webSocketDebuggerUrl":"ws://inside:9222/devtools/browser/abc"}`)
	}))
	defer s.Close()
	u, _ := url.Parse(s.URL)
	u.Host = "localhost:" + u.Port()
	ws, err := discover(t.Context(), u, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := "127.0.0.1:" + u.Port()
	if len(hosts) != 2 || hosts[0] != u.Host || hosts[1] != want {
		t.Errorf("Host headers %q, want the name and then %s", hosts, want)
	}
	if ws.String() != "ws://"+want+"/devtools/browser/abc" {
		t.Errorf("WebSocket is %s", ws)
	}
}

func TestCancelledDial(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	defer s.Close()
	if _, _, err := Dial(ctx, Endpoint{URL: s.URL}); executor.CodeOf(err) != executor.ErrTimeout {
		t.Errorf("canceled dial: %v", err)
	}
}

// TestDialHeaders checks that all requests to an endpoint have its headers, and that no redirect
// is followed, with or without headers: it could be to another host, or to an unencrypted address.
func TestDialHeaders(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the redirect was followed, with the header %q", r.Header.Get("X-Token"))
	}))
	defer other.Close()
	for token, header := range map[string]http.Header{"": nil, "secret": {"X-Token": {"secret"}}} {
		var requests []string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests = append(requests, r.URL.Path+" "+r.Header.Get("X-Token"))
			if r.URL.Path == "/json/version" {
				fmt.Fprint(w, `{"webSocketDebuggerUrl":"ws://x/devtools/browser/1"}`)
				return
			}
			http.Redirect(w, r, other.URL, http.StatusFound)
		}))
		defer server.Close()
		if _, _, err := Dial(t.Context(), Endpoint{server.URL, header}); executor.CodeOf(err) != executor.ErrLaunchFailed {
			t.Errorf("dial: %v", err)
		}
		if got := strings.Join(requests, ", "); got != "/json/version "+token+", /devtools/browser/1 "+token {
			t.Errorf("requests %s", got)
		}
	}
}

// TestFailedHandshake checks that no connection stays open after a failed handshake.
func TestFailedHandshake(t *testing.T) {
	for _, status := range []int{http.StatusUnauthorized, http.StatusNotFound, http.StatusTooManyRequests} {
		closed := make(chan struct{}, 1)
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			fmt.Fprint(w, "no")
		}))
		server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateClosed {
				closed <- struct{}{}
			}
		}
		server.Start()
		_, _, err := Dial(t.Context(), Endpoint{URL: strings.Replace(server.URL, "http", "ws", 1) + "/x"})
		if e, ok := errors.AsType[*HandshakeError](err); !ok || e.Status != status {
			t.Errorf("dial: %v, want HTTP %d", err, status)
		}
		await.Receive(t, "the end of the connection", closed)
		server.Close()
	}
}
