package executortest

import (
	"cmp"
	"context"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

// typeInto types and fails the case if that fails. The default timeout is await.HangLimit.
func (c *testCase) typeInto(selector, text string, opts *executor.TypeOptions) *executor.Action {
	c.Helper()
	o := *cmp.Or(opts, new(executor.TypeOptions))
	o.Timeout = cmp.Or(o.Timeout, await.HangLimit)
	a, err := c.page().Type(c.ctx, css(selector), text, &o)
	if err != nil {
		c.Fatalf("type into %s: %v", selector, err)
	}
	return a
}

func (s *suite) typing(t *testing.T) {
	s.page(t, "input", "type.html", func(c *testCase) {
		c.typeInto("#name", "Ann Lee", nil)
		c.await("focus", "name")
		if r := c.await("input", "name"); !r.Trusted {
			c.Errorf("input event: %+v", r)
		}
		c.wantValue("document.querySelector('#name').value", "Ann Lee")
	})
	s.page(t, "appends", "type.html", func(c *testCase) {
		c.typeInto("#filled", " and more", nil)
		c.wantValue("filled.value", "old text and more")
	})
	s.page(t, "clear", "type.html", func(c *testCase) {
		c.typeInto("#filled", "new", &executor.TypeOptions{Clear: true})
		c.wantValue("filled.value", "new")
		c.typeInto("#filled", "", &executor.TypeOptions{Clear: true})
		c.wantValue("filled.value", "")
	})
	s.page(t, "textarea", "type.html", func(c *testCase) {
		c.typeInto("#area", "one\ntwo", nil)
		c.await("input", "area")
		c.wantValue("area.value", "one\ntwo")
	})
	s.page(t, "contenteditable", "type.html", func(c *testCase) {
		c.typeInto("#rich", "new words", &executor.TypeOptions{Clear: true})
		c.await("input", "rich")
		c.wantValue("rich.innerText.trim()", "new words")
	})
	s.page(t, "ref", "type.html", func(c *testCase) {
		c.must(c.page().Type(c.ctx, byRef(c.ref("textbox", "Name")), "Bo", nil))
		c.wantValue("document.querySelector('#name').value", "Bo")
	})
	s.page(t, "press enter", "type.html", func(c *testCase) {
		c.typeInto("#query", "lamps", &executor.TypeOptions{PressEnter: true})
		if r := c.await("submit", "form"); r.Value != "lamps" {
			c.Errorf("submitted %q", r.Value)
		}
	})
	s.page(t, "key events", "type.html", func(c *testCase) {
		c.typeInto("#name", "abc", &executor.TypeOptions{KeyEvents: true})
		for range 3 {
			if !c.await("keydown", "name").Trusted {
				c.Error("a key was not trusted")
			}
		}
		c.wantValue("document.querySelector('#name').value", "abc")
	})
	s.page(t, "delay between characters", "type.html", func(c *testCase) {
		c.eval("window.times = []; document.querySelector('#name').addEventListener('keydown', (e) => times.push(e.timeStamp)); 0", nil)
		a := c.typeInto("#name", "ab😀c", &executor.TypeOptions{Delay: 100 * time.Millisecond})
		if a.Note != "" {
			c.Errorf("note %q", a.Note)
		}
		c.wantValue("document.querySelector('#name').value", "ab😀c")
		// The emoji has no key.
		c.wantValue(`String(times.length) + (times[1] - times[0] >= 95) + (times[2] - times[1] >= 190)`, "3truetrue")
	})
	for name, script := range sorted(map[string]string{"dialog": "alert('stop')", "new document": "location.replace('type.html?next')"}) {
		s.page(t, "delay ends with a "+name, "type.html", func(c *testCase) {
			c.eval("document.querySelector('#name').addEventListener('input', () => setTimeout(() => { "+script+" }), {once: true}); 0", nil)
			a := c.typeInto("#name", "abc", &executor.TypeOptions{Delay: 15 * time.Second, PressEnter: true})
			c.wantIn(a.Note, "1 of 3 characters were typed", "Enter was not pressed")
			want := ""
			if a.Dialog != nil {
				c.must(c.page().HandleDialog(c.ctx, executor.DialogAnswer{}))
				want = "a"
			}
			c.wantValue("document.querySelector('#name').value", want)
		})
	}
	s.page(t, "delay that is too long", "type.html", func(c *testCase) {
		for _, opts := range []executor.TypeOptions{{Delay: -time.Second}, {Delay: 16 * time.Second}} {
			_, err := c.page().Type(c.ctx, css("#name"), "abc", &opts)
			c.wantCode(err, executor.ErrBadArgs, "delay")
		}
		c.wantValue("document.querySelector('#name').value", "")
		c.pastDeadline("1 of 3 characters were typed", func(ctx context.Context) error {
			return errOf(c.page().Type(ctx, css("#name"), "abc", &executor.TypeOptions{Delay: 15 * time.Second, Clear: true}))
		})
		c.wantValue("document.querySelector('#name').value", "a")
	})
	s.page(t, "emoji and CJK", "type.html", func(c *testCase) {
		const text = "héllo 你好 👩‍💻 שלום"
		c.typeInto("#name", text, nil)
		c.wantValue("document.querySelector('#name').value", text)
		c.typeInto("#area", text, &executor.TypeOptions{KeyEvents: true})
		c.wantValue("area.value", text)
	})
	s.page(t, "max length", "type.html", func(c *testCase) {
		for _, opts := range []*executor.TypeOptions{nil, {KeyEvents: true}, {PressEnter: true}} {
			_, err := c.page().Type(c.ctx, css("#short"), "1234567", opts)
			c.wantCode(err, executor.ErrNotActionable, `at most 5 characters, and its value was "12345"; the old value was restored`)
			c.wantValue("document.querySelector('#short').value", "")
		}
	})
	s.page(t, "text rejected by the page", "rejects-input.html", func(c *testCase) {
		_, err := c.page().Type(c.ctx, css("#short"), "987654", nil)
		c.wantCode(err, executor.ErrNotActionable, `its value was "987"`)
		c.wantIn(c.typeInto("#empties", "x", nil).Note, "empty")
		if note := c.typeInto("#rich", " words", nil).Note; note != "" {
			c.Errorf("note %q on accepted text", note)
		}
	})
	s.page(t, "controlled", "type.html", func(c *testCase) {
		c.typeInto("#controlled", "ab1c d", nil)
		c.typeInto("#name", "x", nil) // blur writes the model back
		c.wantValue("controlled.value", "ABC D")
	})
	s.page(t, "email and number", "type.html", func(c *testCase) {
		c.typeInto("#email", "ann@example.com", nil)
		c.wantValue("email.value", "ann@example.com")
		c.typeInto("#number", "12.5", nil)
		c.wantValue("number.value", "12.5")
		_, err := c.page().Type(c.ctx, css("#number"), "2,5", &executor.TypeOptions{Clear: true})
		c.wantCode(err, executor.ErrNotActionable, "the old value was restored")
		c.wantValue("number.value + number.validity.badInput", "12.5false")
		_, err = c.page().Type(c.ctx, css("#number"), "abc", &executor.TypeOptions{Clear: true})
		c.wantCode(err, executor.ErrNotActionable, "became empty; the old value was restored")
		c.wantValue("number.value", "12.5")
	})
	s.page(t, "readonly", "type.html", func(c *testCase) {
		_, err := c.page().Type(c.ctx, css("#readonly"), "x", &executor.TypeOptions{Timeout: neverTimeout})
		c.wantCode(err, executor.ErrNotActionable, "read")
		c.wantUntouched("readonly")
	})
	s.page(t, "disabled", "type.html", func(c *testCase) {
		_, err := c.page().Type(c.ctx, css("#off"), "x", &executor.TypeOptions{Timeout: neverTimeout})
		c.wantCode(err, executor.ErrNotActionable, "disabled")
		c.wantValue("off.value", "")
	})
	s.page(t, "not a field", "type.html", func(c *testCase) {
		_, err := c.page().Type(c.ctx, css("#button"), "x", &executor.TypeOptions{Timeout: neverTimeout})
		c.wantCode(err, executor.ErrNotActionable)
		_, err = c.page().Type(c.ctx, css("#nosuch"), "x", nil)
		c.wantCode(err, executor.ErrSelectorNotFound)
	})
}

// key presses a key and fails the case if that fails. The default timeout is await.HangLimit.
func (c *testCase) key(key string, opts *executor.PressOptions) *executor.Action {
	c.Helper()
	o := *cmp.Or(opts, new(executor.PressOptions))
	o.Timeout = cmp.Or(o.Timeout, await.HangLimit)
	a, err := c.page().Press(c.ctx, key, &o)
	if err != nil {
		c.Fatalf("press %s: %v", key, err)
	}
	return a
}

func (s *suite) press(t *testing.T) {
	s.page(t, "Enter submits the form", "type.html", func(c *testCase) {
		c.typeInto("#query", "lamps", nil)
		c.key("Enter", nil)
		if r := c.await("submit", "form"); r.Value != "lamps" {
			c.Errorf("submitted %q", r.Value)
		}
		var submits int
		c.eval("log.filter((r) => r.kind === 'submit').length", &submits)
		if submits != 1 {
			c.Errorf("submitted %d times", submits)
		}
	})
	s.page(t, "Enter inserts one line break", "type.html", func(c *testCase) {
		c.typeInto("#area", "a", nil)
		c.key("Enter", nil)
		c.typeInto("#area", "b", nil)
		c.wantValue("area.value", "a\nb")
	})
	s.page(t, "select all", "type.html", func(c *testCase) {
		c.key("Control+a", &executor.PressOptions{Target: css("#filled")})
		c.key("x", nil)
		c.wantValue("filled.value", "x")
	})
	s.page(t, "separate modifiers", "type.html", func(c *testCase) {
		c.key("a", &executor.PressOptions{Target: css("#name"), Modifiers: []executor.Modifier{executor.ModShift}})
		if r := c.await("keydown", "name"); r.Mods != "S" {
			c.Errorf("modifiers = %q, want S", r.Mods)
		}
		c.wantValue("document.querySelector('#name').value", "A")
	})
	s.page(t, "editing keys", "type.html", func(c *testCase) {
		c.typeInto("#name", "abcd", nil)
		c.key("Backspace", nil)
		c.key("Home", nil)
		c.key("Delete", nil)
		c.key("End", nil)
		c.key("Control+Shift+ArrowLeft", nil)
		c.key("Z", nil)
		c.wantValue("document.querySelector('#name').value", "Z")
	})
	s.page(t, "Tab moves the focus", "type.html", func(c *testCase) {
		c.key("Tab", &executor.PressOptions{Target: css("#query")})
		c.await("focus", "second")
		c.wantValue("document.activeElement.id", "second")
		c.key("Shift+Tab", nil)
		c.wantValue("document.activeElement.id", "query")
	})
	s.page(t, "unknown key", "type.html", func(c *testCase) {
		for _, key := range []string{"", "Bogus", "Control+", "Hyper+a", "ab"} {
			_, err := c.page().Press(c.ctx, key, &executor.PressOptions{Target: css("#name")})
			c.wantCode(err, executor.ErrBadArgs)
		}
		c.wantUntouched("name")
	})
	s.page(t, "no such target", "type.html", func(c *testCase) {
		_, err := c.page().Press(c.ctx, "a", &executor.PressOptions{Target: css("#nosuch")})
		c.wantCode(err, executor.ErrSelectorNotFound)
	})
}
