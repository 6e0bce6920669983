package extension

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/cdpsuite"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// denied sends a command, which must fail with an error that contains part.
func (p *cdpPeer) denied(session, method string, params any, part string) {
	p.t.Helper()
	result, err := p.try(session, method, params)
	if err == nil {
		p.t.Errorf("%s was not denied: %.200s", method, result)
	} else if !strings.Contains(err.Message, part) {
		p.t.Errorf("%s: error %q, want one with %q", method, err.Message, part)
	}
}

// logged waits until the client receives a console message.
func (p *cdpPeer) logged(session, text string) {
	p.t.Helper()
	p.find(session, "Runtime.consoleAPICalled", func(params map[string]any) bool {
		return params["args"].([]any)[0].(map[string]any)["value"] == text
	})
}

// evalTool evaluates an expression by a tool.
func (env *testEnv) evalTool(id executor.TabID, expression string) string {
	env.t.Helper()
	r, err := pagetest.Of(env.s, id).Eval(env.t.Context(), expression, nil)
	if err != nil {
		env.t.Fatalf("a tool cannot evaluate: %v", err)
	}
	return string(r.Value)
}

// waitAttached waits until the debugger is attached to n tabs.
func (env *testEnv) waitAttached(n int) {
	env.t.Helper()
	await.Until(env.t, fmt.Sprintf("the debugger is attached to %d tabs", n), func() bool { return env.attachedTabs() == n })
}

// holds waits until an expression is true in a page of the extension.
func (env *testEnv) holds(session, expression string) {
	env.t.Helper()
	await.Until(env.t, expression, func() (ok bool) {
		env.u.Eval(env.t, session, expression, &ok)
		return ok
	})
}

// TestCDPClients connects clients to the tabs of one browser.
func TestCDPClients(t *testing.T) {
	env := newCDPEnv(t)
	run := func(name string, work func(t *testing.T)) {
		t.Run(name, func(t *testing.T) {
			env.t, env.u.t = t, t
			work(t)
		})
		env.t, env.u.t = t, t
	}

	run("setup attaches no debugger, and its contexts remain valid", func(t *testing.T) {
		env.share("/setup")
		c := connectCDP(t, env.b)
		session := c.attachAll(env.site.URL + "/setup")
		main, utility := c.playwrightSetup(session)
		if n := env.attachedTabs(); n != 0 {
			t.Errorf("the setup attached the debugger to %d tabs", n)
		}
		for _, id := range []float64{main, utility} {
			var r struct {
				Result struct {
					Value string `json:"value"`
				} `json:"result"`
			}
			c.call(session, "Runtime.evaluate", map[string]any{"expression": "location.pathname", "contextId": id}, &r)
			if r.Result.Value != "/setup" {
				t.Errorf("context %v is at %q", id, r.Result.Value)
			}
		}
		c.call(session, "Page.navigate", map[string]any{"url": env.site.URL + "/setup2"}, nil)
		c.find(session, "Page.frameNavigated", func(params map[string]any) bool {
			return params["frame"].(map[string]any)["url"] == env.site.URL+"/setup2"
		})
		c.find(session, "Runtime.executionContextsCleared", nil)
		if got := c.eval(session, "location.pathname"); got != `"/setup2"` {
			t.Errorf("after the navigation: %s", got)
		}
		c.close()
		if n := env.attachedTabs(); n != 0 {
			t.Errorf("after the client left, the debugger is attached to %d tabs", n)
		}
	})

	run("command that is larger than the send queue", func(t *testing.T) {
		tab, _ := env.share("/large")
		defer env.u.toggle(tab)
		c := connectCDP(t, env.b)
		session := c.attachAll(env.site.URL + "/large")
		const size = 5 * wire.MaxQueued
		if got := c.eval(session, "'"+strings.Repeat("x", size)+"'.length"); got != fmt.Sprint(size) {
			t.Errorf("a string of %d bytes has length %s", size, got)
		}
		c.close()
	})

	run("navigation of the user before the debugger is attached", func(t *testing.T) {
		tab, _ := env.share("/user1")
		c := connectCDP(t, env.b)
		session := c.attachAll(env.site.URL + "/user1")
		old, _ := c.playwrightSetup(session)
		env.u.worker(fmt.Sprintf("chrome.tabs.update(%d, {url: %q}).then(() => 0)", tab, env.site.URL+"/user2"), nil)
		c.find(session, "Page.frameNavigated", func(params map[string]any) bool {
			return params["frame"].(map[string]any)["url"] == env.site.URL+"/user2"
		})
		c.denied(session, "Runtime.evaluate", map[string]any{"expression": "1", "contextId": old}, "Cannot find context")
		fresh := c.find(session, "Runtime.executionContextCreated", func(params map[string]any) bool {
			context := params["context"].(map[string]any)
			return context["id"].(float64) > old+1 && context["auxData"].(map[string]any)["isDefault"] == true
		})["context"].(map[string]any)["id"]
		var r struct {
			Result struct {
				Value string `json:"value"`
			} `json:"result"`
		}
		c.call(session, "Runtime.evaluate", map[string]any{"expression": "location.pathname", "contextId": fresh}, &r)
		if r.Result.Value != "/user2" {
			t.Errorf("the new context is at %q", r.Result.Value)
		}
	})

	run("two clients and a tool on one tab", func(t *testing.T) {
		tab, id := env.share("/both")
		defer env.u.toggle(tab) // detaches the tool
		a, b := connectCDP(t, env.b), connectCDP(t, env.b)
		inA, inB := a.attachAll(env.site.URL+"/both"), b.attachAll(env.site.URL+"/both")
		a.call(inA, "Runtime.enable", nil, nil)
		a.eval(inA, "globalThis.x = 1")
		if got := env.evalTool(id, "x"); got != "1" { // the tool attaches second
			t.Errorf("the tool read %s", got)
		}
		b.call(inB, "Runtime.enable", nil, nil)
		b.find(inB, "Runtime.executionContextCreated", func(params map[string]any) bool {
			return params["context"].(map[string]any)["auxData"].(map[string]any)["isDefault"] == true
		})
		a.eval(inA, "console.log('first')")
		a.logged(inA, "first")
		b.logged(inB, "first")

		a.call(inA, "Runtime.disable", nil, nil)
		before := a.count(inA, "Runtime.consoleAPICalled")
		b.eval(inB, "console.log('second')")
		b.logged(inB, "second")
		if n := a.count(inA, "Runtime.consoleAPICalled"); n != before {
			t.Errorf("the client that disabled Runtime received %d events", n-before)
		}
		if a.count(inA, "Network.requestWillBeSent") != 0 {
			t.Error("a client received events of a domain that only tools enabled")
		}
		for _, c := range []*cdpPeer{a, b} {
			c.mu.Lock()
			for _, m := range c.events {
				if strings.Contains(string(m.Params), `"name":"`+frames.WorldName+`"`) {
					t.Errorf("a client sees the tools' world: %.200s", m.Params)
				}
			}
			c.mu.Unlock()
		}

		a.call(inA, "Fetch.enable", map[string]any{"patterns": []map[string]any{{"urlPattern": "*/intercepted"}}}, nil)
		var info struct{ TargetInfo struct{ TargetID string } }
		var second struct{ SessionID string }
		a.call(inA, "Target.getTargetInfo", nil, &info)
		a.call("", "Target.attachToTarget", map[string]any{"targetId": info.TargetInfo.TargetID, "flatten": true}, &second)
		a.call(second.SessionID, "Fetch.enable", nil, nil)
		a.call(second.SessionID, "Fetch.disable", nil, nil)                                     // the first session continues to intercept
		b.call(inB, "Emulation.setFocusEmulationEnabled", map[string]any{"enabled": true}, nil) // does not make it the owner
		a.call(inA, "Emulation.setDeviceMetricsOverride", map[string]any{"width": 345, "height": 300, "deviceScaleFactor": 1, "mobile": false}, nil)
		b.denied(inB, "Emulation.setDeviceMetricsOverride", map[string]any{"width": 400, "height": 300, "deviceScaleFactor": 1, "mobile": false}, "emulates in this tab")
		if got := b.eval(inB, "innerWidth"); got != "345" {
			t.Errorf("the window has width %s", got)
		}
		loading := b.start(inB, "Runtime.evaluate", map[string]any{"expression": "fetch('/intercepted').then((r) => r.text())", "awaitPromise": true, "returnByValue": true})
		paused := a.find(inA, "Fetch.requestPaused", nil)
		a.call(inA, "Fetch.fulfillRequest", map[string]any{"requestId": paused["requestId"], "responseCode": 200, "body": "aGVyZQ=="}, nil)
		if m := <-loading; !strings.Contains(string(m.Result), `"here"`) {
			t.Errorf("the intercepted request returned %s %+v", m.Result, m.Error)
		}

		a.close()
		if got := b.eval(inB, "fetch('/intercepted').then((r) => r.text())"); !strings.Contains(got, "this is") {
			t.Errorf("after the client left, a request returned %s", got)
		}
		if got := b.eval(inB, "innerWidth"); got == "345" {
			t.Error("the emulation of the client that left remains")
		}
		b.eval(inB, "console.log('third')")
		b.logged(inB, "third")
		b.close()
		if got := env.evalTool(id, "x + 1"); got != "2" {
			t.Errorf("after the clients left, the tool read %s", got)
		}
		if s, err := pagetest.Of(env.s, id).Snapshot(t.Context(), nil); err != nil || !strings.Contains(s.Text, "this is /both") {
			t.Errorf("the tool's snapshot: %v, %v", s, err)
		}
	})

	run("two clients intercept the requests of one tab", func(t *testing.T) {
		site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<!doctype html>%s by %s", r.URL.Path, r.Header.Get("by"))
		}))
		t.Cleanup(site.Close)
		tab := env.u.open(site.URL + "/chain")
		env.u.toggle(tab)
		a, b := connectCDP(t, env.b), connectCDP(t, env.b)
		inA, inB := a.attachAll(site.URL+"/chain"), b.attachAll(site.URL+"/chain")
		a.call(inA, "Fetch.enable", map[string]any{"patterns": []map[string]any{{"urlPattern": "*/both*"}}}, nil)
		b.call(inB, "Fetch.enable", nil, nil)
		load := func(path string) <-chan executor.CDPMessage {
			t.Helper()
			return b.start(inB, "Runtime.evaluate", map[string]any{"awaitPromise": true, "returnByValue": true,
				"expression": fmt.Sprintf("fetch(%q, {headers: {by: 'page'}}).then((r) => r.text())", path)})
		}
		paused := func(c *cdpPeer, session, path string) (id, by any) {
			t.Helper()
			event := c.find(session, "Fetch.requestPaused", func(params map[string]any) bool {
				return params["request"].(map[string]any)["url"] == site.URL+path
			})
			return event["requestId"], event["request"].(map[string]any)["headers"].(map[string]any)["by"]
		}
		loaded := func(reply <-chan executor.CDPMessage, want string) {
			t.Helper()
			if m := await.Receive(t, "the response", reply); !strings.Contains(string(m.Result), want) {
				t.Errorf("the page received %s %+v, want %s", m.Result, m.Error, want)
			}
		}
		number := func(c *cdpPeer, session string) int { return c.count(session, "Fetch.requestPaused") }

		// The second client gets the request as the first one has changed it.
		loading := load("/both1")
		id, _ := paused(a, inA, "/both1")
		if number(b, inB) != 0 {
			t.Error("the request waits for both clients at the same time")
		}
		a.call(inA, "Fetch.continueRequest", map[string]any{"requestId": id, "headers": []map[string]string{{"name": "by", "value": "first"}}}, nil)
		if _, by := paused(b, inB, "/both1"); by != "first" {
			t.Errorf("the second client received the header %v", by)
		}
		a.denied(inA, "Fetch.failRequest", map[string]any{"requestId": id, "errorReason": "Failed"}, "Invalid InterceptionId")
		b.call(inB, "Fetch.continueRequest", map[string]any{"requestId": id}, nil)
		loaded(loading, "/both1 by first")

		// Only one client wants the request.
		loading = load("/one")
		id, _ = paused(b, inB, "/one")
		b.call(inB, "Fetch.fulfillRequest", map[string]any{"requestId": id, "responseCode": 200, "body": "aGVyZQ=="}, nil)
		loaded(loading, `"here"`)
		if number(a, inA) != 1 {
			t.Errorf("the first client received %d requests", number(a, inA))
		}

		// The first client answers the request.
		before := number(b, inB)
		loading = load("/both2")
		id, _ = paused(a, inA, "/both2")
		a.call(inA, "Fetch.fulfillRequest", map[string]any{"requestId": id, "responseCode": 200, "body": "aGVyZQ=="}, nil)
		loaded(loading, `"here"`)
		if number(b, inB) != before {
			t.Error("the second client received a request that the first one had answered")
		}

		// The first client leaves while a request waits for it.
		loading = load("/both3")
		paused(a, inA, "/both3")
		a.close()
		id, by := paused(b, inB, "/both3")
		if by != "page" {
			t.Errorf("the second client received the header %v", by)
		}
		b.call(inB, "Fetch.continueRequest", map[string]any{"requestId": id}, nil)
		loaded(loading, "/both3 by page")
		b.call(inB, "Fetch.disable", nil, nil)
		loaded(load("/both4"), "/both4 by page")
	})

	run("frames and popups", func(t *testing.T) {
		site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, `<!doctype html><title>%s</title>`, r.URL.Path)
			if r.URL.Path == "/frames" {
				fmt.Fprint(w, `<iframe src="/inner"></iframe>`)
			}
		}))
		t.Cleanup(site.Close)
		tab := env.u.open(site.URL + "/frames")
		env.u.toggle(tab)
		c := connectCDP(t, env.b)
		session := c.attachAll(site.URL + "/frames")
		c.playwrightSetup(session)
		c.eval(session, "1")
		frame := c.find(session, "Page.frameNavigated", func(params map[string]any) bool {
			return params["frame"].(map[string]any)["url"] == site.URL+"/inner"
		})["frame"].(map[string]any)["id"]
		world := c.find(session, "Runtime.executionContextCreated", func(params map[string]any) bool {
			context := params["context"].(map[string]any)
			return context["auxData"].(map[string]any)["frameId"] == frame && strings.HasPrefix(context["name"].(string), "__playwright")
		})["context"].(map[string]any)["id"]
		var r struct {
			Result struct {
				Value string `json:"value"`
			} `json:"result"`
		}
		c.call(session, "Runtime.evaluate", map[string]any{"expression": "document.title", "contextId": world}, &r)
		if r.Result.Value != "/inner" {
			t.Errorf("the frame has title %q", r.Result.Value)
		}

		c.call(session, "Runtime.evaluate", map[string]any{"expression": "open('/popup')", "userGesture": true}, nil)
		top := c.find("", "Target.attachedToTarget", func(params map[string]any) bool { return params["sessionId"] == session })["targetInfo"].(map[string]any)["targetId"]
		popup := c.find("", "Target.attachedToTarget", func(params map[string]any) bool {
			return params["targetInfo"].(map[string]any)["openerId"] == top
		})["sessionId"].(string)
		await.Until(t, "the popup window is loaded", func() bool {
			title, _ := c.try(popup, "Runtime.evaluate", map[string]any{"expression": "document.title"}) // denied while it is blank
			return strings.Contains(string(title), "/popup")
		})
	})

	run("new tab, which the client closes", func(t *testing.T) {
		var before int
		env.u.worker("chrome.tabs.query({}).then((all) => all.length)", &before)
		c := connectCDP(t, env.b)
		c.call("", "Target.setDiscoverTargets", map[string]any{"discover": true}, nil)
		c.call("", "Target.setAutoAttach", map[string]any{"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true}, nil)
		var made struct {
			ID string `json:"targetId"`
		}
		c.call("", "Target.createTarget", map[string]any{"url": env.site.URL + "/made"}, &made)
		event := c.find("", "Target.attachedToTarget", func(params map[string]any) bool {
			return params["targetInfo"].(map[string]any)["targetId"] == made.ID
		})
		session := event["sessionId"].(string)
		await.Until(t, "the page is loaded", func() bool { return c.eval(session, "document.title") == `"/made"` })
		c.call("", "Target.closeTarget", map[string]any{"targetId": made.ID}, nil)
		c.find("", "Target.detachedFromTarget", func(params map[string]any) bool { return params["sessionId"] == session })
		c.find("", "Target.targetDestroyed", func(params map[string]any) bool { return params["targetId"] == made.ID })
		if _, err := c.try(session, "Runtime.evaluate", map[string]any{"expression": "1"}); err == nil || err.Code != -32001 {
			t.Errorf("a command of the closed session: %+v", err)
		}
		for _, denied := range []string{"https://denied.test/", "file:///etc/passwd"} {
			if _, err := c.try("", "Target.createTarget", map[string]any{"url": denied}); err == nil {
				t.Errorf("%s was opened", denied)
			}
		}
		var after int
		env.u.worker("chrome.tabs.query({}).then((all) => all.length)", &after)
		if after != before {
			t.Errorf("%d tabs of denied URLs remain", after-before)
		}
		c.denied("", "Target.createBrowserContext", nil, "there is one browser context")
	})

	run("commands that are not available or invalid", func(t *testing.T) {
		env.share("/unavailable")
		c := connectCDP(t, env.b)
		session := c.attachAll(env.site.URL + "/unavailable")
		for _, x := range []struct {
			session, method string
			params          any
			code            int
		}{
			{"", "Target.createBrowserContext", nil, executor.CDPUnknownMethod},
			{"", "Storage.getCookies", nil, executor.CDPUnknownMethod},
			{"", "Page.enable", nil, executor.CDPUnknownMethod},
			{session, "Browser.getWindowForTarget", nil, executor.CDPUnknownMethod},
			{session, "Emulation.setTimezoneOverride", nil, executor.CDPUnknownMethod}, // the extension knows it
			{session, "Page.unknown", nil, executor.CDPUnknownMethod},
			{session, "Page.createIsolatedWorld", map[string]any{"frameId": "x"}, executor.CDPInvalidParams},
			{session, "Target.setAutoAttach", map[string]any{"autoAttach": true, "waitForDebuggerOnStart": true}, executor.CDPInvalidParams},
			{session, "Page.navigate", map[string]any{"url": "https://denied.test/"}, executor.CDPServerError},
		} {
			if _, err := c.try(x.session, x.method, x.params); err == nil || err.Code != x.code {
				t.Errorf("%s: error %+v, want code %d", x.method, err, x.code)
			}
		}
	})

	run("client that does not read", func(t *testing.T) {
		slow, c := connectCDP(t, env.b), connectCDP(t, env.b)
		for _, x := range []*cdpPeer{slow, c} {
			x.call("", "Target.setDiscoverTargets", map[string]any{"discover": true}, nil)
		}
		slow.call("", "Target.setAutoAttach", map[string]any{"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true}, nil)
		slow.conn.(*cdpClient).unread.Store(4 * maxUnread)
		env.share("/unread")
		slow.ended("does not read")
		c.find("", "Target.targetCreated", func(params map[string]any) bool {
			return params["targetInfo"].(map[string]any)["url"] == env.site.URL+"/unread"
		})
	})

	run("debugger that is detached", func(t *testing.T) {
		tab, _ := env.share("/detached")
		c := connectCDP(t, env.b)
		session := c.attachAll(env.site.URL + "/detached")
		c.eval(session, "1")
		env.u.worker(fmt.Sprintf("chrome.debugger.detach({tabId: %d}).then(() => chrome.debugger.onDetach.dispatch({tabId: %[1]d}, 'target_closed'))", tab), nil)
		c.find("", "Target.detachedFromTarget", func(params map[string]any) bool { return params["sessionId"] == session })
		again := c.find("", "Target.attachedToTarget", func(params map[string]any) bool {
			return params["sessionId"] != session && params["targetInfo"].(map[string]any)["url"] == env.site.URL+"/detached"
		})["sessionId"].(string)
		if got := c.eval(again, "location.pathname"); got != `"/detached"` {
			t.Errorf("after the debugger was detached: %s", got)
		}
		env.u.toggle(tab) // stops sharing it
		c.find("", "Target.detachedFromTarget", func(params map[string]any) bool { return params["sessionId"] == again })
		c.ended("the user stopped sharing the tab")
	})

	run("the popup shows clients by name, and stops one", func(t *testing.T) {
		env.share("/named")
		first, second := connectNamed(t, env.b, "Playwright/1.65.1"), connectNamed(t, env.b, "Puppeteer")
		connectCDP(t, env.b) // has no name, and is not shown
		firstPage, secondPage := first.attachAll(env.site.URL+"/named"), second.attachAll(env.site.URL+"/named")
		first.eval(firstPage, "document.title")
		env.u.Popup(t, func(popup string) {
			env.holds(popup, "[...document.querySelectorAll('.clients bdi')].map((e) => e.textContent).join() === 'Playwright/1.65.1,Puppeteer'")
			env.holds(popup, "document.querySelector('#tabs').textContent.includes('Playwright/1.65.1: running a script')")
		})
		before := env.server.Connections()[0]
		env.u.killWorker() // the new worker learns the names again
		env.waitReconnected(before)
		env.u.Popup(t, func(popup string) {
			env.u.Click(t, popup, ".clients li:first-child button", "Stop")
			first.ended("Stop")
			env.holds(popup, "[...document.querySelectorAll('.clients bdi')].map((e) => e.textContent).join() === 'Puppeteer'")
		})
		second.eval(second.sessionOfAgain(env.site.URL+"/named", secondPage), "1")
	})

	run("Stop of a tab disconnects the clients that drive it", func(t *testing.T) {
		tab, _ := env.share("/stopped")
		released, _ := env.share("/released")
		drives, waits := connectCDP(t, env.b), connectCDP(t, env.b)
		session := drives.attachAll(env.site.URL + "/stopped")
		waits.playwrightSetup(waits.attachAll(env.site.URL + "/stopped"))
		drives.eval(drives.sessionOf(env.site.URL+"/released"), "1")
		var target string
		env.u.worker(fmt.Sprintf("chrome.debugger.getTargets().then((all) => all.find((t) => t.tabId === %d).id)", released), &target)
		drives.call("", "Target.closeTarget", map[string]any{"targetId": target}, nil) // the client's own doing
		drives.eval(session, "1")
		env.u.toggle(tab)
		drives.ended("the user stopped sharing the tab")
		waits.call("", "Target.getTargets", nil, nil)
		env.waitAttached(0)
	})

	run("Stop disconnects clients", func(t *testing.T) {
		env.share("/stop")
		c := connectCDP(t, env.b)
		c.eval(c.attachAll(env.site.URL+"/stop"), "1")
		if message := env.u.act("stopAll", nil); message != "" {
			t.Fatal(message)
		}
		c.ended("Stop")
		env.waitAttached(0)
	})
}

// TestCDPManyTabs connects clients to a browser with many shared tabs.
func TestCDPManyTabs(t *testing.T) {
	tier.Deep(t)
	const tabs = 50
	env := newCDPEnv(t)
	env.u.worker(fmt.Sprintf(`Promise.all(Array.from({length: %d}, (_, i) => chrome.tabs.create({url: %q + i, active: false}))).then(() => 0)`, tabs, env.site.URL+"/many"), nil)
	await.Until(t, "the tabs are loaded", func() bool {
		var n int
		env.u.worker(fmt.Sprintf("chrome.tabs.query({status: 'complete', url: %q}).then((all) => all.length)", env.site.URL+"/*"), &n)
		return n == tabs
	})
	env.u.worker(fmt.Sprintf("chrome.tabs.query({url: %q}).then((all) => all.forEach((tab) => chrome.commands.onCommand.dispatch('share-tab', tab)))", env.site.URL+"/*"), nil)
	awaitTabs(t, env.b, tabs)

	c := connectCDP(t, env.b)
	first := c.attachAll(env.site.URL + "/many0")
	for i := range tabs {
		c.playwrightSetup(c.sessionOf(fmt.Sprintf("%s/many%d", env.site.URL, i)))
	}
	if n := env.attachedTabs(); n != 0 {
		t.Errorf("the debugger is attached to %d tabs", n)
	}
	if got := c.eval(first, "location.pathname"); got != `"/many0"` {
		t.Errorf("the page is %s", got)
	}
	if n := env.attachedTabs(); n != 1 {
		t.Errorf("after a command, the debugger is attached to %d tabs", n)
	}
	c.close()
	if n := env.attachedTabs(); n != 0 {
		t.Errorf("after the client left, the debugger is attached to %d tabs", n)
	}
	server := startRelay(t, env.b, anyPolicy{}, "")
	for _, client := range []string{"playwright", "puppeteer"} {
		t.Run(client, func(t *testing.T) {
			ask := startStock(t, client, server)
			if got := ask("connect"); got != strconv.Itoa(tabs) {
				t.Errorf("the client sees %s pages", got)
			}
			if n := env.attachedTabs(); n != 0 {
				t.Errorf("connected, the debugger is attached to %d tabs", n)
			}
			if got := ask("title /many7"); got != "/many7" {
				t.Errorf("the page has title %q", got)
			}
			if n := env.attachedTabs(); n != 1 {
				t.Errorf("after page.title, the debugger is attached to %d tabs", n)
			}
			ask("close")
			env.waitAttached(0)
		})
	}
}

// anyPolicy is a relay.Policy that allows everything; the extension has the rules.
type anyPolicy struct{}

func (anyPolicy) CheckDocument(string) error        { return nil }
func (anyPolicy) CheckCookies(string, string) error { return nil }

// startStock starts a stock client, which ends with the test. ask sends it a command of
// tools/cdp/connect.mjs and returns the result.
func startStock(t *testing.T, client string, server cdpsuite.Endpoint) (ask func(command string) string) {
	t.Helper()
	cmd := exec.Command(tier.Node(t, "playwright-core"), "../../tools/cdp/connect.mjs", client, server.URL, server.WebSocket)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	hung := time.AfterFunc(await.HangLimit, func() { cmd.Process.Kill() })
	t.Cleanup(func() {
		stdin.Close()
		err := cmd.Wait()
		hung.Stop()
		if err != nil {
			t.Errorf("%s: %v\n%s", client, err, &stderr)
		}
	})
	lines := bufio.NewScanner(stdout)
	return func(command string) string {
		t.Helper()
		fmt.Fprintln(stdin, command)
		if !lines.Scan() {
			t.Fatalf("%s %s: no result: %v", client, command, lines.Err())
		}
		return lines.Text()
	}
}

// TestCDPConsent connects a client of a user who has not allowed scripts.
func TestCDPConsent(t *testing.T) {
	var ran atomic.Int32 // number of times that the script ran on the site without consent
	allowed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Access-Control-Allow-Origin", "*")
		if r.URL.Path == "/ran" && r.URL.Query().Get("at") != "" {
			ran.Add(1)
		}
		fmt.Fprintf(w, "<!doctype html><title>%s</title>", r.URL.Path)
		if src := r.URL.Query().Get("frame"); src != "" {
			fmt.Fprintf(w, `<iframe src="%s"></iframe>`, src)
		}
	}))
	t.Cleanup(allowed.Close)
	env := newTestEnv(t, nil, userBrowserOptions{})
	env.share("/denied")
	tab := env.u.open(allowed.URL + "/allowed")
	env.u.toggle(tab)
	awaitTabs(t, env.b, 2)
	c := connectNamed(t, env.b, "Playwright/1.65.1 \u202e"+strings.Repeat("x", 60))
	page := env.u.target("page", "/denied")
	env.u.eval(page, "console.log('secret-message')", nil) // Chrome reports it when the debugger is attached
	no, yes := c.attachAll(env.site.URL+"/denied"), c.sessionOf(allowed.URL+"/allowed")
	c.playwrightSetup(no)

	waiting := c.start(no, "Runtime.evaluate", map[string]any{"expression": "document.title", "returnByValue": true})
	env.u.Popup(t, func(popup string) {
		env.holds(popup, fmt.Sprintf(`(() => {
			const [client, server] = [...document.querySelectorAll('#questions [role=alert] bdi')].map((e) => e.textContent);
			const { textContent: text } = document.querySelector('#questions [role=alert]') ?? {};
			return /^Playwright\/1\.65\.1 x+…$/.test(client) && client.length <= 60 && text === client + ' (through ' + server + ') wants to run scripts on ' + %q + '.';
		})()`, env.site.URL))
	})
	env.u.answer("no")
	if m := <-waiting; m.Error == nil || !strings.Contains(m.Error.Message, "denied scripts") {
		t.Errorf("evaluate: %s, %+v", m.Result, m.Error)
	}
	for _, method := range []string{"Page.captureScreenshot", "DOM.getDocument", "Accessibility.getFullAXTree", "DOMSnapshot.captureSnapshot", "Page.printToPDF", "Debugger.enable", "CSS.getMediaQueries"} {
		c.denied(no, method, map[string]any{"computedStyles": []string{}}, "denied scripts")
	}
	c.denied(no, "Input.insertText", map[string]any{"text": "x"}, "denied scripts")
	c.denied(no, "Network.getCookies", nil, "denied scripts")
	c.denied(no, "Fetch.enable", nil, "denied scripts")
	other := connectCDP(t, env.b) // the denied command does not reserve the interception
	other.denied(other.attachAll(env.site.URL+"/denied"), "Fetch.enable", nil, "denied scripts")
	c.denied(no, "Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": "alert(1)"}, "denied scripts")

	c.call(no, "Network.enable", nil, nil)
	env.u.eval(page, "console.log('secret-message'); setTimeout(() => { throw new Error('secret-error') }); new Promise((done) => setTimeout(done))", nil)
	env.u.eval(page, "fetch('/post', {method: 'POST', body: 'secret-body', headers: {authorization: 'secret-token'}}).then(() => 0)", nil)
	post := c.find(no, "Network.requestWillBeSent", func(params map[string]any) bool {
		return strings.HasSuffix(params["request"].(map[string]any)["url"].(string), "/post")
	})
	if text := fmt.Sprint(post); strings.Contains(text, "secret") {
		t.Errorf("the client receives what a page without consent sends: %s", text)
	}
	for _, method := range []string{"Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"} {
		if n := c.count(no, method); n != 0 {
			t.Errorf("the client receives %d events %s of a page without consent", n, method)
		}
	}
	env.u.eval(page, "setTimeout(() => { document.title = 'answer: ' + prompt('secret-question', 'secret-default') })", nil)
	dialog := c.find(no, "Page.javascriptDialogOpening", nil)
	if text := fmt.Sprint(dialog); dialog["type"] != "prompt" || strings.Contains(text, "secret") || strings.Contains(text, env.site.URL) {
		t.Errorf("the client receives the dialog of a page without consent as %s", text)
	}
	c.denied(no, "Page.handleJavaScriptDialog", map[string]any{"accept": true, "promptText": "x"}, "denied scripts")
	c.call(no, "Page.handleJavaScriptDialog", map[string]any{"accept": false}, nil)
	await.Until(t, "the dialog is dismissed", func() bool {
		var title string
		env.u.eval(page, "document.title", &title)
		return title == "answer: null"
	})

	waiting = c.start(yes, "Runtime.evaluate", map[string]any{"expression": "document.title", "returnByValue": true})
	env.u.answer("session")
	if m := <-waiting; !strings.Contains(string(m.Result), `"/allowed"`) {
		t.Errorf("evaluate: %s, %+v", m.Result, m.Error)
	}
	c.call(yes, "Page.enable", nil, nil)
	c.call(yes, "Runtime.enable", nil, nil)
	script := fmt.Sprintf("globalThis.installed = true;\nfetch(%q + (self.origin === %q ? '' : '?at=' + self.origin));", allowed.URL+"/ran", allowed.URL)
	c.denied(yes, "Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": "} fetch('/x'); if (true) {"}, "syntax error")
	c.call(yes, "Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": script}, nil)
	navigate := func(url string) {
		t.Helper()
		c.call(yes, "Page.navigate", map[string]any{"url": url}, nil)
		c.find(yes, "Page.frameNavigated", func(params map[string]any) bool { return params["frame"].(map[string]any)["url"] == url })
	}
	navigate(allowed.URL + "/next")
	if got := c.eval(yes, "installed"); got != "true" {
		t.Errorf("the script has not run: %s", got)
	}
	navigate(env.site.URL + "/other")
	c.denied(yes, "Runtime.evaluate", map[string]any{"expression": "installed"}, "denied scripts")
	navigate(allowed.URL + "/last")
	if n := ran.Load(); n != 0 {
		t.Errorf("the script ran on the site %d times", n)
	}

	// The response to a request for a document runs as its site, on which the user has denied scripts.
	pausedAt := func(url string, response bool) string {
		t.Helper()
		event := c.find(yes, "Fetch.requestPaused", func(params map[string]any) bool {
			return params["request"].(map[string]any)["url"] == url && (params["responseStatusCode"] != nil) == response
		})
		return event["requestId"].(string)
	}
	fake := map[string]any{"responseCode": 200, "body": base64.StdEncoding.EncodeToString([]byte(
		fmt.Sprintf("<script>fetch('%s/ran?at=' + self.origin)</script><title>fake</title>", allowed.URL)))}
	denyChanges := func(url string) {
		t.Helper()
		command := func(response bool, params map[string]any) map[string]any {
			with := maps.Clone(params)
			with["requestId"] = pausedAt(url, response)
			return with
		}
		c.denied(yes, "Fetch.fulfillRequest", command(false, fake), "denied scripts")
		c.denied(yes, "Fetch.continueRequest", command(false, map[string]any{"method": "POST"}), "denied scripts")
		c.call(yes, "Fetch.continueRequest", command(false, map[string]any{"interceptResponse": true}), nil)
		c.denied(yes, "Fetch.getResponseBody", command(true, map[string]any{}), "denied scripts")
		c.denied(yes, "Fetch.takeResponseBodyAsStream", command(true, map[string]any{}), "denied scripts")
		c.denied(yes, "Fetch.fulfillRequest", command(true, fake), "denied scripts")
		c.call(yes, "Fetch.continueRequest", command(true, map[string]any{}), nil)
	}
	c.call(yes, "Network.enable", nil, nil)
	c.call(yes, "Fetch.enable", map[string]any{"patterns": []map[string]any{{"resourceType": "Document"}, {"resourceType": "Fetch"}}}, nil)
	mine := c.start(yes, "Page.navigate", map[string]any{"url": allowed.URL + "/mine"})
	c.call(yes, "Fetch.fulfillRequest", map[string]any{
		"requestId": pausedAt(allowed.URL+"/mine", false), "responseCode": 200,
		"body": base64.StdEncoding.EncodeToString([]byte("<title>mine</title>")),
	}, nil)
	<-mine
	title := "new Promise((done) => document.readyState === 'complete' ? done(document.title) : addEventListener('load', () => done(document.title)))"
	if got := c.eval(yes, title); got != `"mine"` {
		t.Errorf("the title of the client's document is %s", got)
	}
	framing := allowed.URL + "/framing?frame=" + env.site.URL + "/framed"
	frame := c.start(yes, "Page.navigate", map[string]any{"url": framing})
	c.call(yes, "Fetch.continueRequest", map[string]any{"requestId": pausedAt(framing, false)}, nil)
	denyChanges(env.site.URL + "/framed")
	<-frame
	framed := c.find(yes, "Network.responseReceived", func(params map[string]any) bool {
		return params["response"].(map[string]any)["url"] == env.site.URL+"/framed"
	})
	c.denied(yes, "Network.getResponseBody", map[string]any{"requestId": framed["requestId"]}, "denied scripts")
	next := c.start(yes, "Page.navigate", map[string]any{"url": env.site.URL + "/inbox"})
	denyChanges(env.site.URL + "/inbox")
	<-next
	env.u.eval(env.u.target("page", "/inbox"), "void fetch('/data')", nil)
	denyChanges(env.site.URL + "/data")
	if n := ran.Load(); n != 0 {
		t.Errorf("the client's document was shown as the site %d times", n)
	}
}

// TestCDPDeniedDocument connects a client to a tab with a frame of a denied site.
func TestCDPDeniedDocument(t *testing.T) {
	env := newCDPEnv(t)
	var sent, secret atomic.Int32 // requests of the client's scripts, and for the denied document
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/sent" {
			sent.Add(1)
		}
		if r.URL.Path == "/secret" {
			secret.Add(1)
			fmt.Fprint(w, "<!doctype html><title>secret</title><p>secret</p><script>setInterval(() => console.log('secret'), 20)</script>")
			return
		}
		_, port, _ := strings.Cut(r.Host, ":")
		fmt.Fprintf(w, `<!doctype html><title>top</title><p>top</p><iframe src="http://localhost:%s/secret"></iframe>`, port)
	}))
	t.Cleanup(site.Close)
	url := site.URL + "/top"
	tab := env.u.open(url)
	env.u.target("iframe", "/secret")
	env.u.toggle(tab)
	awaitTabs(t, env.b, 1)
	c := connectCDP(t, env.b)
	session := c.attachAll(url)
	c.playwrightSetup(session)
	if got := c.eval(session, "document.title"); got != `"top"` {
		t.Errorf("the title is %s", got)
	}
	reads := map[string]map[string]any{
		"Accessibility.getFullAXTree":   nil,
		"DOM.getDocument":               {"depth": -1, "pierce": true},
		"DOMSnapshot.captureSnapshot":   {"computedStyles": []string{}},
		"Page.captureScreenshot":        nil,
		"Page.captureSnapshot":          nil,
		"Page.printToPDF":               nil,
		"Input.dispatchMouseEvent":      {"type": "mouseMoved", "x": 20, "y": 60},
		"Page.getResourceTree":          nil,
		"Runtime.evaluate":              nil,
		"Page.startScreencast":          nil,
		"HeapProfiler.takeHeapSnapshot": nil,
	}
	for method, params := range reads {
		if method != "Runtime.evaluate" {
			c.denied(session, method, params, "")
		}
	}
	frame := c.find(session, "Target.attachedToTarget", func(params map[string]any) bool {
		return params["targetInfo"].(map[string]any)["type"] == "iframe"
	})["sessionId"].(string)
	c.call(frame, "Page.enable", nil, nil)
	c.call(frame, "Runtime.enable", nil, nil)
	c.call(frame, "Log.enable", nil, nil)
	reads["Runtime.evaluate"] = map[string]any{"expression": "document.title"}
	for method, params := range reads {
		c.denied(frame, method, params, "")
	}
	c.call(frame, "Network.enable", nil, nil)
	env.u.eval(env.u.target("iframe", "/secret"), "fetch('/more').then(() => 0, () => 0)", nil)
	if c.count(frame, "Network.requestWillBeSent") != 0 {
		t.Error("the client receives the requests of the denied document")
	}
	if c.count(frame, "Runtime.consoleAPICalled") != 0 {
		t.Error("the client receives the console messages of the denied document")
	}
	for _, url := range []string{"http://localhost/", "file:///etc/passwd", "javascript:1", "chrome://version", "view-source:" + url} {
		c.denied(session, "Page.navigate", map[string]any{"url": url}, "")
	}

	send := `fetch(%q, {mode: "no-cors"}).then(() => "sent", () => "blocked")`
	denied := strings.Replace(site.URL, "127.0.0.1", "localhost", 1)
	if got := c.eval(session, fmt.Sprintf(send, denied+"/sent")); got != `"blocked"` || sent.Load() != 0 {
		t.Errorf("a request to a denied site: %s, %d received", got, sent.Load())
	}
	if got := c.eval(session, fmt.Sprintf(send, site.URL+"/sent")); got != `"sent"` || sent.Load() != 1 {
		t.Errorf("a request to an allowed site: %s, %d received", got, sent.Load())
	}

	// Loaded again, the frame is blocked by the network rules.
	c.call(session, "Page.reload", nil, nil)
	await.Until(t, "the frame is blocked", func() bool {
		_, err := c.try(session, "Page.captureScreenshot", nil)
		return err == nil
	})
	var tree json.RawMessage
	if c.call(session, "DOM.getDocument", map[string]any{"depth": -1, "pierce": true}, &tree); strings.Contains(string(tree), "<p>secret") {
		t.Error("the denied document is readable")
	}

	// It is blocked in a document that the client writes, too.
	before := secret.Load()
	var top struct {
		FrameTree struct{ Frame struct{ ID string } }
	}
	c.call(session, "Page.getFrameTree", nil, &top)
	c.call(session, "Page.setDocumentContent", map[string]any{"frameId": top.FrameTree.Frame.ID,
		"html": fmt.Sprintf(`<iframe src="%s/secret" onload="this.title = 'done'"></iframe>`, denied)}, nil)
	await.Until(t, "the end of the frame's navigation", func() bool { return c.eval(session, "document.querySelector('iframe').title") == `"done"` })
	if n := secret.Load() - before; n != 0 {
		t.Errorf("%d requests for the denied document", n)
	}
}
