package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
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

var extensionTab = regexp.MustCompile(`ext:\S+`)

// TestSessionsShareExtension uses the user's Chrome in two sessions of one server. Each has its own
// tabs, and only one at a time drives a shared tab. Both have the user's cookies.
func TestSessionsShareExtension(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		http.SetCookie(w, &http.Cookie{Name: strings.Trim(r.URL.Path, "/"), Value: "1", Path: "/"})
		var names []string
		for _, cookie := range r.Cookies() {
			names = append(names, cookie.Name)
		}
		fmt.Fprintf(w, "<title>%s</title><main><p>The cookies are: %s.</p></main>", r.URL.Path, strings.Join(names, " "))
	}))
	t.Cleanup(site.Close)
	chrome, data := sharedUserBrowser(t)
	c := &commandLine{t, data}
	t.Cleanup(func() {
		if out, err := c.run("serve", "stop"); err != nil {
			t.Errorf("serve stop: %v\n%s", err, out)
		}
	})
	shared := chrome.Find(t, "page", "about:blank").ID
	if out, err := c.run("call", "chrome_status", "--prefer", "cdp"); err != nil { // starts the server
		t.Fatalf("call: %v\n%s", err, out)
	}
	one := c.session(t, "one", &person{}, "--no-cdp-fallback", "--allow-domain", site.URL)
	two := c.session(t, "two", &person{}, "--no-cdp-fallback", "--allow-domain", site.URL)
	to := func(path string) map[string]any { return map[string]any{"url": site.URL + path} }
	for _, s := range []*mcpServer{one, two} {
		s.until(t, "backend: extension", "chrome_status", nil)
	}

	one.call(t, "navigate", to("/of-one"))
	two.call(t, "navigate", to("/of-two"))
	two.call(t, "get_text", nil, "The cookies are: of-one")
	ofOne := one.call(t, "tabs_list", nil, "/of-one")
	if strings.Contains(ofOne, "/of-two") {
		t.Errorf("the first session lists %s", ofOne)
	}
	if list := two.call(t, "tabs_list", nil, "/of-two"); strings.Contains(list, "/of-one") {
		t.Errorf("the second session lists %s", list)
	}
	two.refused(t, "STALE_TAB", "get_text", map[string]any{"tabId": extensionTab.FindString(ofOne)})

	chrome.GoTo(t, shared, site.URL+"/shared")
	chrome.Call(t, "", "Target.activateTarget", map[string]any{"targetId": shared}, nil)
	chrome.toggleSharing(t)
	tab := func(s *mcpServer) map[string]any {
		t.Helper()
		for line := range strings.Lines(s.until(t, "/shared", "tabs_list", nil)) {
			if strings.Contains(line, "/shared") {
				return map[string]any{"tabId": extensionTab.FindString(line)}
			}
		}
		return nil
	}
	inTwo := tab(two)
	one.call(t, "get_text", tab(one), "The cookies are:")
	two.refused(t, "TAB_NOT_FOUND", "get_text", inTwo)
	if out, err := c.run("sessions", "close", "one"); err != nil {
		t.Fatalf("sessions close: %v\n%s", err, out)
	}
	two.call(t, "get_text", tab(two), "The cookies are:")
	two.call(t, "tabs_list", nil, "/of-two")
}
