package userbrowser

import (
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

// Shift is the modifier of the Shift key.
const Shift = 8

// Press presses a key in the page of a session: Tab, Enter, Escape or F6.
func (b *Browser) Press(t testing.TB, session, key string, modifiers ...int) {
	t.Helper()
	event := map[string]any{"type": "keyDown", "key": key, "code": key, "modifiers": 0}
	for _, m := range modifiers {
		event["modifiers"] = m
	}
	switch key {
	case "Tab":
		event["windowsVirtualKeyCode"] = 9
	case "Enter":
		event["windowsVirtualKeyCode"], event["text"] = 13, "\r"
	case "Escape":
		event["windowsVirtualKeyCode"] = 27
	case "F6":
		event["windowsVirtualKeyCode"] = 117
	}
	b.Call(t, session, "Emulation.setFocusEmulationEnabled", map[string]any{"enabled": true}, nil)
	b.Call(t, session, "Input.dispatchKeyEvent", event, nil)
	event["type"] = "keyUp"
	delete(event, "text")
	b.Call(t, session, "Input.dispatchKeyEvent", event, nil)
}

// Accessible checks that each control of the page of a session has a name, that the keyboard reaches
// all of them in page order, that the focus is visible, and that the page does not scroll
// horizontally with text of twice the size. If a modal dialog is open, the controls are those in it.
func (b *Browser) Accessible(t testing.TB, session string) {
	t.Helper()
	var tree struct {
		Nodes []struct {
			Ignored bool                   `json:"ignored"`
			Role    struct{ Value string } `json:"role"`
			Name    struct{ Value string } `json:"name"`
		} `json:"nodes"`
	}
	b.Call(t, session, "Accessibility.getFullAXTree", nil, &tree)
	controls := 0
	for _, n := range tree.Nodes {
		switch n.Role.Value {
		case "button", "link", "textbox", "searchbox", "checkbox", "radio", "combobox", "spinbutton", "application", "region", "list", "dialog", "log", "DisclosureTriangle":
			if n.Ignored {
				continue
			}
			controls++
			if strings.TrimSpace(n.Name.Value) == "" && n.Role.Value != "list" {
				t.Errorf("a %s has no name", n.Role.Value)
			}
		}
	}
	if controls < 3 {
		t.Errorf("only %d controls in the tree", controls)
	}

	// The answer buttons are enabled after a delay.
	await.Until(t, "the answer buttons to be enabled", func() bool {
		var enabled bool
		b.Eval(t, session, "![...document.querySelectorAll('#questions button')].some((e) => e.disabled)", &enabled)
		return enabled
	})
	var want int
	b.Eval(t, session, `(() => {
		const root = document.querySelector('dialog:modal') ?? document.documentElement;
		window.stops = [...root.querySelectorAll('a[href], button, input, select, summary, textarea, [tabindex="0"]')].filter((e) => {
			if (e.disabled || !e.checkVisibility()) return false;
			if (e.type !== 'radio') return true;
			return e.checked; // one of a group
		});
		root.tabIndex = -1; // the next Tab is from the beginning
		root.focus();
		root.removeAttribute('tabindex');
		getSelection().removeAllRanges();
		return window.stops.length;
	})()`, &want)
	for i := range want {
		b.Press(t, session, "Tab")
		var got struct {
			At      int
			Name    string
			Visible bool
		}
		b.Eval(t, session, `(() => {
			const e = document.activeElement, style = getComputedStyle(e);
			return { At: window.stops.indexOf(e), Name: e.id || e.textContent, Visible: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0 };
		})()`, &got)
		if got.At != i || !got.Visible {
			t.Errorf("Tab %d is at %q, number %d, visible %t", i, got.Name, got.At, got.Visible)
		}
	}

	setTextSize := func(percent int) {
		b.Call(t, session, "Page.setFontSizes", map[string]any{"fontSizes": map[string]any{"standard": 16 * percent / 100, "fixed": 13 * percent / 100}}, nil)
	}
	setTextSize(200)
	var wide []string
	b.Eval(t, session, `(() => {
		const width = Math.min(document.documentElement.clientWidth, document.querySelector('#share') ? 800 : Infinity); // a popup grows no further
		return [...document.querySelectorAll('body *')].filter((e) => e.checkVisibility() && !e.closest('#log-box > *, .line, .table > *, pre > *') && e.getBoundingClientRect().right + scrollX > width + 1).map((e) => e.id || e.className || e.tagName);
	})()`, &wide)
	setTextSize(100)
	if len(wide) > 0 {
		t.Errorf("with text of 200 %% these do not fit: %q", wide)
	}
}
