package main

import (
	"regexp"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/internal/server"
)

var browserProcess = regexp.MustCompile(`in a context of a shared browser, pid ([0-9]+)`)

// session starts an MCP client of a session of the server of c. The session has flags, and its
// prompts are answered by user.
func (c *commandLine) session(t *testing.T, name string, user *person, flags ...string) *mcpServer {
	t.Helper()
	return startMCPWith(t, &sdk.ClientOptions{ElicitationHandler: user.answer}, &sdk.ClientSessionOptions{ProtocolVersion: "2025-06-18"},
		append(flags, "--connect", server.SocketPath(c.data), "--session", name, "--data", c.data)...)
}

// TestGrantStaysInSession grants a site to one of two sessions in one browser. For the other session,
// the site stays denied: as a document, and as a resource of an allowed page.
func TestGrantStaysInSession(t *testing.T) {
	needChromium(t)
	web, users := newInternet(t), [2]*person{{}, {}}
	c := newCommandLine(t)
	if out, err := c.run("call", "chrome_status", "--prefer", "cdp"); err != nil { // starts the server
		t.Fatalf("call: %v\n%s", err, out)
	}
	flags := []string{"--headless", "--isolated", "--prefer=cdp", "--proxy", web.URL, "--subresources=same", "--unsafe-enable-eval"}
	a := c.session(t, "a", users[0], flags...)
	b := c.session(t, "b", users[1], append(flags, "--allow-domain", "http://other.example.com")...)
	to := func(path string) map[string]any { return map[string]any{"url": "http://" + path} }
	// load loads a URL of the granted site as a resource of a page. The proxy answers a denied request
	// itself, so only the site knows whether it was sent.
	load := func(s *mcpServer, path string) {
		t.Helper()
		url := "'http://granted.example.com/" + path + "'"
		s.call(t, "eval", map[string]any{"expression": "fetch(" + url + ", {mode: 'no-cors'}).then(() => 'fetched', () => 'fetched')"}, "fetched")
		s.call(t, "eval", map[string]any{"expression": "new Promise((done) => { const i = new Image(); i.onload = i.onerror = () => done('loaded'); i.src = " + url + "; })"}, "loaded")
	}

	users[0].setAnswers(says("session"))
	a.call(t, "navigate", to("granted.example.com/page"), "granted.example.com")
	load(a, "granted")
	b.call(t, "navigate", to("other.example.com/page"), "other.example.com")
	process := func(s *mcpServer) string {
		return strings.Join(browserProcess.FindStringSubmatch(s.call(t, "chrome_status", nil)), " ")
	}
	if x, y := process(a), process(b); x != y || x == "" {
		t.Fatalf("the browsers of the sessions: %q and %q", x, y)
	}

	load(b, "denied")
	users[1].setAnswers(says("no"))
	b.refused(t, "POLICY_DENIED", "navigate", to("granted.example.com/document"), "the user denied permission")
	if q := users[1].asked(); len(q) != 1 || !strings.Contains(q[0], "http://granted.example.com,") {
		t.Errorf("the prompts of the other session are %q", q)
	}
	b.call(t, "chrome_status", nil, "allowed domains: http://other.example.com\n")
	load(a, "after") // the denial does not affect the session with the grant
	for path, want := range map[string]int{"page": 1, "granted": 2, "denied": 0, "document": 0, "after": 2} {
		if n := web.asked("granted.example.com/" + path); n != want {
			t.Errorf("%d requests for /%s, want %d", n, path, want)
		}
	}
}
