package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/steps"
)

// TestSharing shares tabs in the popup for a time, until the machine is idle and until stopped, and
// checks what the agent's next call says. Each step starts in the state that the previous step left.
func TestSharing(t *testing.T) {
	e := &endToEnd{site: newTestSite(t)}
	e.browser, e.data = sharedUserBrowser(t)
	e.server = startMCP(t, "--data", e.data, "--port=0", "--allow-domain", e.site.URL, "--enable-mutations", "--no-cdp-fallback")
	b := e.browser
	e.page = b.Find(t, "page", "about:blank").ID
	b.GoTo(t, e.page, e.site.URL+"/first")
	e.server.until(t, "no tab shared", "chrome_status", nil)
	for _, step := range []struct {
		name string
		work func(*endToEnd, *testing.T)
	}{
		{"15 minutes end by an alarm", (*endToEnd).shareForTime},
		{"until the machine is idle", (*endToEnd).shareUntilIdle},
		{"several tabs and none is active", (*endToEnd).shareSeveral},
	} {
		steps.Run(t, step.name, func(t *testing.T) { step.work(e, t) })
	}
}

// shareUntil shares the tab in the foreground in the popup. The popup then says line.
func (e *endToEnd) shareUntil(t *testing.T, until, line string) {
	t.Helper()
	b := e.browser
	b.Popup(t, func(s string) {
		b.holds(t, s, "!document.getElementById('share').disabled")
		b.Eval(t, s, fmt.Sprintf("document.getElementById('until').value = %q", until), nil)
		b.Click(t, s, "#share", "Share this tab")
		b.holds(t, s, fmt.Sprintf("document.querySelector('#tabs .shared-until')?.textContent.includes(%q)", line))
	})
}

// expires returns the time at which the sharing of the only shared tab ends, in ms since 1970.
func (e *endToEnd) expires(t *testing.T) (ms int64) {
	t.Helper()
	e.browser.Worker(t, "chrome.storage.session.get('tabs').then((g) => Object.values(g.tabs.tabs)[0].expires)", &ms)
	return ms
}

func (e *endToEnd) shareForTime(t *testing.T) {
	b := e.browser
	e.shareUntil(t, "time", "Shared for 15 more minutes")
	e.server.until(t, "/first", "tabs_list", nil)
	tab := tabIDs(e.server.call(t, "tabs_list", nil))[0]

	// A call renews the time.
	b.Worker(t, "{ const now = Date.now; Date.now = () => now() + 10 * 60_000; }", nil)
	before := e.expires(t)
	e.server.call(t, "get_text", nil, "Lamps of walnut")
	await.Until(t, "the call to renew the time", func() bool { return e.expires(t)-before > 9*60_000 })

	// The time outlives the worker, whose clock was 10 minutes fast. The right clock does not extend it.
	b.KillWorker(t)
	b.options(t, func(string) {}) // starts it again
	b.Popup(t, func(s string) {
		b.holds(t, s, "/Shared for 1[45] more minutes/.test(document.querySelector('#tabs .shared-until')?.textContent)")
	})

	// It ends by the alarm, which starts the worker again. The alarm is set to an earlier time here.
	b.Worker(t, `(async () => {
		const { tabs } = await chrome.storage.session.get('tabs');
		const when = Date.now() + 1000;
		for (const tab of Object.values(tabs.tabs)) tab.expires = when;
		await chrome.storage.session.set({ tabs });
		await chrome.alarms.clear('tick');
		await chrome.alarms.create('expiry', { when });
	})()`, nil)
	b.KillWorker(t)
	e.server.until(t, "no tab shared", "chrome_status", nil)
	const want = "the user shared the tab only until 15 minutes after the last call"
	e.server.refused(t, "TAB_NOT_FOUND", "get_text", nil, "no tab is shared", want, "share it again")
	e.server.refused(t, "TAB_NOT_FOUND", "get_text", map[string]any{"tabId": tab}, "no longer shared", want)
	b.Popup(t, func(s string) {
		b.shows(t, s, "#ended", "Sharing ended because no agent used the tab for 15 minutes.")
	})
}

func (e *endToEnd) shareUntilIdle(t *testing.T) {
	b := e.browser
	b.Worker(t, "{ const set = chrome.idle.setDetectionInterval; chrome.idle.setDetectionInterval = (s) => { globalThis.detects = s; set(s); }; }", nil)
	b.options(t, func(s string) {
		b.holds(t, s, "!document.getElementById('shareIdleMinutes').disabled")
		b.Eval(t, s, "{ const field = document.getElementById('shareIdleMinutes'); field.value = '3'; field.dispatchEvent(new Event('change')); }", nil)
		b.shows(t, s, "#share-idle-status", "Saved.")
	})
	var seconds int
	b.Worker(t, "globalThis.detects", &seconds)
	if seconds != 180 {
		t.Errorf("the browser reports idleness after %d s, want 180", seconds)
	}
	e.shareUntil(t, "idle", "Shared until the machine has been idle for 3 minutes")
	e.server.until(t, "1 tab shared", "chrome_status", nil)
	e.server.call(t, "get_text", nil, "Lamps of walnut")
	b.Worker(t, "chrome.idle.onStateChanged.dispatch('idle')", nil)
	e.server.until(t, "no tab shared", "chrome_status", nil)
	e.server.refused(t, "TAB_NOT_FOUND", "get_text", nil, "only until the machine was idle")

	// A tab that is shared until it is stopped stays shared. The popup changes what ends sharing.
	e.shareUntil(t, "idle", "Shared until the machine has been idle")
	b.Popup(t, func(s string) {
		b.holds(t, s, "document.getElementById('until').value === 'idle'")
		b.Eval(t, s, "{ const select = document.getElementById('until'); select.value = 'stopped'; select.dispatchEvent(new Event('change')); }", nil)
		b.holds(t, s, "document.querySelector('#tabs .shared-until').hidden")
	})
	b.Worker(t, "chrome.idle.onStateChanged.dispatch('idle')", nil)
	e.server.until(t, "1 tab shared", "chrome_status", nil)
	e.server.call(t, "get_text", nil, "Lamps of walnut")
	b.press(t, "#share", "Stop sharing this tab")
	e.server.until(t, "no tab shared", "chrome_status", nil)
}

func (e *endToEnd) shareSeveral(t *testing.T) {
	b := e.browser
	b.toggleSharing(t)
	e.server.until(t, "1 tab shared", "chrome_status", nil)
	second := b.NewTab(t, e.site.URL+"/second")
	b.Call(t, "", "Target.activateTarget", map[string]any{"targetId": second}, nil)
	b.toggleSharing(t)
	e.server.until(t, "2 tabs shared", "chrome_status", nil)
	list := e.server.call(t, "tabs_list", nil, "/first", "/second")
	ids := tabIDs(list)
	if len(ids) != 2 || strings.Contains(list, "(active)") {
		t.Fatalf("the tabs are %s", list)
	}
	e.server.refused(t, "TAB_NOT_FOUND", "click", map[string]any{"selector": "#count"}, "no tab is active", list)
	e.server.refused(t, "TAB_NOT_FOUND", "navigate", map[string]any{"url": e.site.URL + "/changed"}, "no tab is active", list)
	if n := e.site.asked("127.0.0.1 /changed"); n != 0 {
		t.Error("a page was loaded")
	}
	for _, id := range ids {
		if text := e.server.call(t, "get_text", map[string]any{"tabId": id, "selector": "#count"}); !strings.Contains(text, "Click me") {
			t.Errorf("a tab has changed: %s", text)
		}
	}
	e.server.refused(t, "TAB_NOT_FOUND", "get_text", nil, "no tab is active")

	// The only shared tab is used.
	b.toggleSharing(t)
	e.server.until(t, "1 tab shared", "chrome_status", nil)
	e.server.call(t, "get_text", nil, "first")
}

// tabIDs returns the tab ids of a list.
func tabIDs(list string) []string { return regexp.MustCompile(`ext:\S+`).FindAllString(list, -1) }
