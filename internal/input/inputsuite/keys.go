package inputsuite

import (
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

// pressKeys presses keys and chords, and checks the effect on fields, buttons, dialogs and pages.
func pressKeys(s *suite.Runner, t *testing.T) {
	const page = "typing-keys.html"
	on := func(selector string) *executor.PressOptions {
		return &executor.PressOptions{Target: suite.Selector(selector)}
	}
	clicks := func(c *suite.Case, id string) {
		c.WantValue("log.filter((r) => r.kind === 'click' && r.id === '"+id+"').length", "1")
	}
	s.Page(t, "keys have their physical key codes", page, func(c *suite.Case) {
		for _, row := range []struct{ key, want string }{
			{"a", "keydown a KeyA 65 ,keypress a KeyA 97 ,keyup a KeyA 65 "},
			{"A", "keydown Shift ShiftLeft 16 S,keydown A KeyA 65 S,keypress A KeyA 65 S,keyup A KeyA 65 S,keyup Shift ShiftLeft 16 "},
			{"!", "keydown ! Digit1 49 S,keypress ! Digit1 33 S"}, {"Shift+1", "keydown ! Digit1 49 S"}, {";", "keydown ; Semicolon 186 "}, {"?", "keydown ? Slash 191 S"},
			{"KeyK", "keydown k KeyK 75 "}, {"Digit7", "keydown 7 Digit7 55 "}, {"Shift+KeyK", "keydown K KeyK 75 S"}, {"Numpad5", "keydown 5 Numpad5 101 "}, {"NumpadEnter", "keydown Enter NumpadEnter 13 "},
			{"Control+k", "keydown Control ControlLeft 17 C,keydown k KeyK 75 C,keyup k KeyK 75 C,keyup Control ControlLeft 17 "}, {"Control+Shift+P", "keydown P KeyP 80 CS"}, {"Meta+k", "keydown k KeyK 75 M"}, {"Alt+F7", "keydown F7 F7 118 A"},
			{"ctrl+enter", "keydown Enter Enter 13 C"}, {"Control++", "keydown + Equal 187 CS"}, {"é", "keydown é  0 "}, {"Shift", "keydown Shift ShiftLeft 16 S,keyup Shift ShiftLeft 16 "},
		} {
			c.Eval("keys.length = 0", nil)
			c.Key(row.key, on("#area2"))
			if got := c.EvalString("keys.join(',')"); !strings.Contains(got+",", row.want) {
				c.Errorf("%s: %q is not in %q", row.key, row.want, got)
			}
		}
	})
	s.Page(t, "all named keys", page, func(c *suite.Case) {
		for _, name := range strings.Fields("F1 F2 F3 F4 F5 F6 F7 F8 F9 F10 F11 F12 F13 F24 Home End PageUp PageDown Insert Delete Backspace Escape ArrowLeft ArrowUp ArrowRight ArrowDown Tab Enter CapsLock NumLock ScrollLock Pause PrintScreen ContextMenu AltGraph") {
			c.Eval("keys.length = 0", nil)
			c.Key(name, on("#area2"))
			c.WantIn(c.EvalString("keys.join(',')"), "keydown "+name+" ", "keyup "+name+" ")
		}
	})
	s.Page(t, "unknown key: error suggests a key", page, func(c *suite.Case) {
		for key, says := range map[string]string{"Entr": "Enter", "PageDwn": "PageDown", "Control+Bogus": "F5", "Cntrl+a": "Control", "hello": "type", "Enter+Control": "Control+Enter"} {
			_, err := c.Page().Press(c.Ctx, key, nil)
			c.WantCode(err, executor.ErrBadArgs, key, says)
		}
	})
	s.Page(t, "selection with keys", page, func(c *suite.Case) {
		c.Eval("line.focus(), line.setSelectionRange(13, 13)", nil)
		for _, row := range []struct{ key, want string }{
			{"Shift+ArrowLeft", "12-13"}, {"Control+Shift+ArrowLeft", "8-13"}, {"Shift+Home", "0-13"}, {"End", "13-13"}, {"Control+ArrowLeft", "8-8"}, {"Control+a", "0-13"}, {"ArrowRight", "13-13"}, {"Home", "0-0"}, {"Shift+End", "0-13"},
		} {
			c.Key(row.key, on("#line"))
			if got := c.EvalString("line.selectionStart + '-' + line.selectionEnd"); got != row.want {
				c.Errorf("%s selects %s, want %s", row.key, got, row.want)
			}
		}
		c.Key("Control+Delete", nil)
		c.WantValue("line.value", "")
	})
	s.Page(t, "cut, copy, paste and undo", page, func(c *suite.Case) {
		c.Key("Control+a", on("#line"))
		c.Key("Control+c", nil)
		c.Key("Control+v", on("#area"))
		c.Key("Enter", nil)
		c.Key("Control+v", nil)
		c.WantValue("JSON.stringify(area.value)", `"one two three\none two three"`)
		c.Key("Control+z", nil)
		c.WantValue("area.value.trim()", "one two three")
		c.Key("Control+a", on("#line"))
		c.Key("Control+x", nil)
		c.WantValue("line.value", "")
		c.Key("Control+a", on("#rich"))
		c.Key("Control+v", nil)
		c.WantValue("rich.innerText.trim()", "one two three")
	})
	s.Page(t, "editing multi-line text", page, func(c *suite.Case) {
		c.TypeInto("#area", "one\ntwo", nil)
		for _, key := range []string{"Control+Home", "End", "Enter", "x", "Control+End", "Shift+Enter", "y", "ArrowUp", "Home", "Control+Shift+ArrowRight", "Backspace"} {
			c.Key(key, nil)
		}
		c.WantValue("JSON.stringify(area.value)", `"one\nx\n\ny"`)
	})
	s.Page(t, "Enter inserts one line break in an editor", page, func(c *suite.Case) {
		c.TypeInto("#rich", "a", &executor.TypeOptions{Clear: true})
		c.Key("Enter", nil)
		c.Key("b", nil)
		c.Key("Shift+Enter", nil)
		c.Key("c", nil)
		c.WantValue("JSON.stringify(rich.innerText)", `"a\nb\nc"`)
	})
	s.Page(t, "Space and Enter activate a button once", page, func(c *suite.Case) {
		c.Key("Space", on("#button"))
		clicks(c, "button")
		c.Await("click", "button")
		c.Eval("log.length = 0", nil)
		c.Key("Enter", on("#button"))
		clicks(c, "button")
		c.Await("click", "button")
	})
	s.Page(t, "Enter follows a link, Space checks a checkbox, arrows select", page, func(c *suite.Case) {
		if a := c.Key("Enter", on("#link")); !strings.HasSuffix(a.URL, "#linked") {
			c.Errorf("the page is %q", a.URL)
		}
		clicks(c, "link")
		c.Key(" ", on("#check"))
		c.Key("ArrowDown", on("#r1"))
		c.Key("ArrowUp", on("#number"))
		c.Key("ArrowDown", on("#select"))
		c.Key("Enter", on("#summary"))
		c.WantValue("[check.checked, r2.checked, number.value, select.value, details.open].join()", "true,true,6,Beta,true")
	})
	s.Page(t, "Enter in a field submits its form once", page, func(c *suite.Case) {
		c.Key("Enter", on("#field"))
		if r := c.Await("submit", "form"); r.Value != "go" {
			c.Errorf("sent by %q", r.Value)
		}
		c.WantValue("log.filter((r) => r.kind === 'submit').length", "1")
		clicks(c, "go")
	})
	s.Page(t, "Escape closes a dialog", page, func(c *suite.Case) {
		c.Click(suite.Selector("#open"), nil)
		c.Key("Escape", nil)
		c.Await("close", "dialog")
		c.WantValue("dialog.open + document.activeElement.id", "falseopen")
	})
	s.Page(t, "Tab stays inside a modal dialog", page, func(c *suite.Case) {
		c.Click(suite.Selector("#open"), nil)
		_, err := c.Page().Press(c.Ctx, "a", on("#line"))
		c.WantCode(err, executor.ErrNotActionable, "focus")
		c.Key("x", on("#inDialog"))
		c.WantValue("inDialog.value + line.value", "xone two three")
	})
	s.Page(t, "keys scroll the focused scroller", page, func(c *suite.Case) {
		c.Key("End", on("#scroller"))
		c.Eval("new Promise((done) => { (function look() { scroller.scrollTop >= 840 ? done(1) : requestAnimationFrame(look); })(); })", nil)
		c.WantValue("scroller.scrollTop", "840")
	})
	s.Page(t, "keys reach the focused field in a frame", page, func(c *suite.Case) {
		c.Key("a", on("#inFrame"))
		if r := c.Await("input", "inFrame"); r.Value != "a" {
			c.Errorf("its value is %q", r.Value)
		}
		c.Key("b", nil)
		if r := c.Await("input", "inFrame"); r.Value != "ab" {
			c.Errorf("its value is %q", r.Value)
		}
		ref := c.Ref("textbox", "Across")
		c.Key("Home", &executor.PressOptions{Target: suite.ByRef(ref)})
		c.Key("z", nil)
		if r := c.Await("input", "across"); r.Value != "za" {
			c.Errorf("its value is %q", r.Value)
		}
		c.Key("Tab", nil)
		c.Key("q", nil)
		if r := c.Await("input", "next"); r.Value != "q" {
			c.Errorf("its value is %q", r.Value)
		}
		c.WantValue("line.value", "one two three")
	})
	s.Page(t, "key press that causes a failed navigation: reported", page, func(c *suite.Case) {
		c.Eval("line.onkeydown = () => { location.href = 'http://127.0.0.1:1/' }; 0", nil)
		c.WantIn(c.Key("x", on("#line")).Note, "did not load")
	})
	s.Page(t, "key press with a target does not move its caret", page, func(c *suite.Case) {
		c.Eval("line.focus(), line.setSelectionRange(3, 3)", nil)
		c.Key("X", on("#line"))
		c.WantValue("line.value", "oneX two three")
	})
}
