package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/server"
)

const initializeLine = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`

// connectLines runs the program with --connect, writes all lines to its stdin without waiting, and
// returns its output.
func connectLines(t *testing.T, lines []string, args ...string) string {
	t.Helper()
	cmd := exec.Command(binary, args...)
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v\n%s%s", args, err, out, &stderr)
	}
	return string(out)
}

// TestConnectURLPipelined writes all messages without waiting, as some hosts do. Nothing overtakes
// initialize, and later messages have the id of the MCP session.
func TestConnectURLPipelined(t *testing.T) {
	c := newCommandLine(t)
	target, err := url.Parse(c.serve())
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var early []string
	initialized := false
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: func(r *http.Response) error {
			if r.Request.Method != http.MethodPost || r.Request.Header.Get("Mcp-Session-Id") != "" {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			initialized = true
			return nil
		},
	}
	first := true
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mcp" {
			mu.Lock()
			if !first && (!initialized || r.Header.Get("Mcp-Session-Id") == "") {
				early = append(early, fmt.Sprintf("%s with session %q", r.Method, r.Header.Get("Mcp-Session-Id")))
			}
			first = false
			mu.Unlock()
		}
		proxy.ServeHTTP(w, r)
	}))
	defer front.Close()
	out := connectLines(t, []string{
		initializeLine,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"chrome_status","arguments":{}}}`,
	}, "--connect", front.URL, "--connect-token-file", server.TokenPath(c.data))
	for _, want := range []string{`"id":1,"result"`, `"id":2,"result"`, "allowed domains: none"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in the output\n%s", want, out)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(early) > 0 || !initialized {
		t.Errorf("requests before the response to initialize: %q", early)
	}
}

// TestConnectURLRejected checks that the host gets the error with which the server rejected a
// message: of a session, of the listener, and in plain text.
func TestConnectURLRejected(t *testing.T) {
	const token = "0123456789abcdef0123456789abcdef"
	dir := t.TempDir()
	tokens, own := filepath.Join(dir, "tokens.json"), filepath.Join(dir, "token")
	for path, text := range map[string]string{tokens: `{"tokens": [{"name": "ci", "token": "` + token + `", "maxSessions": 1}]}`, own: token} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := newCommandLine(t)
	address := c.serve("--token-file", tokens)
	connect := []string{"--connect", address, "--connect-token-file", own}
	big := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"chrome_status","arguments":{"x":[` + strings.Repeat("1,", 100_001) + `1]}}}`
	out := connectLines(t, []string{initializeLine, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, big}, connect...)
	if want := `"error":{"code":-32000,"message":"BAD_ARGS: the body has more than 100000 JSON values`; !strings.Contains(out, want) || !strings.Contains(out, `"data":{"code":"BAD_ARGS"`) {
		t.Errorf("a body with many values: no %s in\n%s", want, out)
	}
	out = connectLines(t, []string{initializeLine}, append(connect, "--session", "second")...)
	if want := `"id":1,"error":{"code":-32000,"message":"BACKPRESSURE: 1 session is open, the maximum for this token. Close a session`; !strings.Contains(out, want) {
		t.Errorf("too many sessions: no %s in\n%s", want, out)
	}
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			http.Error(w, "try another path", http.StatusServiceUnavailable)
		}
	}))
	defer plain.Close()
	out = connectLines(t, []string{initializeLine}, "--connect", plain.URL, "--connect-token-file", own)
	if want := "the server answered HTTP 503 Service Unavailable: try another path"; !strings.Contains(out, want) {
		t.Errorf("plain text: no %s in\n%s", want, out)
	}
}
