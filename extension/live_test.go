package extension_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/steps"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// TestLive runs the actions of users in one browser. Each step depends on the state that
// the previous ones left.
func TestLive(t *testing.T) {
	web := newSite(t)
	policy := wire.Policy{
		Allow:        []string{fmt.Sprintf("http://a.test:%d", web.port()), fmt.Sprintf("http://b.test:%d", web.port())},
		Subresources: "public",
	}
	b := start(t)
	page := b.Find(t, "page", "about:blank")
	goTo := func(t *testing.T, url string) { b.GoTo(t, page.ID, url) }
	goTo(t, web.at("a.test", "/first"))

	server := newServer(t, "claude", policy)
	b.run(server)
	var c *fakeConn

	steps.Run(t, "native pairing", func(t *testing.T) {
		c = server.next(t)
		c.call(t, wire.MethodPing, wire.Empty{}, &wire.Empty{})
	})

	tab := 0
	steps.Run(t, "a tab that is not shared", func(t *testing.T) {
		var list wire.TabsList
		c.call(t, wire.MethodTabsList, wire.Empty{}, &list)
		if len(list.Tabs) != 0 {
			t.Fatalf("got %+v", list.Tabs)
		}
		b.Worker(t, "chrome.tabs.query({}).then((tabs) => tabs.find((t) => t.url.includes('a.test')).id)", &tab)
		c.refused(t, "TAB_NOT_FOUND", wire.MethodTabAttach, wire.TabRef{TabID: tab})
		c.refused(t, "TAB_NOT_FOUND", wire.MethodCDP, command(tab, "Page.enable", nil))
		c.refused(t, "UNKNOWN_METHOD", "no_such_method", wire.Empty{})
		c.refused(t, "BAD_ARGS", wire.MethodTabAttach, map[string]any{"tabId": "1"})
	})

	steps.Run(t, "share by popup", func(t *testing.T) {
		mark := c.mark()
		b.popup(t, func(click func(selector, text string)) { click("#share", "Share this tab") })
		e := c.await(t, mark, "tab_shared", named(wire.EventTabShared, tab))
		var shared wire.Tab
		if err := wire.Unmarshal(e.data, &shared); err != nil {
			t.Fatal(err)
		}
		if shared.URL != web.at("a.test", "/first") || shared.Title != "/first" || shared.TargetID != page.ID || shared.Own {
			t.Errorf("got %+v", shared)
		}
		var title string
		await.Until(t, "the group", func() bool {
			b.Worker(t, fmt.Sprintf("chrome.tabs.get(%d).then((t) => t.groupId < 0 ? '' : chrome.tabGroups.get(t.groupId).then((g) => g.title))", tab), &title)
			return title == "chrome-mcp"
		})
	})

	steps.Run(t, "relay", func(t *testing.T) {
		c.refused(t, "DETACHED", wire.MethodCDP, command(tab, "Page.enable", nil))
		var attached wire.Tab
		c.call(t, wire.MethodTabAttach, wire.TabRef{TabID: tab}, &attached)
		c.call(t, wire.MethodTabAttach, wire.TabRef{TabID: tab}, &attached)
		if attached.TargetID != page.ID {
			t.Errorf("target %s, want %s", attached.TargetID, page.ID)
		}
		world := isolated(t, c, tab)
		got := c.cdp(t, tab, "Runtime.evaluate", map[string]any{"expression": "document.title", "uniqueContextId": world})
		if !strings.Contains(string(got), `"/first"`) {
			t.Errorf("evaluated to %s", got)
		}
		// Errors of the browser are relayed.
		_, problem := c.try(t, wire.MethodCDP, command(tab, "Runtime.evaluate", map[string]any{"expression": "1", "uniqueContextId": "gone"}))
		if problem == nil || problem.Code != "CDP_ERROR" || !strings.Contains(string(problem.Data), "uniqueContextId not found") {
			t.Errorf("problem %+v", problem)
		}
		_, problem = c.try(t, wire.MethodCDP, command(tab, "DOM.describeNode", map[string]any{"backendNodeId": 99999999}))
		if problem == nil || problem.Code != "CDP_ERROR" || !strings.Contains(string(problem.Data), "-32000") {
			t.Errorf("problem %+v", problem)
		}
	})

	steps.Run(t, "denied commands", func(t *testing.T) {
		for method, params := range map[string]map[string]any{
			"Network.getAllCookies":                 nil,
			"Storage.getCookies":                    nil,
			"Network.getCookies":                    {"urls": []string{web.at("b.test", "/")}},
			"Target.createTarget":                   {"url": "about:blank"},
			"Tracing.start":                         nil,
			"DOM.setFileInputFiles":                 {"files": []string{"/etc/passwd"}, "backendNodeId": 1},
			"Page.captureSnapshot":                  nil,
			"Page.navigate":                         {"url": web.at("denied.test", "/navigate")},
			"Page.addScriptToEvaluateOnNewDocument": {"source": "1"},
		} {
			c.refused(t, "POLICY_DENIED", wire.MethodCDP, command(tab, method, params))
		}
		c.refused(t, "POLICY_DENIED", wire.MethodCDP, command(tab, "Page.navigate", map[string]any{"url": "file:///etc/passwd"}))
		if n := web.count("denied.test", "/navigate"); n != 0 {
			t.Errorf("%d hits", n)
		}
		c.cdp(t, tab, "Network.getCookies", map[string]any{"urls": []string{web.at("a.test", "/")}})
	})

	steps.Run(t, "consent", func(t *testing.T) {
		evaluate := command(tab, "Runtime.evaluate", map[string]any{"expression": "window.mine = 40 + 2"})
		c.refused(t, "CONSENT_REQUIRED", wire.MethodCDP, evaluate)
		origin := strings.TrimSuffix(web.at("a.test", ""), "/")
		pending := c.start(wire.MethodConsent, wire.PromptParams{Kind: "eval", Origin: origin, Call: "1"})
		b.popup(t, func(click func(selector, text string)) { click("#questions button", "Allow this session") })
		var granted wire.PromptResult
		a := <-pending
		if a.err != nil || wire.Unmarshal(a.data, &granted) != nil || !granted.Granted {
			t.Fatalf("answer %s %+v", a.data, a.err)
		}
		got := c.cdp(t, tab, "Runtime.evaluate", map[string]any{"expression": "window.mine = 40 + 2"})
		if !strings.Contains(string(got), "42") {
			t.Errorf("evaluated to %s", got)
		}
	})

	steps.Run(t, "commands keep their order", func(t *testing.T) {
		world := isolated(t, c, tab)
		var answers []<-chan answer
		for i := range 200 {
			params := map[string]any{"expression": fmt.Sprintf("(globalThis.seen ??= []).push(%d)", i), "uniqueContextId": world}
			if i%50 == 25 { // its check queries the browser
				answers = append(answers, c.start(wire.MethodCDP, command(tab, "Page.navigateToHistoryEntry", map[string]any{"entryId": 987654})))
			}
			answers = append(answers, c.start(wire.MethodCDP, command(tab, "Runtime.evaluate", params)))
		}
		for _, a := range answers {
			<-a
		}
		got := c.cdp(t, tab, "Runtime.evaluate", map[string]any{
			"expression": "seen.length === 200 && seen.every((n, i) => n === i)", "uniqueContextId": world,
		})
		if !strings.Contains(string(got), "true") {
			t.Errorf("out of order: %s", got)
		}
	})

	steps.Run(t, "network rules", func(t *testing.T) {
		visits := 0
		home := func() {
			t.Helper()
			mark := c.mark()
			visits++
			url := web.at("a.test", fmt.Sprintf("/home%d", visits))
			c.cdp(t, tab, "Page.navigate", map[string]any{"url": url})
			c.await(t, mark, "the page", func(e event) bool {
				return e.name == wire.EventCDP && strings.Contains(string(e.data), `"Page.frameNavigated"`) && strings.Contains(string(e.data), url)
			})
			c.cdp(t, tab, "Runtime.evaluate", map[string]any{"awaitPromise": true,
				"expression": "new Promise((r) => document.readyState === 'complete' ? r() : addEventListener('load', () => r()))"})
		}
		private := func(path string) string { return fmt.Sprintf("http://127.0.0.1:%d/%s", web.port(), path) }
		scripts := map[string]string{
			"location": fmt.Sprintf("location.href = '%s'", web.at("denied.test", "/location")),
			"open":     fmt.Sprintf("open('%s')", web.at("denied.test", "/open")),
			"noopener": fmt.Sprintf("open('%s', '', 'noopener')", web.at("denied.test", "/noopener")),
			"link":     fmt.Sprintf("Object.assign(document.createElement('a'), {href: '%s', target: '_blank'}).click()", web.at("denied.test", "/link")),
			"form":     fmt.Sprintf("document.body.append(Object.assign(document.createElement('form'), {action: '%s', method: 'post'})); document.forms[0].submit()", web.at("denied.test", "/form")),
			"fetch":    fmt.Sprintf("fetch('%s', {mode: 'no-cors'}).catch(String)", private("fetch")),
			"image":    fmt.Sprintf("new Promise((r) => { const i = new Image(); i.onload = i.onerror = r; i.src = '%s'; }).then(() => 1)", private("image")),
			"frame":    fmt.Sprintf("new Promise((r) => { const f = document.createElement('iframe'); f.onload = r; f.src = '%s'; document.body.append(f); }).then(() => 1)", private("frame")),
			"socket":   fmt.Sprintf("new Promise((r) => { const w = new WebSocket('%s'); w.onopen = w.onerror = r; }).then(() => 1)", strings.Replace(private("socket"), "http", "ws", 1)),
			"beacon":   fmt.Sprintf("navigator.sendBeacon('%s')", private("beacon")),
			// It has neither a tab nor an origin.
			"shared": fmt.Sprintf("new Promise((r) => { new SharedWorker('data:text/javascript,' + encodeURIComponent(`onconnect = (e) => fetch('%s', {mode: 'no-cors'}).catch(() => 0).then(() => e.ports[0].postMessage(1))`)).port.onmessage = r; }).then(() => 1)", private("shared")),
			"worker": fmt.Sprintf("new Promise((r) => { const w = new Worker(URL.createObjectURL(new Blob([`fetch('%s', {mode: 'no-cors'}).catch(() => 0).then(() => postMessage(1))`]))); w.onmessage = r; }).then(() => 1)", private("worker")),
		}
		for _, name := range slices.Sorted(maps.Keys(scripts)) { // link before open: a popup window whose opener is a popup window
			home()
			mark := c.mark()
			c.cdp(t, tab, "Runtime.evaluate", map[string]any{"expression": scripts[name], "awaitPromise": true, "userGesture": true})
			if name == "location" || name == "form" { // the browser's error page
				c.await(t, mark, "the denial", func(e event) bool {
					return e.name == wire.EventCDP && strings.Contains(string(e.data), `"unreachableUrl"`)
				})
			}
		}
		home()
		got := c.cdp(t, tab, "Runtime.evaluate", map[string]any{"awaitPromise": true, "expression": fmt.Sprintf(`fetch('%s', {mode: 'no-cors'}).then(() => 'loaded', String)`, web.at("b.test", "/allowed"))})
		if !strings.Contains(string(got), "loaded") || web.count("b.test", "/allowed") != 1 {
			t.Errorf("an allowed site did not load: %s", got)
		}
		for name := range scripts {
			if n := web.count("denied.test", "/"+name) + web.count("127.0.0.1", "/"+name); n != 0 {
				t.Errorf("%s: %d hits on a denied site", name, n)
			}
		}
		// The tabs that the page opened are shared also, and closed here.
		var opened []int
		b.Worker(t, fmt.Sprintf("chrome.tabs.query({}).then((tabs) => tabs.map((t) => t.id).filter((id) => id !== %d))", tab), &opened)
		var list wire.TabsList
		c.call(t, wire.MethodTabsList, wire.Empty{}, &list)
		if len(opened) != 3 || len(list.Tabs) != 1+len(opened) {
			t.Errorf("opened %v, shared %+v", opened, list.Tabs)
		}
		b.Worker(t, fmt.Sprintf("chrome.tabs.query({}).then((tabs) => chrome.tabs.remove(tabs.map((t) => t.id).filter((id) => id !== %d)))", tab), nil)
	})

	steps.Run(t, "pages that cannot be driven", func(t *testing.T) {
		mark := c.mark()
		b.WithSession(t, page.ID, func(session string) {
			b.Call(t, session, "Page.navigate", map[string]any{"url": "chrome://version/"}, nil)
		})
		e := c.await(t, mark, "detached", named(wire.EventDetached, tab))
		var d wire.Detached
		if err := wire.Unmarshal(e.data, &d); err != nil || !strings.Contains(d.Reason, "belong to the browser") {
			t.Errorf("detached %+v %v", d, err)
		}
		c.refused(t, "DETACHED", wire.MethodCDP, command(tab, "Page.enable", nil))
		if words := c.refused(t, "POLICY_DENIED", wire.MethodTabAttach, wire.TabRef{TabID: tab}); !strings.Contains(words, "browser") {
			t.Errorf("message %q", words)
		}
		goTo(t, web.at("a.test", "/back"))
		c.call(t, wire.MethodTabAttach, wire.TabRef{TabID: tab}, &wire.Tab{})
	})

	steps.Run(t, "own tabs", func(t *testing.T) {
		var own wire.Tab
		c.call(t, wire.MethodTabNew, wire.Empty{}, &own)
		if own.Active || !own.Own || own.TargetID == "" {
			t.Errorf("opened %+v", own)
		}
		c.cdp(t, own.TabID, "Page.navigate", map[string]any{"url": web.at("a.test", "/own")})
		await.Until(t, "the own tab's page", func() bool { return web.count("a.test", "/own") == 1 })
		mark := c.mark()
		var closed wire.TabClosed
		c.call(t, wire.MethodTabClose, wire.TabRef{TabID: own.TabID}, &closed)
		if !closed.Closed || closed.Released {
			t.Errorf("closing an own tab: %+v", closed)
		}
		c.await(t, mark, "tab_unshared closed", unshared(own.TabID, "closed"))
	})

	steps.Run(t, "unshared during a call", func(t *testing.T) {
		mark := c.mark()
		running := c.start(wire.MethodCDP, command(tab, "Runtime.evaluate", map[string]any{"expression": "new Promise(() => {})", "awaitPromise": true}))
		c.cdp(t, tab, "Page.getLayoutMetrics", nil) // it runs
		b.popup(t, func(click func(selector, text string)) { click("#share", "Stop sharing this tab") })
		a := <-running
		if a.err == nil || a.err.Code != "DETACHED" {
			t.Errorf("answer %s %+v", a.data, a.err)
		}
		c.await(t, mark, "tab_unshared user", unshared(tab, "user"))
		c.refused(t, "TAB_NOT_FOUND", wire.MethodCDP, command(tab, "Page.enable", nil))
		await.Until(t, "the rules to be removed", func() bool {
			var n int
			b.Worker(t, "chrome.declarativeNetRequest.getSessionRules().then((r) => r.length)", &n)
			return n == 0
		})
	})

	steps.Run(t, "dragged out of the group", func(t *testing.T) {
		mark := c.mark()
		b.Worker(t, "chrome.commands.onCommand.dispatch('share-tab')", nil)
		c.await(t, mark, "tab_shared", named(wire.EventTabShared, tab))
		grouped := fmt.Sprintf("chrome.tabs.get(%d).then((t) => t.groupId >= 0)", tab)
		await.Until(t, "the group", func() bool {
			var in bool
			b.Worker(t, grouped, &in)
			return in
		})
		b.Worker(t, fmt.Sprintf("chrome.tabs.ungroup(%d)", tab), nil)
		c.await(t, mark, "tab_unshared moved", unshared(tab, "moved"))
	})

	steps.Run(t, "the screen is locked", func(t *testing.T) {
		mark := c.mark()
		b.Worker(t, "chrome.commands.onCommand.dispatch('share-tab')", nil)
		c.await(t, mark, "tab_shared", named(wire.EventTabShared, tab))
		b.Worker(t, "chrome.idle.onStateChanged.dispatch('locked')", nil)
		c.await(t, mark, "tab_unshared locked", unshared(tab, "locked"))
	})

	steps.Run(t, "the worker is killed", func(t *testing.T) {
		mark := c.mark()
		b.popup(t, func(click func(selector, text string)) { click("#share", "Share this tab") })
		c.await(t, mark, "tab_shared", named(wire.EventTabShared, tab))
		c.call(t, wire.MethodTabAttach, wire.TabRef{TabID: tab}, &wire.Tab{})
		running := c.start(wire.MethodCDP, command(tab, "Runtime.evaluate", map[string]any{"expression": "new Promise(() => {})", "awaitPromise": true}))
		c.cdp(t, tab, "Page.getLayoutMetrics", nil)
		b.Call(t, "", "Target.closeTarget", map[string]any{"targetId": b.Find(t, "service_worker", extension.ID()).ID}, nil)
		if a := <-running; a.err == nil || a.err.Code != "EXTENSION_DISCONNECTED" {
			t.Errorf("answer %s %+v", a.data, a.err)
		}
		run := c.run
		c = server.next(t)             // started by the alarm, or by an event of the tab
		if run == "" || c.run != run { // tab ids are unchanged
			t.Errorf("the browser's run %q became %q", run, c.run)
		}
		var list wire.TabsList
		c.call(t, wire.MethodTabsList, wire.Empty{}, &list)
		if len(list.Tabs) != 1 || list.Tabs[0].TabID != tab {
			t.Fatalf("tabs %+v", list.Tabs)
		}
		c.call(t, wire.MethodTabAttach, wire.TabRef{TabID: tab}, &wire.Tab{}) // although it is still attached
		isolated(t, c, tab)
	})

	steps.Run(t, "the server restarts on another port", func(t *testing.T) {
		installation := c.installation
		server.stop()
		next := newServer(t, "claude", policy)
		b.run(next)
		c = next.next(t)
		if c.installation != installation {
			t.Errorf("installation %s became %s", installation, c.installation)
		}
		server = next
	})

	steps.Run(t, "two servers", func(t *testing.T) {
		other := newServer(t, "other", policy)
		b.run(server, other)
		o := other.next(t)
		attach := func(c, loses *fakeConn) {
			t.Helper()
			mark := loses.mark()
			c.call(t, wire.MethodTabAttach, wire.TabRef{TabID: tab}, &wire.Tab{})
			loses.await(t, mark, "tab_unshared other_server", unshared(tab, "other_server"))
			loses.refused(t, "TAB_NOT_FOUND", wire.MethodTabAttach, wire.TabRef{TabID: tab})
			var list wire.TabsList
			loses.call(t, wire.MethodTabsList, wire.Empty{}, &list)
			if len(list.Tabs) != 0 {
				t.Errorf("got %+v", list.Tabs)
			}
		}
		await.Until(t, "the tab to have no driver", func() bool { // it is reserved for its old server
			var list wire.TabsList
			o.call(t, wire.MethodTabsList, wire.Empty{}, &list)
			return len(list.Tabs) == 1
		})
		attach(c, o)
		mark := o.mark()
		c.call(t, wire.MethodTabRelease, wire.TabRef{TabID: tab}, &wire.Empty{})
		o.await(t, mark, "tab_shared", named(wire.EventTabShared, tab))
		attach(o, c)
		o.call(t, wire.MethodTabRelease, wire.TabRef{TabID: tab}, &wire.Empty{})
	})

	steps.Run(t, "options page and pairing string", func(t *testing.T) {
		remote := newServer(t, "paired", policy)
		secret := wire.NewKey()
		remote.keys = map[string][]byte{wire.KeyPairing: secret}
		var opened struct {
			TargetID string `json:"targetId"`
		}
		b.Call(t, "", "Target.createTarget", map[string]any{"url": "chrome-extension://" + extension.ID() + "/options.html"}, &opened)
		b.WithSession(t, opened.TargetID, func(session string) {
			await.Until(t, "the options page", func() bool {
				var ok bool
				b.Eval(t, session, "document.readyState === 'complete' && !!document.getElementById('native')?.textContent.includes('responds')", &ok)
				return ok
			})
			text, _ := json.Marshal(wire.PairingString(remote.port, secret))
			b.Eval(t, session, "document.getElementById('pairing').value = "+string(text), nil)
			b.Click(t, session, "#pair button", "Pair")
			p := remote.next(t)
			p.call(t, wire.MethodPing, wire.Empty{}, &wire.Empty{})
			await.Until(t, "the pairing", func() bool {
				var ok bool
				b.Eval(t, session, "document.getElementById('paired').textContent === 'Paired.' && document.querySelectorAll('#pairings li').length === 1", &ok)
				return ok
			})
			// From now on it uses its own key, without the native host.
			if err := os.Remove(b.host); err != nil {
				t.Fatal(err)
			}
			p.ws.Close()
			p = remote.next(t)
			p.call(t, wire.MethodPing, wire.Empty{}, &wire.Empty{})
			// It reports a server that nothing else lists, and that no alarm finds.
			b.Worker(t, withoutAlarms, nil)
			second := newServerAt(t, "second", policy, usualPort(t))
			second.keys = map[string][]byte{wire.KeyPaired: remote.own}
			if err := p.send(&wire.ServersChange{}); err != nil {
				t.Fatal(err)
			}
			second.next(t).call(t, wire.MethodPing, wire.Empty{}, &wire.Empty{})
			second.stop()
			b.Click(t, session, "#pairings button", "Revoke")
			await.Receive(t, "the connection to be closed after the key was revoked", p.done)
		})
		b.Send("", "Target.closeTarget", map[string]any{"targetId": opened.TargetID})
	})
}

// withoutAlarms is a script for the worker, after which no alarm causes a search for servers.
const withoutAlarms = "chrome.alarms.create = async () => {}; chrome.alarms.clearAll()"

// isolated creates an isolated world in a tab's document and returns its
// unique id.
func isolated(t *testing.T, c *fakeConn, tab int) string {
	t.Helper()
	mark := c.mark()
	c.cdp(t, tab, "Page.enable", nil)
	c.cdp(t, tab, "Runtime.enable", nil)
	var tree struct {
		FrameTree struct {
			Frame struct {
				ID string `json:"id"`
			} `json:"frame"`
		} `json:"frameTree"`
	}
	if err := json.Unmarshal(c.cdp(t, tab, "Page.getFrameTree", nil), &tree); err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("w%d", mark)
	c.cdp(t, tab, "Page.createIsolatedWorld", map[string]any{"frameId": tree.FrameTree.Frame.ID, "worldName": name})
	var unique string
	c.await(t, mark, "the context of "+name, func(e event) bool {
		var d struct {
			Method string `json:"method"`
			Params struct {
				Context struct {
					Name     string `json:"name"`
					UniqueID string `json:"uniqueId"`
				} `json:"context"`
			} `json:"params"`
		}
		if e.name != wire.EventCDP || json.Unmarshal(e.data, &d) != nil || d.Params.Context.Name != name {
			return false
		}
		unique = d.Params.Context.UniqueID
		return true
	})
	return unique
}
