package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

// TestEndDuringCall ends sessions with a running call: the error of the call gives the reason, on
// each way by which a client can call a tool.
func TestEndDuringCall(t *testing.T) {
	needChromium(t)
	requested := make(chan string, 10)
	site := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { // never answers
		requested <- r.URL.Path
		<-r.Context().Done()
	}))
	defer site.Close()
	defer site.CloseClientConnections()
	settings := append(rootNeedsNoSandbox(), "--headless", "--prefer", "cdp", "--allow-domain", site.URL)

	c := newCommandLine(t)
	rest := newRESTClient(t, c)
	for name, call := range map[string]func(session string) string{
		"call": func(session string) string {
			out, err := c.run(append(settings, "call", "navigate", "url="+site.URL+"/"+session, "--session", session)...)
			if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 5 {
				t.Errorf("call: %v", err)
			}
			return out
		},
		"rest": func(session string) string {
			path := "/v1/sessions/" + session
			rest.checkStatus(rest.send(http.MethodPut, path, "--json", sessionSettingsJSON(t, site.URL)), http.StatusNoContent, "open")
			return rest.send(http.MethodPost, path+"/tools/navigate", "--json", fmt.Sprintf(`{"url":"%s/%s"}`, site.URL, session)).body
		},
		"host": func(session string) string {
			s := startProgram(t, nil, nil, append(settings, "--connect", server.SocketPath(c.data), "--session", session)...)
			text, _, err := s.try(t.Context(), "navigate", map[string]any{"url": site.URL + "/" + session})
			if err != nil {
				return err.Error()
			}
			return text
		},
	} {
		t.Run(name, func(t *testing.T) {
			result := make(chan string, 1)
			go func() { result <- call(name) }()
			select {
			case <-requested:
			case text := <-result:
				t.Fatalf("the call ended: %s", text)
			}
			if out, err := c.run("sessions", "close", name); err != nil {
				t.Fatalf("sessions close: %v\n%s", err, out)
			}
			if text := <-result; !strings.Contains(text, "SESSION_ENDED") || !strings.Contains(text, "before the call finished: a client closed it") {
				t.Errorf("result %s", text)
			}
		})
	}
}

// TestTTLDuringCall checks that the error of a call names the maximum lifetime that ended its
// session.
func TestTTLDuringCall(t *testing.T) {
	needChromium(t)
	address := restSite(t)
	c := newCommandLine(t)
	c.serve("--session-ttl", "1s")
	args := append(rootNeedsNoSandbox(), "call", "navigate", "url="+address+"/slow", "timeoutMs=60000", "--headless", "--isolated", "--prefer", "cdp", "--allow-domain", address)
	await.Until(t, "a session that ends during the call", func() bool { // not before it, as on a slow machine
		out, err := c.run(args...)
		if err == nil || !strings.Contains(out, "it reached its maximum lifetime of 1s") {
			t.Fatalf("call: %v\n%s", err, out)
		}
		return strings.Contains(out, "SESSION_ENDED: The session was closed before the call finished: ")
	})
}

// TestAuditSessions checks that the audit log has the name and the principal of each session.
func TestAuditSessions(t *testing.T) {
	c := newCommandLine(t)
	log := filepath.Join(t.TempDir(), "audit.jsonl")
	url := c.serve("--audit-log", log)
	if out, err := c.run("call", "chrome_status", "--prefer", "cdp", "--session", "mine", "--audit-log", log); err != nil {
		t.Fatalf("call: %v\n%s", err, out)
	}
	if status, body := curl(t, "-H", c.header(), "-d", "{}", url+"/v1/sessions/theirs/tools/chrome_status"); status != "200" {
		t.Fatalf("%s: %s", status, body)
	}
	for _, end := range []string{"sessions close mine", "serve stop"} { // writes the entries
		if out, err := c.run(strings.Fields(end)...); err != nil {
			t.Fatalf("%s: %v\n%s", end, err, out)
		}
	}
	out, err := c.run("audit", log, "--json")
	if err != nil {
		t.Fatal(err)
	}
	var calls []string
	for line := range strings.Lines(out) {
		var e audit.Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if e.Event == audit.EventCall {
			calls = append(calls, fmt.Sprintf("%s of %s@%s", e.Tool, e.Name, e.Principal))
		}
	}
	if got, want := strings.Join(calls, "; "), "chrome_status of mine@; chrome_status of theirs@http"; got != want {
		t.Errorf("calls %s, want %s\n%s", got, want, out)
	}
	if out, err := c.run("audit", log); err != nil || !strings.Contains(out, " theirs@http]\n") || !strings.Contains(out, " mine]\n") {
		t.Errorf("audit: %v\n%s", err, out)
	}
}
