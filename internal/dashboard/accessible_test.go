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

// TestAccessibility checks the controls of the dashboard in all of its states: their names, that the
// keyboard reaches them, that it does not lose the focus when a control is removed, and that they fit
// with text of twice the size.
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
