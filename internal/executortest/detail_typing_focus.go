package executortest

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// typingFocus types into fields whose page moves the focus.
func (s *suite) typingFocus(t *testing.T) {
	keys := &executor.TypeOptions{KeyEvents: true}
	for _, id := range []string{"handsOn", "later"} {
		s.page(t, "field that moves the focus receives no text: "+id, "typing-focus.html", func(c *testCase) {
			for _, o := range []*executor.TypeOptions{nil, keys, {Clear: true}} {
				_, err := c.page().Type(c.ctx, css("#"+id), "Ann", o)
				c.wantCode(err, executor.ErrNotActionable, `textbox "Other"`, "took the focus", "Hands on", "[ref=e")
			}
			c.wantValue("other.value + document.querySelector('#"+id+"').value", "")
			c.wantUntouched("other")
		})
	}
	s.page(t, "focus moves on the first key: no text", "typing-focus.html", func(c *testCase) {
		_, err := c.page().Type(c.ctx, css("#byKey"), "Ann", keys)
		c.wantCode(err, executor.ErrNotActionable, `textbox "Other"`, "took the focus", "by key", "was blocked")
		c.wantValue("other.value + byKey.value", "")
	})
	s.page(t, "dialog during key events: typed count reported, Enter not pressed", "typing-focus.html", func(c *testCase) {
		a := c.typeInto("#asksByKey", "hello", &executor.TypeOptions{KeyEvents: true, PressEnter: true})
		c.wantDialog(a.Changes, executor.DialogAlert, "A key")
		c.wantIn(a.Note, "1 of 5 characters were typed", "Enter was not pressed")
		c.answer(executor.DialogAlert, "A key", executor.DialogAnswer{Accept: true})
		c.wantValue("asksByKey.value", "h")
		c.wantValue("log.length", "1")
	})
	s.page(t, "field that blurs itself: reported", "typing-focus.html", func(c *testCase) {
		_, err := c.page().Type(c.ctx, css("#letsGo"), "Ann", nil)
		c.wantCode(err, executor.ErrNotActionable, "Lets go", "focus")
		c.wantUntouched("letsGo")
	})
	s.page(t, "focus moves out of a frame: no text", "typing-focus.html", func(c *testCase) {
		_, err := c.page().Type(c.ctx, byRef(c.ref("textbox", "In the frame")), "Ann", nil)
		c.wantCode(err, executor.ErrNotActionable, "In the frame", "focus")
		c.wantValue("other.value", "")
		c.wantUntouched("other")
	})
	s.page(t, "fields in same-site and cross-site frames", "typing-focus.html", func(c *testCase) {
		c.typeInto("#calm", "Ann", nil)
		if r := c.await("input", "calm"); r.Value != "Ann" {
			c.Errorf("its value is %q", r.Value)
		}
		c.typeInto("#other", "Bob", nil)
		ref := c.ref("textbox", "Across")
		for _, row := range []struct {
			opts *executor.TypeOptions
			want string
		}{{nil, "ab"}, {&executor.TypeOptions{Clear: true}, "b"}, {keys, "bb"}} {
			c.must(c.page().Type(c.ctx, byRef(ref), "b", row.opts))
			if r := c.await("input", "across"); r.Value != row.want || !r.Trusted {
				c.Errorf("%+v, want %s", r, row.want)
			}
		}
		c.typeInto("#other", "by", nil)
		c.wantValue("other.value", "Bobby")
	})
	s.page(t, "fields in different frames one after another", "typing-focus.html", func(c *testCase) {
		snap := c.snap(nil)
		across, next, calm := c.refIn(snap, "textbox", "Across"), c.refIn(snap, "textbox", "Next"), c.refIn(snap, "textbox", "Calm")
		for range 4 {
			for _, ref := range []executor.Ref{across, calm, next} {
				c.must(c.page().Type(c.ctx, byRef(ref), "x", nil))
			}
			c.typeInto("#other", "y", nil)
		}
		c.wantValue("other.value + frame.contentDocument.querySelector('#calm').value", "yyyyxxxx")
		c.wantIn(c.snap(nil), `textbox "Across" [ref=`+string(across)+`]: axxxx`, `: xxxx`)
	})
	s.page(t, "one-digit fields: key events follow the focus, reported", "typing-focus.html", func(c *testCase) {
		a := c.typeInto("[aria-label='Digit 1']", "123", keys)
		c.wantValue("[...code.children].map((i) => i.value).join()", "1,2,3")
		c.wantIn(a.Note, `textbox "Digit 3"`)
	})
	s.page(t, "one-digit fields: inserted text rejected", "typing-focus.html", func(c *testCase) {
		_, err := c.page().Type(c.ctx, css("[aria-label='Digit 1']"), "123", nil)
		c.wantCode(err, executor.ErrNotActionable, "at most 1", `"1"`, "KeyEvents")
		_, err = c.page().FillForm(c.ctx, []executor.Field{{Target: css("[aria-label='Digit 1']"), Value: "123"}}, nil)
		c.wantCode(err, executor.ErrNotActionable, "Digit 1", "at most 1")
	})
	s.page(t, "field re-rendered on each key keeps its text", "typing-focus.html", func(c *testCase) {
		for _, o := range []*executor.TypeOptions{keys, nil} {
			if note := c.typeInto("#renders", "word", o).Note; note != "" {
				c.Errorf("note %q", note)
			}
		}
		c.wantValue("renders.value", "wordword")
	})
	s.page(t, "field removed by rendering: reported", "typing-focus.html", func(c *testCase) {
		c.wantIn(c.typeInto("#rendersAway", "word", keys).Note, "removed the field")
		c.wantValue("rendersAway.value", "")
	})
	s.page(t, "field removed when complete", "typing-focus.html", func(c *testCase) {
		c.must(c.page().FillForm(c.ctx, []executor.Field{{Target: css("#once"), Value: "1234"}}, nil))
	})
	s.page(t, "dialog opened by a key stops typing", "typing-focus.html", func(c *testCase) {
		a := c.typeInto("#asks", "abcdef", keys)
		c.wantDialog(a.Changes, executor.DialogAlert, "Two")
		c.answer(executor.DialogAlert, "Two", executor.DialogAnswer{Accept: true})
		c.wantValue("asks.value", "ab")
	})
	s.page(t, "page that a key navigates to receives no text", "typing-focus.html", func(c *testCase) {
		a := c.typeInto("#leaves", "abcdefghijklmnop", keys)
		c.wantIn(a.URL, "typing-inner.html")
		c.wantValue("across.value + next.value", "a")
		c.wantUntouched("across")
	})
	s.page(t, "debounced input handler runs once", "typing-focus.html", func(c *testCase) {
		c.typeInto("#waits", "lamps", nil)
		if r := c.await("heard", "waits"); r.Value != "lamps" {
			c.Errorf("its handler received %q", r.Value)
		}
	})
	s.page(t, "text continued in another field: reported", "typing-focus.html", func(c *testCase) {
		c.wantIn(c.typeInto("#interrupted", "abcd", keys).Note, `"ab"`, `textbox "Chat" [ref=e`)
		c.wantValue("chat.value", "cd")
	})
	s.page(t, "covered field receives no text", "typing-focus.html", func(c *testCase) {
		_, err := c.page().Type(c.ctx, css("#behind"), "x", nil)
		c.wantCode(err, executor.ErrNotActionable, "Behind", "covered", "A veil")
		c.wantUntouched("behind")
	})
	s.page(t, "blocked input does not block later user input", "typing-focus.html", func(c *testCase) {
		_, err := c.page().Type(c.ctx, css("#handsOn"), "Ann", nil)
		c.wantCode(err, executor.ErrNotActionable)
		c.typeInto("#chat", "", nil)
		c.key("x", &executor.PressOptions{Target: css("#other")})
		c.wantValue("other.value", "x")
	})
	s.page(t, "field that moves on focus", "typing-focus.html", func(c *testCase) {
		c.typeInto("#slides", "Ann", nil)
		if r := c.await("input", "slides"); r.Value != "Ann" {
			c.Errorf("its value is %q", r.Value)
		}
	})
	s.page(t, "editor that is focused by click only", "typing-focus.html", func(c *testCase) {
		c.typeInto("#clicked", "new", &executor.TypeOptions{Clear: true})
		c.wantValue("clicked.innerText", "new")
	})
}
