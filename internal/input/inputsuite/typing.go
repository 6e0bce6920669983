package inputsuite

import (
	"context"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

func typing(s *suite.Runner, t *testing.T) {
	s.Page(t, "input", "type.html", func(c *suite.Case) {
		c.TypeInto("#name", "Ann Lee", nil)
		c.Await("focus", "name")
		if r := c.Await("input", "name"); !r.Trusted {
			c.Errorf("input event: %+v", r)
		}
		c.WantValue("document.querySelector('#name').value", "Ann Lee")
	})
	s.Page(t, "appends", "type.html", func(c *suite.Case) {
		c.TypeInto("#filled", " and more", nil)
		c.WantValue("filled.value", "old text and more")
	})
	s.Page(t, "clear", "type.html", func(c *suite.Case) {
		c.TypeInto("#filled", "new", &executor.TypeOptions{Clear: true})
		c.WantValue("filled.value", "new")
		c.TypeInto("#filled", "", &executor.TypeOptions{Clear: true})
		c.WantValue("filled.value", "")
	})
	s.Page(t, "textarea", "type.html", func(c *suite.Case) {
		c.TypeInto("#area", "one\ntwo", nil)
		c.Await("input", "area")
		c.WantValue("area.value", "one\ntwo")
	})
	s.Page(t, "contenteditable", "type.html", func(c *suite.Case) {
		c.TypeInto("#rich", "new words", &executor.TypeOptions{Clear: true})
		c.Await("input", "rich")
		c.WantValue("rich.innerText.trim()", "new words")
	})
	s.Page(t, "ref", "type.html", func(c *suite.Case) {
		c.Must(c.Page().Type(c.Ctx, suite.ByRef(c.Ref("textbox", "Name")), "Bo", nil))
		c.WantValue("document.querySelector('#name').value", "Bo")
	})
	s.Page(t, "press enter", "type.html", func(c *suite.Case) {
		c.TypeInto("#query", "lamps", &executor.TypeOptions{PressEnter: true})
		if r := c.Await("submit", "form"); r.Value != "lamps" {
			c.Errorf("submitted %q", r.Value)
		}
	})
	s.Page(t, "key events", "type.html", func(c *suite.Case) {
		c.TypeInto("#name", "abc", &executor.TypeOptions{KeyEvents: true})
		for range 3 {
			if !c.Await("keydown", "name").Trusted {
				c.Error("a key was not trusted")
			}
		}
		c.WantValue("document.querySelector('#name').value", "abc")
	})
	s.Page(t, "delay between characters", "type.html", func(c *suite.Case) {
		c.Eval("window.times = []; document.querySelector('#name').addEventListener('keydown', (e) => times.push(e.timeStamp)); 0", nil)
		a := c.TypeInto("#name", "ab😀c", &executor.TypeOptions{Delay: 100 * time.Millisecond})
		if a.Note != "" {
			c.Errorf("note %q", a.Note)
		}
		c.WantValue("document.querySelector('#name').value", "ab😀c")
		// The emoji has no key.
		c.WantValue(`String(times.length) + (times[1] - times[0] >= 95) + (times[2] - times[1] >= 190)`, "3truetrue")
	})
	for name, script := range suite.Sorted(map[string]string{"dialog": "alert('stop')", "new document": "location.replace('type.html?next')"}) {
		s.Page(t, "delay ends with a "+name, "type.html", func(c *suite.Case) {
			c.Eval("document.querySelector('#name').addEventListener('input', () => setTimeout(() => { "+script+" }), {once: true}); 0", nil)
			a := c.TypeInto("#name", "abc", &executor.TypeOptions{Delay: 15 * time.Second, PressEnter: true})
			c.WantIn(a.Note, "1 of 3 characters were typed", "Enter was not pressed")
			want := ""
			if a.Dialog != nil {
				c.Must(c.Page().HandleDialog(c.Ctx, &executor.DialogAnswer{}))
				want = "a"
			}
			c.WantValue("document.querySelector('#name').value", want)
		})
	}
	s.Page(t, "delay that is too long", "type.html", func(c *suite.Case) {
		for _, opts := range []executor.TypeOptions{{Delay: -time.Second}, {Delay: 16 * time.Second}} {
			_, err := c.Page().Type(c.Ctx, suite.Selector("#name"), "abc", &opts)
			c.WantCode(err, executor.ErrBadArgs, "delay")
		}
		c.WantValue("document.querySelector('#name').value", "")
		c.PastDeadline("1 of 3 characters were typed", func(ctx context.Context) error {
			return suite.ErrOf(c.Page().Type(ctx, suite.Selector("#name"), "abc", &executor.TypeOptions{Delay: 15 * time.Second, Clear: true}))
		})
		c.WantValue("document.querySelector('#name').value", "a")
	})
	s.Page(t, "emoji and CJK", "type.html", func(c *suite.Case) {
		const text = "héllo 你好 👩‍💻 שלום"
		c.TypeInto("#name", text, nil)
		c.WantValue("document.querySelector('#name').value", text)
		c.TypeInto("#area", text, &executor.TypeOptions{KeyEvents: true})
		c.WantValue("area.value", text)
	})
	s.Page(t, "max length", "type.html", func(c *suite.Case) {
		for _, opts := range []*executor.TypeOptions{nil, {KeyEvents: true}, {PressEnter: true}} {
			_, err := c.Page().Type(c.Ctx, suite.Selector("#short"), "1234567", opts)
			c.WantCode(err, executor.ErrNotActionable, `at most 5 characters, and its value was "12345"; the old value was restored`)
			c.WantValue("document.querySelector('#short').value", "")
		}
	})
	s.Page(t, "text rejected by the page", "rejects-input.html", func(c *suite.Case) {
		_, err := c.Page().Type(c.Ctx, suite.Selector("#short"), "987654", nil)
		c.WantCode(err, executor.ErrNotActionable, `its value was "987"`)
		c.WantIn(c.TypeInto("#empties", "x", nil).Note, "empty")
		if note := c.TypeInto("#rich", " words", nil).Note; note != "" {
			c.Errorf("note %q on accepted text", note)
		}
	})
	s.Page(t, "controlled", "type.html", func(c *suite.Case) {
		c.TypeInto("#controlled", "ab1c d", nil)
		c.TypeInto("#name", "x", nil) // blur writes the model back
		c.WantValue("controlled.value", "ABC D")
	})
	s.Page(t, "email and number", "type.html", func(c *suite.Case) {
		c.TypeInto("#email", "ann@example.com", nil)
		c.WantValue("email.value", "ann@example.com")
		c.TypeInto("#number", "12.5", nil)
		c.WantValue("number.value", "12.5")
		_, err := c.Page().Type(c.Ctx, suite.Selector("#number"), "2,5", &executor.TypeOptions{Clear: true})
		c.WantCode(err, executor.ErrNotActionable, "the old value was restored")
		c.WantValue("number.value + number.validity.badInput", "12.5false")
		_, err = c.Page().Type(c.Ctx, suite.Selector("#number"), "abc", &executor.TypeOptions{Clear: true})
		c.WantCode(err, executor.ErrNotActionable, "became empty; the old value was restored")
		c.WantValue("number.value", "12.5")
	})
	s.Page(t, "readonly", "type.html", func(c *suite.Case) {
		_, err := c.Page().Type(c.Ctx, suite.Selector("#readonly"), "x", &executor.TypeOptions{Timeout: suite.NeverTimeout})
		c.WantCode(err, executor.ErrNotActionable, "read")
		c.WantUntouched("readonly")
	})
	s.Page(t, "disabled", "type.html", func(c *suite.Case) {
		_, err := c.Page().Type(c.Ctx, suite.Selector("#off"), "x", &executor.TypeOptions{Timeout: suite.NeverTimeout})
		c.WantCode(err, executor.ErrNotActionable, "disabled")
		c.WantValue("off.value", "")
	})
	s.Page(t, "not a field", "type.html", func(c *suite.Case) {
		_, err := c.Page().Type(c.Ctx, suite.Selector("#button"), "x", &executor.TypeOptions{Timeout: suite.NeverTimeout})
		c.WantCode(err, executor.ErrNotActionable)
		_, err = c.Page().Type(c.Ctx, suite.Selector("#nosuch"), "x", nil)
		c.WantCode(err, executor.ErrSelectorNotFound)
	})
}

func press(s *suite.Runner, t *testing.T) {
	s.Page(t, "text and keys for a field do not reach a frame that takes the focus", "typing-focus.html", func(c *suite.Case) {
		across := suite.ByRef(c.Ref("textbox", "Across"))
		c.TypeInto("#calm", "a", nil)
		c.Must(c.Page().Type(c.Ctx, across, "b", nil))
		c.Await("input", "across")
		for id, origin := range suite.Sorted(map[string]string{"frame": c.EvalString("location.origin"), "cross": c.OtherOrigin()}) {
			c.Eval("chat.value = ''; chat.onkeydown = () => "+id+".focus(); 0", nil)
			_, err := c.Page().Type(c.Ctx, suite.Selector("#chat"), "hunter2", &executor.TypeOptions{KeyEvents: true, PressEnter: true})
			c.WantCode(err, executor.ErrNotActionable, "1 of 7 characters", "a frame of "+origin)
			c.Eval("chat.value = ''; chat.onkeydown = null; chat.oninput = () => "+id+".focus(); 0", nil)
			_, err = c.Page().Type(c.Ctx, suite.Selector("#chat"), "hunter2", &executor.TypeOptions{PressEnter: true})
			c.WantCode(err, executor.ErrNotActionable, "Enter was not pressed", "a frame of "+origin)
			c.WantValue("chat.value", "hunter2")
			c.Eval("chat.oninput = null; chat.blur(); chat.onfocus = () => setTimeout(() => "+id+".focus()); 0", nil)
			_, err = c.Page().Press(c.Ctx, "Enter", &executor.PressOptions{Target: suite.Selector("#chat")})
			c.WantCode(err, executor.ErrNotActionable, "a frame of "+origin)
			c.Eval("chat.onfocus = null; 0", nil)
		}
		c.WantValue("frame.contentDocument.querySelector('#calm').value", "a")
		c.Must(c.Page().Type(c.Ctx, across, "c", nil))
		if r := c.Await("input", "across"); r.Value != "abc" {
			c.Errorf("the field in the other frame has the value %q", r.Value)
		}
		c.Mu.Lock()
		defer c.Mu.Unlock()
		for _, r := range c.Reports {
			if r.Kind == "keydown" && r.ID == "across" {
				c.Errorf("the field in the other frame received %+v", r)
			}
		}
	})
	s.Page(t, "key for an element that does not keep the focus is blocked", "typing-focus.html", func(c *suite.Case) {
		for _, key := range []string{"Enter", "Shift+A"} {
			_, err := c.Page().Press(c.Ctx, key, &executor.PressOptions{Target: suite.Selector("#later")})
			c.WantCode(err, executor.ErrNotActionable, `textbox "Other"`, "took the focus", "Hands on later")
		}
		c.WantUntouched("other")
		c.Key("b", &executor.PressOptions{Target: suite.Selector("#other")})
		c.WantValue("other.value", "b")
	})
	s.Page(t, "Enter after text for an element that does not keep the focus is blocked", "typing-focus.html", func(c *suite.Case) {
		c.Eval("document.body.insertAdjacentHTML('beforeend', '<button id=del>Delete</button>'); del.onkeydown = del.onclick = reportEvent; chat.oninput = () => setTimeout(() => del.focus()); 0", nil)
		for _, o := range []executor.TypeOptions{{PressEnter: true}, {PressEnter: true, KeyEvents: true}} {
			c.Eval("chat.value = ''", nil)
			_, err := c.Page().Type(c.Ctx, suite.Selector("#chat"), "x", &o)
			c.WantCode(err, executor.ErrNotActionable, `button "Delete"`, "Chat", "the text was typed and Enter was not pressed")
		}
		c.WantUntouched("del")
		c.Eval("code.addEventListener('keydown', (e) => report('key', e.target.ariaLabel, { value: e.key })); 0", nil)
		c.TypeInto("[aria-label='Digit 1']", "123", &executor.TypeOptions{KeyEvents: true, PressEnter: true})
		c.WantValue("JSON.stringify(log.filter((r) => r.kind === 'key' && r.value === 'Enter').map((r) => r.id))", `["Digit 3"]`)
	})
	s.Page(t, "Enter submits the form", "type.html", func(c *suite.Case) {
		c.TypeInto("#query", "lamps", nil)
		c.Key("Enter", nil)
		if r := c.Await("submit", "form"); r.Value != "lamps" {
			c.Errorf("submitted %q", r.Value)
		}
		var submits int
		c.Eval("log.filter((r) => r.kind === 'submit').length", &submits)
		if submits != 1 {
			c.Errorf("submitted %d times", submits)
		}
	})
	s.Page(t, "Enter inserts one line break", "type.html", func(c *suite.Case) {
		c.TypeInto("#area", "a", nil)
		c.Key("Enter", nil)
		c.TypeInto("#area", "b", nil)
		c.WantValue("area.value", "a\nb")
	})
	s.Page(t, "select all", "type.html", func(c *suite.Case) {
		c.Key("Control+a", &executor.PressOptions{Target: suite.Selector("#filled")})
		c.Key("x", nil)
		c.WantValue("filled.value", "x")
	})
	s.Page(t, "separate modifiers", "type.html", func(c *suite.Case) {
		c.Key("a", &executor.PressOptions{Target: suite.Selector("#name"), Modifiers: []executor.Modifier{executor.ModShift}})
		if r := c.Await("keydown", "name"); r.Mods != "S" {
			c.Errorf("modifiers = %q, want S", r.Mods)
		}
		c.WantValue("document.querySelector('#name').value", "A")
	})
	s.Page(t, "editing keys", "type.html", func(c *suite.Case) {
		c.TypeInto("#name", "abcd", nil)
		c.Key("Backspace", nil)
		c.Key("Home", nil)
		c.Key("Delete", nil)
		c.Key("End", nil)
		c.Key("Control+Shift+ArrowLeft", nil)
		c.Key("Z", nil)
		c.WantValue("document.querySelector('#name').value", "Z")
	})
	s.Page(t, "Tab moves the focus", "type.html", func(c *suite.Case) {
		c.Key("Tab", &executor.PressOptions{Target: suite.Selector("#query")})
		c.Await("focus", "second")
		c.WantValue("document.activeElement.id", "second")
		c.Key("Shift+Tab", nil)
		c.WantValue("document.activeElement.id", "query")
	})
	s.Page(t, "unknown key", "type.html", func(c *suite.Case) {
		for _, key := range []string{"", "Bogus", "Control+", "Hyper+a", "ab"} {
			_, err := c.Page().Press(c.Ctx, key, &executor.PressOptions{Target: suite.Selector("#name")})
			c.WantCode(err, executor.ErrBadArgs)
		}
		c.WantUntouched("name")
	})
	s.Page(t, "no such target", "type.html", func(c *suite.Case) {
		_, err := c.Page().Press(c.Ctx, "a", &executor.PressOptions{Target: suite.Selector("#nosuch")})
		c.WantCode(err, executor.ErrSelectorNotFound)
	})
}
