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
	"regexp"
	"strings"
	"testing"

	"github.com/jezek/xgb/xproto"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/browserless"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/userbrowser"
)

// TestBrowserlessByName uses a browser of a browserless server in a session.
func TestBrowserlessByName(t *testing.T) {
	path := userbrowser.Find(t)
	engine := browserless.Start(t, browserless.Options{Browser: path, Token: "sesame-SECRET", Concurrent: 1})
	t.Setenv("FLEET_TOKEN", "sesame-SECRET")
	launch := ""
	if os.Getuid() == 0 {
		launch = `, "launch": {"args": ["--no-sandbox"]}`
	}
	browser := fmt.Sprintf(`{"type": "browserless", "urls": [%q, "http://127.0.0.1:1/"], "token-env": "FLEET_TOKEN"%s}`, engine.URL, launch)
	s := newSecretsTest(t, "--config", writeConfig(t, `{"browsers": {"fleet": `+browser+`, "more": `+browser+`}}`))
	tab := namedTabs(s.call(t, "tab_new", map[string]any{"browser": "fleet", "url": s.site.URL + "/login"}, "fleet:cdp:"))[0]
	s.call(t, "get_text", map[string]any{"tabId": tab})
	s.refused(t, "POLICY_DENIED", "navigate", map[string]any{"url": "https://denied.example/", "tabId": tab})
	s.refused(t, "BACKPRESSURE", "tab_new", map[string]any{"browser": "more", "url": s.site.URL}, "its queue is full (HTTP 429)")
	status := s.call(t, "chrome_status", nil, "browser fleet: browserless, open", "browser more: browserless, not open", "its network is not filtered")
	if strings.Contains(status, "SECRET") {
		t.Errorf("chrome_status contains the token:\n%s", status)
	}
}

// TestEndpointByName attaches to a running browser behind a proxy that requires a header.
func TestEndpointByName(t *testing.T) {
	t.Parallel() // it mainly waits
	needChromium(t)
	site, profile, dir := newTestSite(t), t.TempDir(), t.TempDir()
	userbrowser.Start(t, userbrowser.Options{Profile: profile, Flags: []string{"--remote-debugging-port=0"}})
	var port string
	await.Until(t, "the debugging port", func() bool {
		text, _ := os.ReadFile(filepath.Join(profile, "DevToolsActivePort"))
		first, _, complete := strings.Cut(string(text), "\n")
		port = first
		return complete
	})
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "127.0.0.1:" + port})
	gate := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sesame-SECRET" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(gate.Close)
	// endpoint returns a browser of the configuration, and writes its file of headers.
	endpoint := func(name, address, token string) string {
		file := filepath.Join(dir, name+".txt")
		if err := os.WriteFile(file, []byte("Authorization: Bearer "+token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf(`%q: {"type": "endpoint", "url": %q, "headers-file": %q}`, name, address, file)
	}
	config := writeConfig(t, `{"browsers": {`+strings.Join([]string{
		endpoint("remote", gate.URL, "sesame-SECRET"),
		endpoint("wrong", gate.URL, "wrong-SECRET"),
		endpoint("socket", strings.Replace(gate.URL, "http", "ws", 1)+"/devtools/browser/x", "wrong-SECRET"),
		`"none": {"type": "endpoint", "url": "chrome"}`,
	}, ", ")+`}}`)
	cmd := exec.Command(binary, "--data", filepath.Join(t.TempDir(), "data"), "--prefer=cdp", "--allow-domain", site.URL, "--config", config)
	cmd.Env = append(os.Environ(), "HOME="+dir, "LOCALAPPDATA="+dir, "XDG_CONFIG_HOME=") // no Chrome of the user
	s := startCommand(t, nil, nil, cmd)

	open := func(browser string) map[string]any {
		return map[string]any{"browser": browser, "url": site.URL + "/lamps"}
	}
	for _, browser := range []string{"wrong", "socket"} {
		s.refused(t, "LAUNCH_FAILED", "tab_new", open(browser), "HTTP 401", "requires other headers")
	}
	s.refused(t, "NO_BACKEND", "tab_new", open("none"), "no running Chrome with remote debugging was found", "chrome://inspect/#remote-debugging")
	if n := site.asked(""); n > 0 {
		t.Errorf("%d requests without a browser", n)
	}
	tab := namedTabs(s.call(t, "tab_new", open("remote"), "remote:cdp:"))[0]
	s.call(t, "get_text", map[string]any{"tabId": tab}, "Lamps of walnut")
	s.refused(t, "POLICY_DENIED", "navigate", map[string]any{"url": site.denied(), "tabId": tab})
	status := s.call(t, "chrome_status", nil, "browser remote: endpoint, open", "browser wrong: endpoint, not open", "browser none: endpoint, not open", "cdp attached: false")
	if output := status + s.out.String() + s.er.String(); strings.Contains(output, "SECRET") {
		t.Errorf("the output contains a header:\n%s", output)
	}
}

// namedTabs returns the ids of tabs of named browsers in a result.
func namedTabs(result string) []string {
	return regexp.MustCompile(`\b[a-z]+:(cdp|ext):[a-zA-Z0-9:_-]+`).FindAllString(result, -1)
}

// TestManagedBrowsersByName uses two browsers with profiles in one session: each has its own
// cookies, and all tools find the browser by the id of the tab. The default browser does not start.
func TestManagedBrowsersByName(t *testing.T) {
	states := t.TempDir()
	config := writeConfig(t, `{"browsers": {"work": {"type": "managed", "profile": "w", "color": "#1a73e8"}, "test": {"type": "managed"}}}`)
	s := newSecretsTest(t, "--config", config, "--state-dir", states)
	s.refused(t, "BAD_ARGS", "tab_new", map[string]any{"browser": "wrk"}, `unknown browser "wrk"`, "Did you mean work?")
	s.call(t, "chrome_status", nil, "browser work: managed, not open, #1a73e8", "browser test: managed, not open", "cdp attached: false")

	url := s.site.URL + "/login"
	work := namedTabs(s.call(t, "tab_new", map[string]any{"url": url, "browser": "work"}, "work:cdp:"))[0]
	s.call(t, "cookies", map[string]any{"action": "set", "name": "user", "value": "ann"})
	s.call(t, "storage", map[string]any{"area": "local", "action": "set", "key": "user", "value": "ann"})
	test := namedTabs(s.call(t, "tab_new", map[string]any{"url": url, "browser": "test", "active": false}, "test:cdp:"))[0]
	s.call(t, "cookies", map[string]any{"action": "set", "name": "user", "value": "bob", "tabId": test})
	for tab, user := range map[string]string{"": "ann", work: "ann", test: "bob"} {
		args := map[string]any{"action": "get", "values": true}
		if tab != "" {
			args["tabId"] = tab
		}
		s.call(t, "cookies", args, user)
	}
	list := s.call(t, "tabs_list", nil, work, test)
	if strings.Count(list, "(active)") != 1 || !strings.Contains(list, work+` "`+url+`" "login" (active)`) {
		t.Errorf("tabs_list: %s", list)
	}
	s.call(t, "chrome_status", nil, "browser work: managed, open, #1a73e8", "browser test: managed, open", "active tab: "+work, "cdp attached: false")

	// The secret is typed in a named browser and masked in its results.
	s.call(t, "type", map[string]any{"selector": "#user", "text": "{{shop.username}}", "tabId": test})
	s.call(t, "snapshot", map[string]any{"tabId": test}, "••••")
	s.call(t, "session_state", map[string]any{"action": "save", "name": "ann"}, "ann")
	s.call(t, "tab_select", map[string]any{"tabId": test}, "(active)")
	s.call(t, "session_state", map[string]any{"action": "load", "name": "ann"})
	s.call(t, "cookies", map[string]any{"action": "get", "values": true}, "ann")
	s.call(t, "storage", map[string]any{"area": "local", "action": "get", "values": true}, "ann")

	s.call(t, "tab_close", map[string]any{"tabId": test})
	s.refused(t, "TAB_NOT_FOUND", "get_text", nil, "no tab is open in browser test")
	s.refused(t, "TAB_NOT_FOUND", "get_text", map[string]any{"tabId": test}, "not found")
	s.refused(t, "TAB_NOT_FOUND", "get_text", map[string]any{"tabId": "home:" + strings.TrimPrefix(work, "work:")}, "browser home does not exist")
	s.refused(t, "STALE_TAB", "get_text", map[string]any{"tabId": strings.TrimPrefix(work, "work:")})
	s.call(t, "navigate", map[string]any{"url": url}, "test:cdp:")
	s.call(t, "get_text", map[string]any{"tabId": work})
}

// TestExtensionByName shares a tab of the user's Chrome, which has a name.
func TestExtensionByName(t *testing.T) {
	e := &endToEnd{data: filepath.Join(t.TempDir(), "data"), site: newTestSite(t), browser: newUserBrowser(t)}
	e.browser.register(t, e.data)
	config := writeConfig(t, `{"browsers": {"own": {"type": "extension", "color": "#1a73e8"}}}`)
	e.server = startMCP(t, "--data", e.data, "--port=0", "--allow-domain", e.site.URL, "--headless", "--isolated", "--config", config)
	e.server.call(t, "chrome_status", nil, "backend: cdp", "browser own: extension, not open, #1a73e8")
	e.server.refused(t, "NO_BACKEND", "tab_new", map[string]any{"browser": "own"})
	e.server.call(t, "tabs_list", nil, "no tabs are open")
	e.browser.open()
	e.page = e.browser.Find(t, "page", "about:blank").ID
	e.server.until(t, "browser own: extension, open", "chrome_status", nil)
	e.share(t)
	list := e.server.call(t, "tabs_list", nil, "/shared")
	shared := namedTabs(list)[0]
	if !strings.HasPrefix(shared, "own:ext:") || strings.Contains(list, "\next:") {
		t.Errorf("tabs_list: %s", list)
	}
	e.server.call(t, "get_text", map[string]any{"tabId": shared}, "Lamps of walnut")
	opened := namedTabs(e.server.call(t, "tab_new", map[string]any{"browser": "own", "url": e.site.URL + "/second"}))[0]
	if !strings.HasPrefix(opened, "own:ext:") {
		t.Errorf("opened %s", opened)
	}
	e.server.refused(t, "POLICY_DENIED", "tab_new", map[string]any{"browser": "own", "url": e.site.denied()})
	e.server.call(t, "tab_close", map[string]any{"tabId": opened}, "closed own:ext:")
}

// A tokenClient calls tools of a server over TCP with a token.
type tokenClient struct {
	t          *testing.T
	url, token string
}

// call calls a tool of a session and returns the body of the response.
func (c *tokenClient) call(session, status, tool, args string, want ...string) (body string) {
	c.t.Helper()
	got, body := curl(c.t, "-H", "Authorization: Bearer "+c.token, "--json", args, c.url+"/v1/sessions/"+session+"/tools/"+tool)
	if got != status {
		c.t.Errorf("%s %s: HTTP %s %s, want %s", tool, args, got, body, status)
	}
	for _, text := range want {
		if !strings.Contains(body, text) {
			c.t.Errorf("%s %s: no %s in %s", tool, args, text, body)
		}
	}
	return body
}

// TestNamedBrowsersOfServer uses named browsers over HTTP: with a token that has them, in two
// sessions, and with one that has none.
func TestNamedBrowsersOfServer(t *testing.T) {
	t.Parallel() // it mainly waits
	needChromium(t)
	c, site := newCommandLine(t), newTestSite(t)
	settings := `"settings": {"headless": ["true"], "enable-mutations": ["true"], "enable-storage": ["true"], "allow-domain": ["` + site.URL + `"]`
	for _, flag := range rootNeedsNoSandbox() {
		settings += `, "` + strings.TrimPrefix(flag, "--") + `": ["true"]`
	}
	own, other := strings.Repeat("own-", 8), strings.Repeat("other-", 6)
	tokens := filepath.Join(t.TempDir(), "tokens.json")
	text := `{"tokens": [{"name": "own", "token": "` + own + `", "browsers": ["managed", "work", "test"], ` + settings + `}},
		{"name": "other", "token": "` + other + `", ` + settings + `}}]}`
	if err := os.WriteFile(tokens, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	config := writeConfig(t, `{"browsers": {"work": {"type": "managed", "profile": "work"}, "test": {"type": "managed"}, "home": {"type": "managed"}}}`)
	url := c.serve("--config", config, "--token-file", tokens)

	has := &tokenClient{t, url, own}
	has.call("a", "200", "chrome_status", "{}", "browser work: managed, not open", "browser test: managed, not open", `"browsers":[{"name":"work","type":"managed","open":false},{"name":"test","type":"managed","open":false}]`)
	page := `"url":"` + site.URL + `/page"`
	for _, browser := range []string{"work", "test"} {
		in := `"browser":"` + browser + `"`
		has.call("a", "200", "tab_new", "{"+page+","+in+"}", `"tabId":"`+browser+`:cdp:`, in)
		// Neither the tab nor the page of a named browser reaches a denied site.
		has.call("a", "403", "tab_new", `{"url":"`+site.denied()+`",`+in+`}`, "POLICY_DENIED")
		has.call("a", "403", "eval", `{"expression":"1"}`, "POLICY_DENIED")
		has.call("a", "200", "click", `{"selector":"#leak"}`)
		has.call("a", "200", "wait_for", `{"text":"leaked"}`, `"matched":true`) // the proxy answers
		if got := has.call("a", "200", "cookies", `{"action":"get","values":true}`); strings.Contains(got, "ann") {
			t.Errorf("%s has a cookie of another browser: %s", browser, got)
		}
		has.call("a", "200", "cookies", `{"action":"set","name":"user","value":"ann"}`)
	}
	if n := site.asked("localhost"); n > 0 {
		t.Errorf("%d requests reached the denied site: %q", n, site.hits)
	}
	has.call("a", "200", "chrome_status", "{}", "browser work: managed, open", "browser test: managed, open")
	has.call("a", "400", "tab_new", `{"browser":"home"}`, "BAD_ARGS", `unknown browser \"home\"`)

	// Another session has another context of the temporary browser, and cannot use the profile
	// while it is in use.
	has.call("b", "200", "tab_new", "{"+page+`,"browser":"test"}`)
	if got := has.call("b", "200", "cookies", `{"action":"get","values":true}`); strings.Contains(got, "ann") {
		t.Errorf("a session has the cookie of another: %s", got)
	}
	has.call("b", "429", "tab_new", `{"browser":"work"}`, "BACKPRESSURE", `profile work is in use by session \"a\"`)
	if status, body := curl(t, "-H", "Authorization: Bearer "+own, "-X", "DELETE", url+"/v1/sessions/a"); status != "204" {
		t.Errorf("close: HTTP %s %s", status, body)
	}
	has.call("b", "200", "tab_new", "{"+page+`,"browser":"work"}`)
	has.call("b", "200", "cookies", `{"action":"get","values":true}`)

	not := &tokenClient{t, url, other}
	if got := not.call("a", "200", "chrome_status", "{}"); strings.Contains(got, "work") {
		t.Errorf("a token sees browsers of another: %s", got)
	}
	not.call("a", "400", "tab_new", `{"browser":"work"}`, "BAD_ARGS", `unknown browser \"work\"`)
	// Only the settings of the token select browsers.
	if status, body := curl(t, "-H", "Authorization: Bearer "+other, "-X", "PUT", "--json", `{"browsers":["[{\"name\":\"work\",\"type\":\"managed\"}]"]}`, url+"/v1/sessions/b"); status != "400" {
		t.Errorf("a session with a browser that the token does not have: HTTP %s %s", status, body)
	}
}

// TestWindowColor checks that the window of a managed browser has its color.
func TestWindowColor(t *testing.T) {
	needChromium(t)
	d := newDisplay(t)
	t.Setenv("DISPLAY", d.name)
	site := newTestSite(t)
	config := writeConfig(t, `{"browsers": {"live": {"type": "managed", "profile": "live", "color": "#d01010"}}}`)
	s := startMCP(t, "--data", filepath.Join(t.TempDir(), "data"), "--prefer=cdp", "--allow-domain", site.URL, "--viewport=800x500", "--config", config)
	s.call(t, "tab_new", map[string]any{"browser": "live", "url": site.URL + "/first"})
	await.Until(t, "the window to be red", func() bool {
		// A pixel of the tab strip, right of the tabs.
		reply, err := xproto.GetImage(d.conn, xproto.ImageFormatZPixmap, xproto.Drawable(d.root), 500, 30, 1, 1, ^uint32(0)).Reply()
		if err != nil {
			t.Fatal(err)
		}
		blue, green, red := int(reply.Data[0]), int(reply.Data[1]), int(reply.Data[2])
		return red > green+40 && red > blue+40
	})
}
