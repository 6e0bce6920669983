package dashboard

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/handover"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/userbrowser"
)

// A keyboardUser uses the dashboard in a browser, with the keyboard only.
type keyboardUser struct {
	*userbrowser.Browser
	t    *testing.T
	page string // CDP session of the page
}

// holds waits until an expression is true.
func (u *keyboardUser) holds(expression string) {
	u.t.Helper()
	await.Until(u.t, expression, func() bool {
		var ok bool
		u.Eval(u.t, u.page, "!!("+expression+")", &ok)
		return ok
	})
}

// presses waits for a button with a name, which may be its label, moves the focus to it and presses
// Enter.
func (u *keyboardUser) presses(name string) {
	u.t.Helper()
	u.holds(fmt.Sprintf(`(() => {
		const named = (e) => (e.ariaLabel ?? e.textContent) === %q && e.checkVisibility() && !e.disabled && e.ariaDisabled !== 'true';
		const b = [...document.querySelectorAll('button')].find(named);
		b?.focus();
		return b && document.activeElement === b;
	})()`, name))
	u.Press(u.t, u.page, "Enter")
}

// focuses waits until the element with a selector has the focus.
func (u *keyboardUser) focuses(selector string) {
	u.t.Helper()
	u.holds(fmt.Sprintf("document.activeElement.matches(%q)", selector))
}

// colorsOfTexts is an expression for the brightness of the page's background, from 0 to 1, and the texts
// whose contrast is less than WCAG 2.2 requires.
const colorsOfTexts = `(() => {
	const ctx = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
	const luminance = (...colors) => { // of colors that are painted on each other
		for (const c of colors) {
			ctx.fillStyle = c;
			ctx.fillRect(0, 0, 1, 1);
		}
		const [r, g, b] = [...ctx.getImageData(0, 0, 1, 1).data].map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const low = [];
	for (const e of document.querySelectorAll('body *')) {
		const text = [...e.childNodes].filter((n) => n.nodeType === Node.TEXT_NODE).map((n) => n.data).join('').trim();
		if (!text || !e.checkVisibility() || e.matches(':disabled, [aria-disabled=true]')) continue;
		const backs = [];
		for (let a = e; a; a = a.parentElement) backs.unshift(getComputedStyle(a).backgroundColor);
		const back = luminance('white', ...backs), front = luminance('white', ...backs, getComputedStyle(e).color);
		const contrast = (Math.max(back, front) + 0.05) / (Math.min(back, front) + 0.05);
		if (contrast < 4.5) low.push(contrast.toFixed(2) + ' ' + text);
	}
	return { background: luminance(getComputedStyle(document.body).backgroundColor), low };
})()`

// hasColors checks that the page is bright, or dark if the user prefers that, and that its texts can be
// read in both.
func (u *keyboardUser) hasColors() {
	u.t.Helper()
	for _, scheme := range []string{"dark", "light"} {
		u.Call(u.t, u.page, "Emulation.setEmulatedMedia", map[string]any{"features": []map[string]any{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
		var got struct {
			Background float64  `json:"background"`
			Low        []string `json:"low"`
		}
		u.Eval(u.t, u.page, colorsOfTexts, &got)
		if dark := got.Background < 0.2; dark != (scheme == "dark") || len(got.Low) > 0 {
			u.t.Errorf("%s: the luminance of the background is %v; texts with a low contrast: %q", scheme, got.Background, got.Low)
		}
	}
}

// TestAccessibility checks the controls of the dashboard in all of its states: their names, that the
// keyboard reaches them, that it does not lose the focus when a control is removed, and that they fit
// with text of twice the size. It also checks the colors, light and dark.
func TestAccessibility(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, shop)
	}))
	t.Cleanup(site.Close)
	board, desk := new(Board), new(handover.Desk)
	s := newDashboard(t, board, desk)
	base, cookie := s.testLogin(t)
	b := userbrowser.Start(t, userbrowser.Options{Profile: t.TempDir()})
	target := b.Find(t, "page", "about:blank").ID
	b.WithSession(t, target, func(page string) {
		u := &keyboardUser{b, t, page}
		b.Call(t, page, "Network.setCookie", map[string]any{"url": base, "name": cookie.Name, "value": cookie.Value, "path": cookie.Path, "httpOnly": true, "sameSite": "Strict"}, nil)
		b.GoTo(t, target, base)
		u.holds("document.getElementById('connection').textContent === 'Connected'")
		b.Accessible(t, page)

		a := newAgent(t, board, desk, WorkspaceOptions{Principal: "ci", Name: "shop"}, site.URL)
		a.call("navigate", map[string]any{"url": site.URL + "/" + strings.Repeat("long", 100)})
		a.call("click", map[string]any{"selector": "#missing"})
		u.holds("document.querySelectorAll('.calls li').length === 2")
		b.Accessible(t, page)

		// The live view.
		const watch = "Watch Order 1042 — Shop"
		u.presses(watch)
		u.holds("document.getElementById('live-note').textContent.startsWith('View only')")
		b.Accessible(t, page)
		u.presses("Close the live view")
		u.focuses(fmt.Sprintf("[aria-label=%q]", watch))

		// A question.
		answer := a.asks("Please pay.")
		u.holds("document.querySelector('#questions .message')?.textContent === 'Please pay.'")
		b.Accessible(t, page)
		u.hasColors()
		u.presses("Show the page")
		u.focuses("canvas#screen[role=application]:focus-visible")
		b.Press(t, page, "F6")
		u.focuses("#live-close")
		u.presses("Show the page")
		u.focuses("#screen")
		b.Call(t, page, "Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": "F2", "code": "F2", "windowsVirtualKeyCode": 113}, nil)
		u.focuses("#dialog-text")
		b.Accessible(t, page)
		u.presses("Cancel")
		u.focuses("#screen")
		u.presses("Done")
		u.focuses("#sessions-title")
		if text := await.Receive(t, "the answer", answer); !strings.Contains(text, "the user is done") {
			t.Errorf("the result of ask_user: %s", text)
		}

		// A session is stopped.
		u.presses("Stop shop")
		u.holds("document.querySelector('dialog:modal')")
		b.Accessible(t, page)
		b.Press(t, page, "Escape")
		u.focuses("[aria-label='Stop shop']")
		u.presses("Stop shop")
		u.presses("Stop the session")
		u.holds("!document.getElementById('confirm').open")
		await.Receive(t, "the session to be stopped", a.stopped)
		u.focuses("#sessions-title")
	})
}
