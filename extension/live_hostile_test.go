package extension_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// TestHostilePage shares a tab with a page that navigates frames to hosts that
// rules cannot list as they are, and opens a tab next to its own.
func TestHostilePage(t *testing.T) {
	web := newSite(t)
	b := start(t)
	page := b.Find(t, "page", "about:blank")
	b.GoTo(t, page.ID, web.at("a.test", "/first"))
	b.WithSession(t, page.ID, func(session string) {
		b.Call(t, session, "Network.setCookie", map[string]any{"url": web.at("denied.a.test", "/"), "name": "session", "value": "of-another-site", "httpOnly": true}, nil)
	})
	server := newServer(t, "claude", wire.Policy{Allow: []string{fmt.Sprintf("http://a.test:%d", web.port())}, Subresources: "public"})
	b.run(server)
	c := server.next(t)
	b.popup(t, func(click func(selector, text string)) { click("#share", "Share this tab") })
	listed := func() int {
		var list wire.TabsList
		c.call(t, wire.MethodTabsList, wire.Empty{}, &list)
		return len(list.Tabs)
	}
	await.Until(t, "the tab to be shared", func() bool { return listed() == 1 })
	var tab int
	b.Worker(t, "chrome.tabs.query({}).then((tabs) => tabs.find((t) => t.url.includes('a.test')).id)", &tab)
	c.call(t, wire.MethodTabAttach, wire.TabRef{TabID: tab}, &wire.Tab{})
	run := func(script string) {
		t.Helper()
		b.WithSession(t, page.ID, func(session string) {
			b.Call(t, session, "Runtime.evaluate", map[string]any{"expression": script, "userGesture": true}, nil)
		})
	}
	add := func(element, url string) {
		t.Helper()
		run(fmt.Sprintf("document.body.append(Object.assign(document.createElement('%s'), {src: %s}))", element, url))
	}

	// A paused request.
	c.cdp(t, tab, "Fetch.enable", map[string]any{"patterns": []any{map[string]any{"urlPattern": "*/cookie", "requestStage": "Request"}}})
	add("img", fmt.Sprintf("%q", web.at("denied.a.test", "/cookie")))
	e := c.await(t, 0, "a paused request", func(e event) bool {
		return e.name == wire.EventCDP && strings.Contains(string(e.data), `"Fetch.requestPaused"`)
	})
	if strings.Contains(string(e.data), "of-another-site") || !strings.Contains(string(e.data), "Referer") {
		t.Errorf("the event is %s, want a Referer and no secret of the other site", e.data)
	}
	c.cdp(t, tab, "Fetch.disable", nil)

	// Frames of other sites, which could open tabs.
	opens := func(initiator string) bool {
		var n int
		b.Worker(t, fmt.Sprintf(`chrome.declarativeNetRequest.testMatchOutcome({url: 'https://denied.test/', initiator: %q, type: 'main_frame', tabId: 9999})
			.then(({matchedRules}) => matchedRules.length)`, initiator), &n)
		return n == 0
	}
	for _, f := range []struct{ what, initiator, url string }{
		{"a host with a trailing dot", "https://dot.test.", "'http://dot.test./'"},
		{"a host that is too long for a name", "https://any.test", "`http://${'a'.repeat(1e4)}.test/`"},
	} {
		if !opens(f.initiator) {
			t.Errorf("%s: rules applied before there was a frame", f.what)
		}
		add("iframe", f.url)
		await.Until(t, f.what+" to be blocked", func() bool { return !opens(f.initiator) })
	}

	// A tab that the browser adds to the group of the shared tab.
	c.call(t, wire.MethodTabRelease, wire.TabRef{TabID: tab}, nil)
	run("open('/second')")
	await.Until(t, "the tab in the group", func() bool {
		var got []int
		b.Worker(t, "chrome.tabs.query({}).then((tabs) => tabs.map((t) => t.groupId))", &got)
		return len(got) == 2 && got[0] >= 0 && got[0] == got[1]
	})
	b.popup(t, func(click func(selector, text string)) { click("#stop-all", "Stop all") })
	await.Until(t, "the end of sharing", func() bool { return listed() == 0 })
	b.Call(t, "", "Target.closeTarget", map[string]any{"targetId": b.Find(t, "service_worker", "worker.js").ID}, nil)
	c = server.next(t)
	c.refused(t, "POLICY_DENIED", wire.MethodTabNew, wire.Empty{})
	if n := listed(); n != 0 {
		t.Errorf("%d tabs are shared after Stop all", n)
	}
}
