package extension_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/steps"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// TestPages uses the popup and the options page as users do, in one browser. Each step
// depends on the state that the previous ones left.
func TestPages(t *testing.T) {
	web := newSite(t)
	origin := func(host string) string { return strings.TrimSuffix(web.at(host, ""), "/") }
	policy := wire.Policy{Allow: []string{origin("a.test"), origin("b.test")}, Subresources: "public"}
	b := start(t)
	if err := os.Remove(b.host); err != nil { // simulates that it is not installed
		t.Fatal(err)
	}
	page := b.Find(t, "page", "about:blank")
	server := newServer(t, "claude", policy)
	var c *fakeConn
	tabOf := func(t *testing.T, host string) (id int) {
		t.Helper()
		await.Until(t, "a tab of "+host, func() bool {
			b.Worker(t, fmt.Sprintf("chrome.tabs.query({}).then((tabs) => tabs.find((t) => t.url.includes(%q))?.id ?? 0)", host), &id)
			return id != 0
		})
		return id
	}
	ask := func(t *testing.T, host string) <-chan answer {
		t.Helper()
		return c.start(wire.MethodConsent, wire.PromptParams{Kind: "eval", Origin: origin(host), Call: "1"})
	}

	steps.Run(t, "first run", func(t *testing.T) {
		b.GoTo(t, page.ID, "chrome://version/")
		b.Popup(t, func(s string) {
			b.shows(t, s, "#setup-title", "Two steps to get started")
			b.shows(t, s, "#steps", "chrome-mcp extension install")
			b.shows(t, s, "#obstacle", "belong to the browser")
			b.shows(t, s, "#no-tabs", "No tab is shared.")
			b.holds(t, s, "document.getElementById('share').disabled")
			b.Accessible(t, s)
		})
		await.Until(t, "the badge", func() bool {
			var badge string
			b.Worker(t, "chrome.action.getBadgeText({})", &badge)
			return badge == "pair"
		})
	})

	steps.Run(t, "page that replaces its site while keep is selected", func(t *testing.T) {
		b.GoTo(t, page.ID, web.at("a.test", "/one"))
		b.Popup(t, func(s string) {
			b.shows(t, s, "#keep-site", origin("a.test"))
			b.tick(t, s, "#keep")
			b.GoTo(t, page.ID, web.at("b.test", "/one"))
			b.shows(t, s, "#keep-site", origin("b.test"))
			b.holds(t, s, "!document.getElementById('keep').checked")
		})
	})

	steps.Run(t, "connected", func(t *testing.T) {
		b.installHost()
		b.run(server)
		// The title tries to change the writing direction.
		title := "<b>\u202egnp.exe</b> " + strings.Repeat("long ", 60)
		b.GoTo(t, page.ID, web.at("a.test", "/one?title="+url.QueryEscape(title)))
		b.Popup(t, func(s string) { // opening it searches for servers
			c = server.next(t)
			b.shows(t, s, "#status", "claude connected, no tab shared")
			b.shows(t, s, "#servers", "Connected for less than a minute, drives no tab")
			b.shows(t, s, "#servers", "May work on "+origin("a.test"))
			b.shows(t, s, "#title", "<b> gnp.exe</b> long")
			b.shows(t, s, "#url", web.at("a.test", "/one"))
			b.holds(t, s, "document.getElementById('setup').hidden")
			b.holds(t, s, "document.getElementById('title').textContent.length <= 80")
			b.Accessible(t, s)
		})
	})

	steps.Run(t, "share and keep", func(t *testing.T) {
		mark := c.mark()
		b.Popup(t, func(s string) {
			b.tick(t, s, "#keep")
			b.holds(t, s, "document.querySelectorAll('#tabs li').length === 0") // selecting the box alone shares nothing
			b.Click(t, s, "#share", "Share this tab")
			c.await(t, mark, "tab_shared", named(wire.EventTabShared, tabOf(t, "a.test")))
			b.shows(t, s, "#tabs-title", "Shared tabs (1)")
			b.shows(t, s, "#tabs", "Idle.")
			b.holds(t, s, "document.getElementById('keep').checked")
			b.Accessible(t, s)
		})
		var kept []string
		b.Worker(t, "chrome.storage.local.get('settings').then((g) => g.settings.keepSites)", &kept)
		if !slices.Equal(kept, []string{origin("a.test")}) {
			t.Errorf("keepSites is %q", kept)
		}
	})

	steps.Run(t, "what a tab is doing", func(t *testing.T) {
		tab := tabOf(t, "a.test")
		c.call(t, wire.MethodTabAttach, wire.TabRef{TabID: tab}, &wire.Tab{})
		c.cdp(t, tab, "Page.reload", nil)
		b.Popup(t, func(s string) {
			b.shows(t, s, "#tabs", "claude: reloading, now")
			b.shows(t, s, "#servers", "drives 1 tab")
		})
	})

	steps.Run(t, "a tab that an agent opened is not listed as shared", func(t *testing.T) {
		var own wire.Tab
		c.call(t, wire.MethodTabNew, wire.Empty{}, &own)
		c.cdp(t, own.TabID, "Page.navigate", map[string]any{"url": web.at("b.test", "/own?title=Own")})
		b.Popup(t, func(s string) {
			b.shows(t, s, "#status", "claude connected, 1 tab shared")
			b.shows(t, s, "#tabs-title", "Shared tabs (1)")
			b.shows(t, s, "#own-title", "Tabs that agents opened (1)")
			b.shows(t, s, "#own-tabs", "Own")
			b.Accessible(t, s)
		})
		var badge string
		b.Worker(t, "chrome.action.getBadgeText({})", &badge)
		if badge != "1" {
			t.Errorf("the badge shows %q", badge)
		}
		c.call(t, wire.MethodTabClose, wire.TabRef{TabID: own.TabID}, &wire.TabClosed{})
	})

	steps.Run(t, "a page that cannot be driven", func(t *testing.T) {
		b.GoTo(t, page.ID, "chrome://version/")
		b.Popup(t, func(s string) {
			b.shows(t, s, "#tabs .bad", "belong to the browser")
			b.shows(t, s, "#share", "Stop sharing this tab")
		})
		b.GoTo(t, page.ID, web.at("denied.test", "/"))
		b.Popup(t, func(s string) {
			b.shows(t, s, "#tabs .bad", "Not allowed for claude: denied.test is not in the list")
		})
		b.GoTo(t, page.ID, web.at("a.test", "/one"))
		c.call(t, wire.MethodTabAttach, wire.TabRef{TabID: tabOf(t, "a.test")}, &wire.Tab{})
	})

	steps.Run(t, "scripts once", func(t *testing.T) {
		tab := tabOf(t, "a.test")
		evaluate := command(tab, "Runtime.evaluate", map[string]any{"expression": "40 + 2"})
		pending := ask(t, "a.test")
		b.Popup(t, func(s string) {
			b.shows(t, s, "#questions", "claude wants to run scripts on "+origin("a.test")+".")
			b.shows(t, s, "#questions", "read and change")
			b.shows(t, s, "#status", "Waiting for your permission")
			b.Accessible(t, s)
			b.Click(t, s, "#questions button", "Allow once")
			b.holds(t, s, "document.getElementById('asking').hidden")
		})
		if a := <-pending; a.err != nil || !strings.Contains(string(a.data), "true") {
			t.Fatalf("answer %s %+v", a.data, a.err)
		}
		c.call(t, wire.MethodCDP, evaluate, nil)
		var stored int
		b.Worker(t, "Promise.all([chrome.storage.local.get('evalForGood'), chrome.storage.session.get('evalForNow')]).then((g) => g.flatMap((s) => Object.values(s).flatMap((v) => Object.keys(v))).length)", &stored)
		if stored != 0 {
			t.Errorf("%d grants are stored", stored)
		}
	})

	steps.Run(t, "a double click answers one question", func(t *testing.T) {
		pending := []<-chan answer{ask(t, "a.test"), ask(t, "b.test")}
		b.Popup(t, func(s string) {
			b.holds(t, s, "document.querySelectorAll('#questions button:enabled').length === 6")
			b.holds(t, s, "document.querySelector('#questions .main') === null") // no answer is suggested
			// Chrome shows at most 600 pixels of a popup.
			b.holds(t, s, `(() => {
				document.scrollingElement.scrollTo(0, 1e6);
				const { left, top, right, bottom } = document.getElementById('stop-all').getBoundingClientRect();
				const at = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
				return scrollY > 0 && at?.id === 'stop-all' && top >= 0 && bottom <= innerHeight;
			})()`)
			b.Eval(t, s, "document.scrollingElement.scrollTo(0, 0)", nil)
			// The second click arrives as soon as the first prompt is removed.
			var second string
			b.Eval(t, s, `new Promise((done) => {
				const list = document.getElementById('questions');
				const first = list.querySelector('button');
				const { x, y } = first.getBoundingClientRect();
				new MutationObserver(() => {
					if (list.children.length !== 1) return;
					const second = document.elementFromPoint(x + 5, y + 5);
					second.click();
					done(second.textContent);
				}).observe(list, { childList: true });
				first.click();
			})`, &second)
			if second != "Allow once" {
				t.Errorf("%q is under the pointer", second)
			}
			b.Click(t, s, "#questions button", "No")
			b.holds(t, s, "document.getElementById('asking').hidden")
		})
		for i, want := range []string{`"granted":true`, `"granted":false`} {
			if a := <-pending[i]; a.err != nil || !strings.Contains(string(a.data), want) {
				t.Errorf("question %d: answer %s %+v", i, a.data, a.err)
			}
		}
		b.Popup(t, func(s string) {
			b.Eval(t, s, fmt.Sprintf("import('/page_port.js').then(({ PagePort }) => new PagePort(() => {}).act('forget', { origin: %q }))", origin("b.test")), nil)
		})
	})

	steps.Run(t, "scripts denied", func(t *testing.T) {
		pending := ask(t, "b.test")
		b.popup(t, func(click func(selector, text string)) { click("#questions button", "No") })
		if a := <-pending; a.err != nil || !strings.Contains(string(a.data), "false") {
			t.Fatalf("answer %s %+v", a.data, a.err)
		}
	})

	steps.Run(t, "stop one, stop all", func(t *testing.T) {
		first := tabOf(t, "a.test")
		var made struct {
			TargetID string `json:"targetId"`
		}
		b.Call(t, "", "Target.createTarget", map[string]any{"url": web.at("b.test", "/two?title=Second")}, &made)
		var second int
		await.Until(t, "the second tab", func() bool {
			b.Worker(t, "chrome.tabs.query({}).then((tabs) => tabs.find((t) => t.title === 'Second')?.id ?? 0)", &second)
			return second != 0
		})
		mark := c.mark()
		b.popup(t, func(click func(selector, text string)) { click("#share", "Share this tab") })
		c.await(t, mark, "tab_shared", named(wire.EventTabShared, second))
		mark = c.mark()
		b.Popup(t, func(s string) {
			b.shows(t, s, "#tabs-title", "Shared tabs (2)")
			b.Eval(t, s, "document.querySelector('[aria-label=\"Stop sharing Second\"]').focus()", nil)
			b.Press(t, s, "Enter")
			c.await(t, mark, "tab_unshared user", unshared(second, "user"))
			b.shows(t, s, "#tabs-title", "Shared tabs (1)")
			b.holds(t, s, "document.activeElement.matches('#tabs button')") // focus is not lost with its row
			b.Click(t, s, "#stop-all", "Stop all")
			c.await(t, mark, "tab_unshared stopped", unshared(first, "stopped"))
			c.await(t, mark, "stopped", func(e event) bool { return e.name == wire.EventStopped })
			b.shows(t, s, "#no-tabs", "No tab is shared.")
		})
		b.Send("", "Target.closeTarget", map[string]any{"targetId": made.TargetID})
	})

	steps.Run(t, "how it ended", func(t *testing.T) {
		mark := c.mark()
		b.Call(t, "", "Target.activateTarget", map[string]any{"targetId": page.ID}, nil)
		b.popup(t, func(click func(selector, text string)) { click("#share", "Share this tab") })
		c.await(t, mark, "tab_shared", named(wire.EventTabShared, tabOf(t, "a.test")))
		b.Worker(t, "chrome.idle.onStateChanged.dispatch('locked')", nil)
		c.await(t, mark, "tab_unshared locked", unshared(tabOf(t, "a.test"), "locked"))
		b.Popup(t, func(s string) {
			b.shows(t, s, "#ended", "the screen was locked")
			b.Click(t, s, "#share", "Share this tab")
			b.holds(t, s, "document.getElementById('ended').textContent === ''")
		})
	})

	steps.Run(t, "options", func(t *testing.T) {
		downloads := t.TempDir()
		b.Call(t, "", "Browser.setDownloadBehavior", map[string]any{"behavior": "allow", "downloadPath": downloads}, nil)
		var opened struct {
			TargetID string `json:"targetId"`
		}
		b.Call(t, "", "Target.createTarget", map[string]any{"url": "chrome-extension://" + extension.ID() + "/options.html"}, &opened)
		b.WithSession(t, opened.TargetID, func(s string) {
			b.shows(t, s, "#native", "agents are found automatically")
			b.shows(t, s, "#servers", "claude")
			b.shows(t, s, "#script-grants", origin("b.test")+" claude may not run scripts")
			b.Call(t, s, "Emulation.setDeviceMetricsOverride", map[string]any{"width": 640, "height": 480, "deviceScaleFactor": 1, "mobile": false}, nil)
			b.Accessible(t, s)
			b.Call(t, s, "Emulation.clearDeviceMetricsOverride", nil, nil)

			// An invalid pairing string.
			b.fill(t, s, "#pairing", "cm1-nonsense")
			b.Click(t, s, "#pair button", "Pair")
			b.shows(t, s, "#paired", "This is not a pairing string")
			b.holds(t, s, "document.getElementById('pairing').getAttribute('aria-invalid') === 'true'")

			// A block entry ends the sharing of tabs there.
			b.fill(t, s, "#pattern", "*")
			b.Click(t, s, "#block button", "Block")
			b.shows(t, s, "#block-status", "every host")
			mark := c.mark()
			b.fill(t, s, "#pattern", "a.test")
			b.Press(t, s, "Enter")
			c.await(t, mark, "tab_unshared user", unshared(tabOf(t, "a.test"), "user"))
			b.shows(t, s, "#block-status", "a.test is blocked")
			b.shows(t, s, "#blocked", "a.test")

			// All tabs are shared only after a confirmation.
			b.tick(t, s, "[name=access][value=all]")
			b.Click(t, s, "#all-tabs button", "Cancel")
			b.holds(t, s, "document.querySelector('[name=access][value=shared]').checked")
			mark = c.mark()
			b.Call(t, "", "Target.createTarget", map[string]any{"url": web.at("b.test", "/three")}, nil)
			b.tick(t, s, "[name=access][value=all]")
			b.Click(t, s, "#all-tabs button", "Share all tabs")
			c.await(t, mark, "tab_shared", named(wire.EventTabShared, tabOf(t, "b.test")))
			mark = c.mark()
			b.tick(t, s, "[name=access][value=shared]")
			c.await(t, mark, "tab_unshared user", unshared(tabOf(t, "b.test"), "user"))

			b.fill(t, s, "#idleMinutes", "1.5")
			b.shows(t, s, "#idle-status", "whole number of minutes")
			b.fill(t, s, "#idleMinutes", "20")
			b.shows(t, s, "#idle-status", "Saved.")
			b.tick(t, s, "#ownWindow")
			b.Click(t, s, "#blocked button", "Remove")
			b.Click(t, s, "#auto-shared button", "Remove")
			await.Until(t, "the settings", func() bool {
				var got map[string]any
				b.Worker(t, "chrome.storage.local.get('settings').then((g) => g.settings)", &got)
				return fmt.Sprintf("%v %v %v %v %v", got["idleMinutes"], got["ownWindow"], got["access"], got["blockList"], got["keepSites"]) == "20 true shared [] []"
			})

			// The log contains all of it.
			for _, want := range []string{
				"Shared a tab (by you)", "Reloading", "Allowed scripts (once)", "Denied scripts (until Chrome closes)",
				"Stopped sharing a tab (Stop all)", "Stopped sharing a tab (the screen was locked)", "Connected",
			} {
				b.shows(t, s, "#log", want)
			}
			for what, host := range map[string]string{
				"Opening a page": "b.test", "Closed a tab": "b.test", "Shared a tab (by you)": "a.test", "Stopped sharing a tab (the screen was locked)": "a.test",
			} {
				b.holds(t, s, fmt.Sprintf("[...document.querySelectorAll('#log tr')].some((row) => row.cells[1].textContent === %q && row.cells[3].textContent === %q)", what, host))
			}
			b.fill(t, s, "#filter", "claude RELOADING")
			b.holds(t, s, "document.querySelectorAll('#log tr').length === 1")
			b.shows(t, s, "#log", "a.test")
			b.Click(t, s, "#export", "Export")
			var entries []struct{ What, Server, Host string }
			await.Until(t, "the exported file", func() bool {
				files, _ := filepath.Glob(filepath.Join(downloads, "chrome-mcp-log-*.json"))
				if len(files) != 1 {
					return false
				}
				data, _ := os.ReadFile(files[0])
				return json.Unmarshal(data, &entries) == nil
			})
			if len(entries) != 1 || entries[0].What != "reloading" || entries[0].Host != "a.test" || entries[0].Server != "claude" {
				t.Errorf("exported %+v", entries)
			}
		})
	})
}

// shows waits until a visible element contains a text.
func (b *browser) shows(t testing.TB, session, selector, text string) {
	t.Helper()
	var got string
	defer func() {
		if t.Failed() {
			t.Logf("%s shows %q", selector, got)
		}
	}()
	await.Until(t, fmt.Sprintf("%s to show %q", selector, text), func() bool {
		b.Eval(t, session, fmt.Sprintf(
			"[...document.querySelectorAll(%q)].filter((e) => e.checkVisibility()).map((e) => e.textContent.replace(/\\s+/g, ' ')).join('\\n')", selector), &got)
		return strings.Contains(got, text)
	})
}

// holds waits until a condition of the page is true.
func (b *browser) holds(t testing.TB, session, condition string) {
	t.Helper()
	await.Until(t, condition, func() bool {
		var ok bool
		b.Eval(t, session, "!!("+condition+")", &ok)
		return ok
	})
}

// tick waits for a check box or radio button and clicks it.
func (b *browser) tick(t testing.TB, session, selector string) {
	t.Helper()
	b.holds(t, session, fmt.Sprintf("(() => { const e = document.querySelector(%q); if (!e || e.disabled || !e.checkVisibility()) return false; e.click(); return true; })()", selector))
}

// fill enters a text into a field.
func (b *browser) fill(t testing.TB, session, selector, text string) {
	t.Helper()
	quoted, _ := json.Marshal(text)
	b.holds(t, session, fmt.Sprintf(`(() => {
		const e = document.querySelector(%q);
		if (!e || e.disabled) return false;
		e.focus();
		e.value = %s;
		e.dispatchEvent(new Event('input', { bubbles: true }));
		e.dispatchEvent(new Event('change', { bubbles: true }));
		return true;
	})()`, selector, quoted))
}

// mouse waits for a visible, enabled element and clicks it with the mouse.
func (b *browser) mouse(t testing.TB, session, selector string) {
	t.Helper()
	var at struct{ X, Y float64 }
	await.Until(t, selector+" to be under the pointer", func() bool {
		var hit bool
		b.Eval(t, session, fmt.Sprintf(`(() => {
			const e = document.querySelector(%q);
			if (!e || e.disabled || !e.checkVisibility()) return { X: -1, Y: -1 };
			e.scrollIntoView({ block: 'nearest' });
			const r = e.getBoundingClientRect();
			return { X: r.x + r.width / 2, Y: r.y + r.height / 2 };
		})()`, selector), &at)
		if at.X < 0 {
			return false
		}
		b.Eval(t, session, fmt.Sprintf("document.elementFromPoint(%f, %f)?.closest(%q) != null", at.X, at.Y, selector), &hit)
		return hit
	})
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		b.Call(t, session, "Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at.X, "y": at.Y, "button": "left", "clickCount": 1}, nil)
	}
}
