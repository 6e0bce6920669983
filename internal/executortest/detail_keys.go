package executortest

import (
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// pressKeys presses keys and chords, and checks the effect on fields, buttons, dialogs and pages.
func (s *suite) pressKeys(t *testing.T) {
	const page = "typing-keys.html"
	on := func(selector string) *executor.PressOptions { return &executor.PressOptions{Target: css(selector)} }
	clicks := func(c *testCase, id string) {
		c.wantValue("log.filter((r) => r.kind === 'click' && r.id === '"+id+"').length", "1")
	}
	s.page(t, "keys have their physical key codes", page, func(c *testCase) {
		for _, row := range []struct{ key, want string }{
			{"a", "keydown a KeyA 65 ,keypress a KeyA 97 ,keyup a KeyA 65 "},
			{"A", "keydown Shift ShiftLeft 16 S,keydown A KeyA 65 S,keypress A KeyA 65 S,keyup A KeyA 65 S,keyup Shift ShiftLeft 16 "},
			{"!", "keydown ! Digit1 49 S,keypress ! Digit1 33 S"}, {"Shift+1", "keydown ! Digit1 49 S"}, {";", "keydown ; Semicolon 186 "}, {"?", "keydown ? Slash 191 S"},
			{"KeyK", "keydown k KeyK 75 "}, {"Digit7", "keydown 7 Digit7 55 "}, {"Shift+KeyK", "keydown K KeyK 75 S"}, {"Numpad5", "keydown 5 Numpad5 101 "}, {"NumpadEnter", "keydown Enter NumpadEnter 13 "},
			{"Control+k", "keydown Control ControlLeft 17 C,keydown k KeyK 75 C,keyup k KeyK 75 C,keyup Control ControlLeft 17 "}, {"Control+Shift+P", "keydown P KeyP 80 CS"}, {"Meta+k", "keydown k KeyK 75 M"}, {"Alt+F7", "keydown F7 F7 118 A"},
			{"ctrl+enter", "keydown Enter Enter 13 C"}, {"Control++", "keydown + Equal 187 CS"}, {"é", "keydown é  0 "}, {"Shift", "keydown Shift ShiftLeft 16 S,keyup Shift ShiftLeft 16 "},
		} {
			c.eval("keys.length = 0", nil)
			c.key(row.key, on("#area2"))
			if got := c.evalString("keys.join(',')"); !strings.Contains(got+",", row.want) {
				c.Errorf("%s: %q is not in %q", row.key, row.want, got)
			}
		}
	})
	s.page(t, "all named keys", page, func(c *testCase) {
		for _, name := range strings.Fields("F1 F2 F3 F4 F5 F6 F7 F8 F9 F10 F11 F12 F13 F24 Home End PageUp PageDown Insert Delete Backspace Escape ArrowLeft ArrowUp ArrowRight ArrowDown Tab Enter CapsLock NumLock ScrollLock Pause PrintScreen ContextMenu AltGraph") {
			c.eval("keys.length = 0", nil)
			c.key(name, on("#area2"))
			c.wantIn(c.evalString("keys.join(',')"), "keydown "+name+" ", "keyup "+name+" ")
		}
	})
	s.page(t, "unknown key: error suggests a key", page, func(c *testCase) {
		for key, says := range map[string]string{"Entr": "Enter", "PageDwn": "PageDown", "Control+Bogus": "F5", "Cntrl+a": "Control", "hello": "type", "Enter+Control": "Control+Enter"} {
			_, err := c.page().Press(c.ctx, key, nil)
			c.wantCode(err, executor.ErrBadArgs, key, says)
		}
	})
	s.page(t, "selection with keys", page, func(c *testCase) {
		c.eval("line.focus(), line.setSelectionRange(13, 13)", nil)
		for _, row := range []struct{ key, want string }{
			{"Shift+ArrowLeft", "12-13"}, {"Control+Shift+ArrowLeft", "8-13"}, {"Shift+Home", "0-13"}, {"End", "13-13"}, {"Control+ArrowLeft", "8-8"}, {"Control+a", "0-13"}, {"ArrowRight", "13-13"}, {"Home", "0-0"}, {"Shift+End", "0-13"},
		} {
			c.key(row.key, on("#line"))
			if got := c.evalString("line.selectionStart + '-' + line.selectionEnd"); got != row.want {
				c.Errorf("%s selects %s, want %s", row.key, got, row.want)
			}
		}
		c.key("Control+Delete", nil)
		c.wantValue("line.value", "")
	})
	s.page(t, "cut, copy, paste and undo", page, func(c *testCase) {
		c.key("Control+a", on("#line"))
		c.key("Control+c", nil)
		c.key("Control+v", on("#area"))
		c.key("Enter", nil)
		c.key("Control+v", nil)
		c.wantValue("JSON.stringify(area.value)", `"one two three\none two three"`)
		c.key("Control+z", nil)
		c.wantValue("area.value.trim()", "one two three")
		c.key("Control+a", on("#line"))
		c.key("Control+x", nil)
		c.wantValue("line.value", "")
		c.key("Control+a", on("#rich"))
		c.key("Control+v", nil)
		c.wantValue("rich.innerText.trim()", "one two three")
	})
	s.page(t, "editing multi-line text", page, func(c *testCase) {
		c.typeInto("#area", "one\ntwo", nil)
		for _, key := range []string{"Control+Home", "End", "Enter", "x", "Control+End", "Shift+Enter", "y", "ArrowUp", "Home", "Control+Shift+ArrowRight", "Backspace"} {
			c.key(key, nil)
		}
		c.wantValue("JSON.stringify(area.value)", `"one\nx\n\ny"`)
	})
	s.page(t, "Enter inserts one line break in an editor", page, func(c *testCase) {
		c.typeInto("#rich", "a", &executor.TypeOptions{Clear: true})
		c.key("Enter", nil)
		c.key("b", nil)
		c.key("Shift+Enter", nil)
		c.key("c", nil)
		c.wantValue("JSON.stringify(rich.innerText)", `"a\nb\nc"`)
	})
	s.page(t, "Space and Enter activate a button once", page, func(c *testCase) {
		c.key("Space", on("#button"))
		clicks(c, "button")
		c.await("click", "button")
		c.eval("log.length = 0", nil)
		c.key("Enter", on("#button"))
		clicks(c, "button")
		c.await("click", "button")
	})
	s.page(t, "Enter follows a link, Space checks a checkbox, arrows select", page, func(c *testCase) {
		if a := c.key("Enter", on("#link")); !strings.HasSuffix(a.URL, "#linked") {
			c.Errorf("the page is %q", a.URL)
		}
		clicks(c, "link")
		c.key(" ", on("#check"))
		c.key("ArrowDown", on("#r1"))
		c.key("ArrowUp", on("#number"))
		c.key("ArrowDown", on("#select"))
		c.key("Enter", on("#summary"))
		c.wantValue("[check.checked, r2.checked, number.value, select.value, details.open].join()", "true,true,6,Beta,true")
	})
	s.page(t, "Enter in a field submits its form once", page, func(c *testCase) {
		c.key("Enter", on("#field"))
		if r := c.await("submit", "form"); r.Value != "go" {
			c.Errorf("sent by %q", r.Value)
		}
		c.wantValue("log.filter((r) => r.kind === 'submit').length", "1")
		clicks(c, "go")
	})
	s.page(t, "Escape closes a dialog", page, func(c *testCase) {
		c.click(css("#open"), nil)
		c.key("Escape", nil)
		c.await("close", "dialog")
		c.wantValue("dialog.open + document.activeElement.id", "falseopen")
	})
	s.page(t, "Tab stays inside a modal dialog", page, func(c *testCase) {
		c.click(css("#open"), nil)
		_, err := c.page().Press(c.ctx, "a", on("#line"))
		c.wantCode(err, executor.ErrNotActionable, "focus")
		c.key("x", on("#inDialog"))
		c.wantValue("inDialog.value + line.value", "xone two three")
	})
	s.page(t, "keys scroll the focused scroller", page, func(c *testCase) {
		c.key("End", on("#scroller"))
		c.eval("new Promise((done) => { (function look() { scroller.scrollTop >= 840 ? done(1) : requestAnimationFrame(look); })(); })", nil)
		c.wantValue("scroller.scrollTop", "840")
	})
	s.page(t, "keys reach the focused field in a frame", page, func(c *testCase) {
		c.key("a", on("#inFrame"))
		if r := c.await("input", "inFrame"); r.Value != "a" {
			c.Errorf("its value is %q", r.Value)
		}
		c.key("b", nil)
		if r := c.await("input", "inFrame"); r.Value != "ab" {
			c.Errorf("its value is %q", r.Value)
		}
		ref := c.ref("textbox", "Across")
		c.key("Home", &executor.PressOptions{Target: byRef(ref)})
		c.key("z", nil)
		if r := c.await("input", "across"); r.Value != "za" {
			c.Errorf("its value is %q", r.Value)
		}
		c.key("Tab", nil)
		c.key("q", nil)
		if r := c.await("input", "next"); r.Value != "q" {
			c.Errorf("its value is %q", r.Value)
		}
		c.wantValue("line.value", "one two three")
	})
	s.page(t, "key press that causes a failed navigation: reported", page, func(c *testCase) {
		c.eval("line.onkeydown = () => { location.href = 'http://127.0.0.1:1/' }; 0", nil)
		c.wantIn(c.key("x", on("#line")).Note, "did not load")
	})
	s.page(t, "key press with a target does not move its caret", page, func(c *testCase) {
		c.eval("line.focus(), line.setSelectionRange(3, 3)", nil)
		c.key("X", on("#line"))
		c.wantValue("line.value", "oneX two three")
	})
}
