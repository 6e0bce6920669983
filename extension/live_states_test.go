package extension_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/steps"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// badge waits until the badge shows text, with a title that contains title.
func (b *browser) badge(t *testing.T, text, title string) {
	t.Helper()
	await.Until(t, fmt.Sprintf("the badge %q with %q", text, title), func() bool {
		var got [2]string
		b.Worker(t, "Promise.all([chrome.action.getBadgeText({}), chrome.action.getTitle({})])", &got)
		return got[0] == text && strings.Contains(got[1], title)
	})
}

// TestStates tests states that other tests do not reach: of the badge, of the driver of a
// tab, of the window for agents' tabs, and of tabs that cannot be driven.
func TestStates(t *testing.T) {
	web := newSite(t)
	policy := wire.Policy{Allow: []string{strings.TrimSuffix(web.at("a.test", ""), "/")}, Subresources: "public"}
	b := start(t)
	page := b.Find(t, "page", "about:blank")
	var tab int

	steps.Run(t, "the badge of a rejected connection", func(t *testing.T) {
		refusing := newServer(t, "refusing", policy)
		refusing.mu.Lock()
		refusing.refuse = "this server accepts no browsers today"
		refusing.mu.Unlock()
		b.run(refusing)
		b.badge(t, "!", "this server accepts no browsers today")
		b.run()
		b.badge(t, "", "no agent is running")
	})

	claude, zed := newServer(t, "claude", policy), newServer(t, "zed", policy)
	var c, z *fakeConn
	steps.Run(t, "the badge while connecting", func(t *testing.T) {
		hold := make(chan struct{})
		claude.mu.Lock()
		claude.hold = hold
		claude.mu.Unlock()
		b.run(claude)
		b.badge(t, "…", "connecting to an agent")
		close(hold)
		c = claude.next(t)
		b.badge(t, "", "no tab is shared")
	})

	steps.Run(t, "the user selects the driver of a tab", func(t *testing.T) {
		b.GoTo(t, page.ID, web.at("a.test", "/one?title=First"))
		b.run(claude, zed)
		z = zed.next(t)
		mark := c.mark()
		b.popup(t, func(click func(selector, text string)) { click("#share", "Share this tab") })
		b.Worker(t, "chrome.tabs.query({}).then((tabs) => tabs.find((t) => t.title === 'First').id)", &tab)
		c.await(t, mark, "tab_shared", named(wire.EventTabShared, tab))
		b.Popup(t, func(s string) {
			b.holds(t, s, "[...document.querySelectorAll('#tabs option')].map((o) => o.textContent).includes('zed')")
			b.Eval(t, s, `{
				const select = document.querySelector('#tabs select');
				select.value = [...select.options].find((o) => o.textContent === 'zed').value;
				select.dispatchEvent(new Event('change'));
			}`, nil)
			c.await(t, mark, "tab_unshared other_server", unshared(tab, "other_server"))
		})
		if _, problem := c.try(t, wire.MethodTabAttach, wire.TabRef{TabID: tab}); problem == nil || problem.Code != "TAB_NOT_FOUND" || !strings.Contains(problem.Message, "driven by another agent, zed") {
			t.Errorf("claude attaches: %+v", problem)
		}
		z.call(t, wire.MethodTabAttach, wire.TabRef{TabID: tab}, &wire.Tab{})
		z.cdp(t, tab, "Page.reload", nil)
	})

	steps.Run(t, "a window for the tabs of agents", func(t *testing.T) {
		var opened struct {
			TargetID string `json:"targetId"`
		}
		b.Call(t, "", "Target.createTarget", map[string]any{"url": "chrome-extension://" + extension.ID() + "/options.html"}, &opened)
		b.WithSession(t, opened.TargetID, func(s string) { b.tick(t, s, "#ownWindow") })
		await.Until(t, "the setting", func() bool {
			var on bool
			b.Worker(t, "chrome.storage.local.get('settings').then((g) => g.settings?.ownWindow === true)", &on)
			return on
		})
		b.Call(t, "", "Target.closeTarget", map[string]any{"targetId": opened.TargetID}, nil)
		var own [2]wire.Tab
		for i := range own {
			c.call(t, wire.MethodTabNew, wire.Empty{}, &own[i])
		}
		var windows []int
		b.Worker(t, fmt.Sprintf("Promise.all([%d, %d, %d].map(async (id) => (await chrome.tabs.get(id)).windowId))", tab, own[0].TabID, own[1].TabID), &windows)
		if windows[0] == windows[1] || windows[1] != windows[2] {
			t.Errorf("the tabs of the user and of the agent are in the windows %v", windows)
		}
		for _, x := range own {
			c.call(t, wire.MethodTabClose, wire.TabRef{TabID: x.TabID}, &wire.TabClosed{})
		}
	})

	steps.Run(t, "a tab is not driven without network rules", func(t *testing.T) {
		z.call(t, wire.MethodTabRelease, wire.TabRef{TabID: tab}, nil)
		b.Worker(t, `{
			globalThis.kept = chrome.declarativeNetRequest.updateSessionRules;
			chrome.declarativeNetRequest.updateSessionRules = () => Promise.reject(new Error('the limit of rules is reached'));
		}`, nil)
		_, problem := z.try(t, wire.MethodTabAttach, wire.TabRef{TabID: tab})
		if problem == nil || !strings.Contains(problem.Message, "the limit of rules is reached") {
			t.Errorf("attaching: %+v", problem)
		}
		if _, problem := z.try(t, wire.MethodCDP, command(tab, "Runtime.evaluate", map[string]any{"expression": "1"})); problem == nil {
			t.Error("a command passed")
		}
		b.Worker(t, "chrome.declarativeNetRequest.updateSessionRules = kept; 0", nil)
		z.call(t, wire.MethodTabAttach, wire.TabRef{TabID: tab}, &wire.Tab{})
	})

	steps.Run(t, "Cancel in the debugging bar", func(t *testing.T) {
		mark := z.mark()
		b.Worker(t, fmt.Sprintf("chrome.debugger.onDetach.dispatch({ tabId: %d }, 'canceled_by_user')", tab), nil)
		z.await(t, mark, "tab_unshared debugger", unshared(tab, "debugger"))
		if _, problem := z.try(t, wire.MethodCDP, command(tab, "Page.reload", nil)); problem == nil || problem.Code != "TAB_NOT_FOUND" {
			t.Errorf("a command after Cancel: %+v", problem)
		}
		b.Popup(t, func(s string) { b.shows(t, s, "#ended", "Cancel was pressed") })
	})
}
