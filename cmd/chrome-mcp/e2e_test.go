package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shirou/gopsutil/v4/process"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/steps"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// An endToEnd is a complete setup: the program as an MCP host starts it, a browser with the
// extension, and a site.
type endToEnd struct {
	data    string
	site    *testSite
	server  *mcpServer
	browser *userBrowser
	page    string   // CDP target id of the tab in the foreground
	secrets []string // must not occur in any output
}

// TestEndToEnd runs through a typical day of a user with one server and one browser. Each step
// starts in the state that the previous step left.
func TestEndToEnd(t *testing.T) {
	t.Parallel() // it mainly waits
	e := &endToEnd{data: filepath.Join(t.TempDir(), "data"), site: newTestSite(t), browser: newUserBrowser(t)}
	e.server = startMCP(t, "--data", e.data, "--port=0", "--allow-domain", e.site.URL, "--enable-mutations", "--enable-downloads",
		"--unsafe-enable-eval", "--headless", "--isolated", "--log-level=debug", "--state", "ann", "--state-dir", e.savedState(t))
	for _, step := range []struct {
		name string
		work func(*endToEnd, *testing.T)
	}{
		{"extension not connected yet", (*endToEnd).alone},
		{"pairing string", (*endToEnd).pairByString},
		{"native messaging", (*endToEnd).pairByNativeMessaging},
		{"share by popup", (*endToEnd).shareByPopup},
		{"share by shortcut", (*endToEnd).shareByShortcut},
		{"share by group", (*endToEnd).shareByGroup},
		{"every tool", (*endToEnd).everyTool},
		{"policy", (*endToEnd).policy},
		{"stopped in mid-call", (*endToEnd).stopInMidCall},
		{"another server", (*endToEnd).anotherServer},
		{"Chrome closed and opened", (*endToEnd).closeAndOpen},
		{"Chrome frozen", (*endToEnd).freeze},
		{"stop and SIGHUP", (*endToEnd).stopAndReconnect},
		{"the end", (*endToEnd).end},
	} {
		steps.Run(t, step.name, func(t *testing.T) { step.work(e, t) })
		e.guardSecrets(t)
	}
}

// savedState writes the storage state ann, as Playwright does, with a login on the site and one on
// the denied site. It returns its directory.
func (e *endToEnd) savedState(t *testing.T) (dir string) {
	t.Helper()
	cookie := func(domain string) map[string]any {
		return map[string]any{"name": "user", "value": "ann", "domain": domain, "path": "/", "expires": -1, "httpOnly": false, "secure": false, "sameSite": "Lax"}
	}
	origin := func(url string) map[string]any {
		return map[string]any{"origin": url, "localStorage": []map[string]string{{"name": "theme", "value": "dark"}}}
	}
	dir = t.TempDir()
	state := map[string]any{
		"cookies": []any{cookie("127.0.0.1"), cookie("localhost")},
		"origins": []any{origin(e.site.URL), origin(strings.TrimSuffix(e.site.denied(), "/denied"))},
	}
	if err := os.WriteFile(filepath.Join(dir, "ann.json"), []byte(asJSON(state)), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// alone checks that calls use a launched browser with the storage state of --state, and that the
// status contains the reason.
func (e *endToEnd) alone(t *testing.T) {
	e.server.call(t, "chrome_status", nil, "backend: cdp", "no extension is connected: none was set up", "extension connected: false")
	e.server.call(t, "navigate", map[string]any{"url": e.site.URL + "/managed"}, "managed")
	e.server.call(t, "eval", map[string]any{"expression": "document.cookie + ' ' + localStorage.theme"}, "user=ann dark")
	if log := e.server.er.String(); !strings.Contains(log, "cookies=1 items=1 denied_cookies=1 denied_origins=1 ") {
		t.Errorf("the log does not report what was loaded:\n%s", log)
	}
	e.server.call(t, "tabs_list", nil, "cdp:")
	published(t, e.data)
	e.secrets = append(e.secrets, token(t, e.data))
}

// published waits until the only server of data directory data can be found.
func published(t *testing.T, data string) {
	t.Helper()
	await.Until(t, "the handshake file", func() bool {
		files, _ := filepath.Glob(filepath.Join(data, "handshakes", "*.json"))
		return len(files) == 1
	})
}

// pairByString pairs without the native messaging host, with the string that the user pastes into
// the options page.
func (e *endToEnd) pairByString(t *testing.T) {
	b := e.browser
	b.open()
	e.page = b.Find(t, "page", "about:blank").ID
	b.GoTo(t, e.page, e.site.URL+"/first")
	stdout, stderr, err := execute(t, e.data, nil, "--print-pairing")
	if err != nil {
		t.Fatal(err, stderr)
	}
	path := strings.TrimSpace(stdout)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	pairing := strings.TrimSpace(string(text))
	_, secret, err := wire.ParsePairingString(pairing)
	if err != nil {
		t.Fatal(err)
	}
	e.secrets = append(e.secrets, pairing, wire.EncodeKey(secret))
	wantNoSecret(t, "--print-pairing", stdout+stderr, e.secrets)

	b.options(t, func(s string) {
		b.holds(t, s, "document.getElementById('native')?.textContent.includes('not')")
		b.Eval(t, s, "document.getElementById('pairing').value = "+asJSON(pairing), nil)
		b.Click(t, s, "#pair button", "Pair")
		b.holds(t, s, "document.getElementById('paired').textContent === 'Paired.'")
		b.holds(t, s, "document.getElementById('native').textContent.includes('with the keys below') && document.getElementById('no-keys').hidden")
		b.holds(t, s, "document.querySelectorAll('#servers li').length === 1") // and no entry for a port without a known server
	})
	var paired struct{ Pairings []struct{ Key string } }
	file, err := os.ReadFile(filepath.Join(e.data, "pairings.json"))
	if err != nil || json.Unmarshal(file, &paired) != nil || len(paired.Pairings) != 1 {
		t.Fatalf("pairings.json: %v, %d pairings", err, len(paired.Pairings))
	}
	e.secrets = append(e.secrets, paired.Pairings[0].Key)
	if _, err := os.Stat(path); err == nil {
		t.Error("the string can be used again")
	}

	// The late extension becomes the backend, and no call runs in a browser that it was not
	// intended for.
	e.server.call(t, "chrome_status", nil, "backend: extension", "extension connected: true", "no tab shared")
	e.server.refused(t, "STALE_TAB", "get_text", nil, "the active tab is in the managed or attached browser (cdp)")
	e.server.call(t, "tabs_list", nil, "note: calls now use the user's own Chrome (extension)")
	e.server.refused(t, "TAB_NOT_FOUND", "get_text", nil, "no tab is shared", "ask the user to share one")

	if _, stderr, err := execute(t, e.data, nil, "extension", "unpair"); err != nil {
		t.Fatal(err, stderr)
	}
	e.server.until(t, "the extension was unpaired (The user revoked the key", "chrome_status", nil)
}

// pairByNativeMessaging pairs as after `chrome-mcp extension install`.
func (e *endToEnd) pairByNativeMessaging(t *testing.T) {
	b := e.browser
	b.options(t, func(s string) { // the revoked key
		b.Click(t, s, "#pairings button", "Revoke")
		b.holds(t, s, "!document.getElementById('no-keys').hidden")
	})
	b.register(t, e.data)
	b.Popup(t, func(s string) { // the user may instead wait half a minute
		b.Click(t, s, "#again", "Search again")
		e.server.until(t, "backend: extension", "chrome_status", nil)
		b.shows(t, s, "#status", "test connected, no tab shared")
	})
	e.server.call(t, "chrome_status", nil, "the user's own Chrome", "no tab shared", "extension connected: true")
	e.server.call(t, "tabs_list", nil)
}

func (e *endToEnd) shareByPopup(t *testing.T) {
	e.browser.press(t, "#share", "Share this tab")
	e.server.until(t, "/first", "tabs_list", nil)
	e.server.call(t, "chrome_status", nil, "1 tab shared")
	e.server.call(t, "get_text", nil, "Lamps of walnut")
	e.browser.press(t, "#share", "Stop sharing this tab")
	e.server.until(t, "no tab shared", "chrome_status", nil)
	e.server.refused(t, "TAB_NOT_FOUND", "get_text", nil, "no tab is shared")
}

func (e *endToEnd) shareByShortcut(t *testing.T) {
	e.browser.toggleSharing(t)
	e.server.until(t, "/first", "tabs_list", nil)
	e.server.call(t, "get_text", nil, "Lamps of walnut")
	e.browser.Worker(t, "chrome.commands.onCommand.dispatch('stop-all')", nil)
	e.server.until(t, "no tab shared", "chrome_status", nil)
}

// shareByGroup drags a second tab into the tab group of the first, and out of it.
func (e *endToEnd) shareByGroup(t *testing.T) {
	b := e.browser
	b.toggleSharing(t)
	e.server.until(t, "/first", "tabs_list", nil)
	id := b.NewTab(t, e.site.URL+"/dragged")
	first, dragged := b.number(t, "/first"), b.number(t, "/dragged")
	await.Until(t, "the group", func() bool {
		var grouped bool
		b.Worker(t, fmt.Sprintf("chrome.tabs.get(%d).then((t) => t.groupId >= 0)", first), &grouped)
		return grouped
	})
	b.Worker(t, fmt.Sprintf("chrome.tabs.get(%d).then((t) => chrome.tabs.group({groupId: t.groupId, tabIds: [%d]}))", first, dragged), nil)
	e.server.until(t, "2 tabs shared", "chrome_status", nil)
	e.server.call(t, "get_text", nil, "dragged") // the tab that was shared last
	b.Worker(t, fmt.Sprintf("chrome.tabs.ungroup(%d)", dragged), nil)
	e.server.until(t, "1 tab shared", "chrome_status", nil)
	b.Send("", "Target.closeTarget", map[string]any{"targetId": id})
	e.server.refused(t, "TAB_NOT_FOUND", "get_text", nil, "the active tab is no longer shared", "the user moved the tab out", "/first")
	e.selectTab(t, "/first")
	e.server.call(t, "get_text", nil, "first")
}

// policy checks that calls that the policy does not allow are denied, and that the extension
// enforces the policy on shared pages.
func (e *endToEnd) policy(t *testing.T) {
	s := e.server
	s.call(t, "navigate", map[string]any{"url": e.site.URL + "/policy"}, "policy")
	s.refused(t, "POLICY_DENIED", "navigate", map[string]any{"url": e.site.denied()}, "localhost")
	s.call(t, "click", map[string]any{"selector": "#leak"})
	s.until(t, "held", "get_text", map[string]any{"selector": "#leak"})
	s.call(t, "click", map[string]any{"selector": "#away"})
	if n := e.site.asked("localhost "); n != 0 {
		t.Errorf("%d requests to a denied site", n)
	}
	s.refused(t, "POLICY_DENIED", "get_text", nil, "localhost") // the tab shows the browser's error page
	// The user's other tabs are not restricted.
	id := e.browser.NewTab(t, e.site.denied())
	e.browser.Send("", "Target.closeTarget", map[string]any{"targetId": id})
	if n := e.site.asked("localhost /denied"); n != 1 {
		t.Errorf("%d requests by the user", n)
	}
	s.call(t, "tabs_list", nil, "(denied by policy)")
	e.browser.GoTo(t, e.page, e.site.URL+"/back")
}

// stopInMidCall checks that each way to end sharing also ends the running call, whose page does not
// respond.
func (e *endToEnd) stopInMidCall(t *testing.T) {
	b := e.browser
	for _, c := range []struct {
		name, want string
		stop       func()
	}{
		{"unshared in the popup", "the user stopped sharing the tab", func() {
			b.Popup(t, func(s string) {
				b.holds(t, s, "document.getElementById('share').textContent === 'Stop sharing this tab'")
				b.Click(t, s, "#share", "Stop sharing this tab")
			})
		}},
		{"Stop all", "the user pressed Stop", func() {
			b.Popup(t, func(s string) {
				b.holds(t, s, "!document.getElementById('stop-all').disabled")
				b.Click(t, s, "#stop-all", "Stop all")
			})
		}},
		{"the shortcut", "the user stopped sharing the tab", func() {
			b.toggleSharing(t)
		}},
		{"dragged out of the group", "the user moved the tab out", func() {
			number := b.number(t, e.site.URL)
			b.Worker(t, fmt.Sprintf("chrome.tabs.ungroup(%d)", number), nil)
		}},
	} {
		answered := make(chan string, 1)
		go func() {
			args := map[string]any{"url": e.site.URL + "/slow", "timeoutMs": await.HangLimit.Milliseconds()}
			text, failed, err := e.server.try(t.Context(), "navigate", args)
			if err != nil || !failed {
				text = fmt.Sprintf("error %v, text %s", err, text)
			}
			answered <- text
		}()
		select {
		case <-e.site.slow:
		case text := <-answered:
			t.Fatalf("%s: the call answered before its request arrived: %s", c.name, text)
		}
		c.stop()
		text := await.Receive(t, "the end of the call", answered)
		if !strings.HasPrefix(text, "DETACHED: ") || !strings.Contains(strings.ToLower(text), strings.ToLower(c.want)) {
			t.Errorf("%s: the call answered %q", c.name, text)
		}
		e.server.refused(t, "TAB_NOT_FOUND", "get_text", nil)
		e.share(t)
	}
}

// share shares the tab in the foreground, once it shows the page, and has the agent select it. The
// agent has selected a tab before.
func (e *endToEnd) share(t *testing.T) {
	t.Helper()
	e.browser.GoTo(t, e.page, e.site.URL+"/shared")
	e.browser.Call(t, "", "Target.activateTarget", map[string]any{"targetId": e.page}, nil)
	e.browser.toggleSharing(t)
	e.server.until(t, "/shared", "tabs_list", nil)
	e.selectTab(t, "/shared")
}

// selectTab selects the tab at a path, and uses it.
func (e *endToEnd) selectTab(t *testing.T, path string) {
	t.Helper()
	for line := range strings.Lines(e.server.call(t, "tabs_list", nil, path)) {
		if strings.Contains(line, path) {
			e.server.call(t, "tab_select", map[string]any{"tabId": strings.Fields(line)[0]}, path)
		}
	}
	e.server.call(t, "get_text", nil, "Lamps of walnut")
}

// guardSecrets searches everything that can be read from outside for secrets.
func (e *endToEnd) guardSecrets(t *testing.T) {
	t.Helper()
	wantNoSecret(t, "stdout", e.server.out.String(), e.secrets)
	wantNoSecret(t, "stderr", e.server.er.String(), e.secrets)
	all, err := process.Processes()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		line, _ := p.Cmdline()
		environ, _ := p.Environ()
		wantNoSecret(t, "a command line", line, e.secrets)
		wantNoSecret(t, "an environment", strings.Join(environ, "\n"), e.secrets)
	}
	for _, server := range bridge.RunningServers(e.data) {
		wantNoSecret(t, "the list of servers", fmt.Sprint(server), e.secrets)
	}
}

func wantNoSecret(t *testing.T, where, text string, secrets []string) {
	t.Helper()
	for i, secret := range secrets {
		if secret == "" || strings.Contains(text, secret) {
			t.Errorf("secret %d is in %s", i, where)
		}
	}
}
