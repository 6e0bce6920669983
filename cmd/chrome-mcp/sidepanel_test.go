package main

import (
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/acpagent"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/userbrowser"
)

// panelScreenshot is set by make demo-panel.
var panelScreenshot = flag.String("panel-screenshot", "", "`FILE` for a screenshot of the side panel of TestSidePanel")

// addScriptedAgent configures an agent that does what the prompt says.
func addScriptedAgent(t *testing.T, data string) {
	t.Helper()
	args := append([]string{"agents", "add", "scripted", "--data", data, "--"}, acpagent.Command()...)
	if out, err := exec.Command(binary, args...).CombinedOutput(); err != nil {
		t.Fatalf("agents add: %v %s", err, out)
	}
}

// allowMutations writes a configuration file that allows acting on pages.
func (b *userBrowser) allowMutations(t *testing.T) {
	t.Helper()
	dir := filepath.Join(b.root, ".config", "chrome-mcp")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"enable-mutations": true}`), 0o600); err != nil {
		t.Fatal(err)
	}
}

// openPanel opens the side panel with a real click on the button of the popup.
func (b *userBrowser) openPanel(t *testing.T, screen *display) userbrowser.Target {
	t.Helper()
	b.Worker(t, "chrome.action.openPopup()", nil)
	popup := b.Find(t, "page", "/popup.html")
	b.WithSession(t, popup.ID, func(session string) {
		var at struct{ X, Y int16 }
		await.Until(t, "the pointer to be on the button", func() bool {
			var hovered bool
			b.Eval(t, session, `document.querySelector('#panel:enabled:hover') !== null && document.hasFocus()`, &hovered)
			if hovered {
				return true
			}
			// The popup is still moved and resized.
			b.Eval(t, session, `(() => {
				const r = document.getElementById('panel')?.getBoundingClientRect();
				return { X: Math.round(screenX + (r ? r.x + r.width / 2 : 0)), Y: Math.round(screenY + (r ? r.y + r.height / 2 : 0)) };
			})()`, &at)
			screen.move(t, at.X, at.Y)
			return false
		})
		screen.click(t, at.X, at.Y)
	})
	return b.Find(t, "page", "/sidepanel.html")
}

// logPanel logs what the panel shows, if the test has failed.
func (b *userBrowser) logPanel(t *testing.T, session, data string) {
	t.Helper()
	if !t.Failed() {
		return
	}
	if m, ok := <-b.Send(session, "Runtime.evaluate", map[string]any{"expression": "document.body.innerText"}); ok {
		t.Logf("the panel shows %s", m.Result)
	}
	log, _ := os.ReadFile(filepath.Join(data, "chats", "log"))
	t.Logf("the log of the host:\n%s", log)
}

// ask sends a message in the panel.
func (b *userBrowser) ask(t *testing.T, session, text string) {
	t.Helper()
	b.holds(t, session, "!document.getElementById('form').hidden && !document.getElementById('send').disabled")
	b.Eval(t, session, fmt.Sprintf("document.getElementById('text').value = %q; document.getElementById('form').requestSubmit()", text), nil)
}

// hasText waits until an element contains a text.
func (b *userBrowser) hasText(t *testing.T, session, selector, text string) {
	t.Helper()
	b.holds(t, session, fmt.Sprintf("document.querySelector(%q)?.textContent.includes(%q)", selector, text))
}

// TestSidePanel uses the side panel as a user does, with the real program and the example agent: a
// real click opens it, the agent reads the tab that the chat has, presses a button there after the user
// has allowed it, and gets no other tab. Another agent does not see the tab.
func TestSidePanel(t *testing.T) {
	screen := newDisplay(t)
	site := newTestSite(t)
	b := newUserBrowser(t)
	b.display = screen.name
	b.allowMutations(t)
	data := filepath.Join(shortTempDir(t), "data")
	b.register(t, data)
	addExampleAgent(t, data)
	other := startMCP(t, "--data", data, "--port=0", "--allow-domain", site.URL, "--no-cdp-fallback")
	b.open()
	b.GoTo(t, b.Find(t, "page", "about:blank").ID, site.URL+"/first")
	other.until(t, "no tab shared", "chrome_status", nil)
	page := b.Find(t, "page", site.URL+"/first")
	b.focus(t, screen, page.ID)

	panel := b.openPanel(t, screen)
	b.WithSession(t, panel.ID, func(s string) {
		defer b.logPanel(t, s, data)
		b.holds(t, s, "document.getElementById('list-view') && document.readyState === 'complete'")
		b.Click(t, s, "#new", "New chat")
		b.holds(t, s, "document.getElementById('agent').value === 'example'")
		b.ask(t, s, "What is on this page?")
		b.hasText(t, s, "#entries", "This page has ")
		b.hasText(t, s, "#entries", "Lamps of walnut")
		b.hasText(t, s, "#entries", "127.0.0.1") // the site of the tool call
		b.holds(t, s, "document.querySelector('#given').textContent !== ''")
		other.call(t, "chrome_status", nil, "no tab shared")

		// The policy allows the site of the tab, and no other.
		b.ask(t, s, fmt.Sprintf(`navigate {"url": %q}`, site.denied()))
		b.hasText(t, s, "#entries", "POLICY_DENIED")

		b.ask(t, s, fmt.Sprintf(`navigate {"url": %q}`, site.URL+"/form"))
		b.hasText(t, s, "#entries", "/form")
		b.holds(t, s, "document.getElementById('stop').hidden")
		if *panelScreenshot != "" {
			screenshotPanel(t, b, s)
		}

		b.Click(t, s, "#close", "End the agent")
		b.hasText(t, s, "#closed", "closed")
	})
	other.call(t, "chrome_status", nil, "no tab shared")
	if n := site.asked("localhost /denied"); n > 0 {
		t.Errorf("the denied page was requested %d times", n)
	}
}

// screenshotPanel saves a screenshot of the panel.
func screenshotPanel(t *testing.T, b *userBrowser, session string) {
	t.Helper()
	var shot struct{ Data string }
	b.Call(t, session, "Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
	image, err := base64.StdEncoding.DecodeString(shot.Data)
	if err == nil {
		err = os.WriteFile(*panelScreenshot, image, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestLongFirstToken measures the time from the moment in which an agent writes text until the panel
// shows it.
func TestLongFirstToken(t *testing.T) {
	tier.Deep(t)
	site := newTestSite(t)
	b := newUserBrowser(t)
	data := filepath.Join(shortTempDir(t), "data")
	b.register(t, data)
	addScriptedAgent(t, data)
	b.open()
	b.GoTo(t, b.Find(t, "page", "about:blank").ID, site.URL+"/first")
	b.Worker(t, "chrome.action.openPopup()", nil)
	popup := b.Find(t, "page", "/popup.html")
	b.ClickAndClose(t, popup, "#panel", "Open side panel")
	panel := b.Find(t, "page", "/sidepanel.html")
	b.WithSession(t, panel.ID, func(s string) {
		defer b.logPanel(t, s, data)
		b.holds(t, s, "document.getElementById('entries') && document.readyState === 'complete'")
		b.Eval(t, s, `globalThis.shown = {}; new MutationObserver(() => {
			for (const [n] of document.getElementById('entries').textContent.matchAll(/\d{19}/g)) {
				shown[n] ??= performance.timeOrigin + performance.now();
			}
		}).observe(document.getElementById('entries'), { subtree: true, childList: true, characterData: true }); 0`, nil)
		b.Click(t, s, "#new", "New chat")
		b.holds(t, s, "document.getElementById('agent').value === 'scripted'")
		var took []time.Duration
		for range 11 {
			seen := len(took)
			b.ask(t, s, "now")
			b.holds(t, s, fmt.Sprintf("Object.keys(shown).length > %d", seen))
			b.holds(t, s, "!document.getElementById('send').disabled && document.getElementById('stop').hidden")
			var shown map[string]float64
			b.Eval(t, s, "shown", &shown)
			took = took[:0]
			for written, at := range shown {
				ns := json.Number(written)
				n, err := ns.Int64()
				if err != nil {
					t.Fatal(err)
				}
				took = append(took, time.Duration(at*1e6)-time.Duration(n))
			}
		}
		slices.Sort(took)
		t.Logf("from the agent to the panel: median %v, maximum %v", took[len(took)/2], took[len(took)-1])
		if median := took[len(took)/2]; median > 100*time.Millisecond {
			t.Errorf("the median is %v, want at most 100 ms", median)
		}
	})
}
