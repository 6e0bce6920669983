package inputsuite

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

// typingFocus types into fields whose page moves the focus.
func typingFocus(s *suite.Runner, t *testing.T) {
	keys := &executor.TypeOptions{KeyEvents: true}
	for _, id := range []string{"handsOn", "later"} {
		s.Page(t, "field that moves the focus receives no text: "+id, "typing-focus.html", func(c *suite.Case) {
			for _, o := range []*executor.TypeOptions{nil, keys, {Clear: true}} {
				_, err := c.Page().Type(c.Ctx, suite.Selector("#"+id), "Ann", o)
				c.WantCode(err, executor.ErrNotActionable, `textbox "Other"`, "took the focus", "Hands on", "[ref=e")
			}
			c.WantValue("other.value + document.querySelector('#"+id+"').value", "")
			c.WantUntouched("other")
		})
	}
	s.Page(t, "focus moves on the first key: no text", "typing-focus.html", func(c *suite.Case) {
		_, err := c.Page().Type(c.Ctx, suite.Selector("#byKey"), "Ann", keys)
		c.WantCode(err, executor.ErrNotActionable, `textbox "Other"`, "took the focus", "by key", "was blocked")
		c.WantValue("other.value + byKey.value", "")
	})
	s.Page(t, "dialog during key events: typed count reported, Enter not pressed", "typing-focus.html", func(c *suite.Case) {
		a := c.TypeInto("#asksByKey", "hello", &executor.TypeOptions{KeyEvents: true, PressEnter: true})
		c.WantDialog(a.Changes, executor.DialogAlert, "A key")
		c.WantIn(a.Note, "1 of 5 characters were typed", "Enter was not pressed")
		c.Answer(executor.DialogAlert, "A key", executor.DialogAnswer{Accept: true})
		c.WantValue("asksByKey.value", "h")
		c.WantValue("log.length", "1")
	})
	s.Page(t, "field that blurs itself: reported", "typing-focus.html", func(c *suite.Case) {
		_, err := c.Page().Type(c.Ctx, suite.Selector("#letsGo"), "Ann", nil)
		c.WantCode(err, executor.ErrNotActionable, "Lets go", "focus")
		c.WantUntouched("letsGo")
	})
	s.Page(t, "focus moves out of a frame: no text", "typing-focus.html", func(c *suite.Case) {
		_, err := c.Page().Type(c.Ctx, suite.ByRef(c.Ref("textbox", "In the frame")), "Ann", nil)
		c.WantCode(err, executor.ErrNotActionable, "In the frame", "focus")
		c.WantValue("other.value", "")
		c.WantUntouched("other")
	})
	s.Page(t, "fields in same-site and cross-site frames", "typing-focus.html", func(c *suite.Case) {
		c.TypeInto("#calm", "Ann", nil)
		if r := c.Await("input", "calm"); r.Value != "Ann" {
			c.Errorf("its value is %q", r.Value)
		}
		c.TypeInto("#other", "Bob", nil)
		ref := c.Ref("textbox", "Across")
		for _, row := range []struct {
			opts *executor.TypeOptions
			want string
		}{{nil, "ab"}, {&executor.TypeOptions{Clear: true}, "b"}, {keys, "bb"}} {
			c.Must(c.Page().Type(c.Ctx, suite.ByRef(ref), "b", row.opts))
			if r := c.Await("input", "across"); r.Value != row.want || !r.Trusted {
				c.Errorf("%+v, want %s", r, row.want)
			}
		}
		c.TypeInto("#other", "by", nil)
		c.WantValue("other.value", "Bobby")
	})
	s.Page(t, "fields in different frames one after another", "typing-focus.html", func(c *suite.Case) {
		snap := c.Snap(nil)
		across, next, calm := c.RefIn(snap, "textbox", "Across"), c.RefIn(snap, "textbox", "Next"), c.RefIn(snap, "textbox", "Calm")
		for range 4 {
			for _, ref := range []executor.Ref{across, calm, next} {
				c.Must(c.Page().Type(c.Ctx, suite.ByRef(ref), "x", nil))
			}
			c.TypeInto("#other", "y", nil)
		}
		c.WantValue("other.value + frame.contentDocument.querySelector('#calm').value", "yyyyxxxx")
		c.WantIn(c.Snap(nil), `textbox "Across" [ref=`+string(across)+`]: axxxx`, `: xxxx`)
	})
	s.Page(t, "one-digit fields: key events follow the focus, reported", "typing-focus.html", func(c *suite.Case) {
		a := c.TypeInto("[aria-label='Digit 1']", "123", keys)
		c.WantValue("[...code.children].map((i) => i.value).join()", "1,2,3")
		c.WantIn(a.Note, `textbox "Digit 3"`)
	})
	s.Page(t, "one-digit fields: inserted text rejected", "typing-focus.html", func(c *suite.Case) {
		_, err := c.Page().Type(c.Ctx, suite.Selector("[aria-label='Digit 1']"), "123", nil)
		c.WantCode(err, executor.ErrNotActionable, "at most 1", `"1"`, "KeyEvents")
		_, err = c.Page().FillForm(c.Ctx, []executor.Field{{Target: suite.Selector("[aria-label='Digit 1']"), Value: "123"}}, nil)
		c.WantCode(err, executor.ErrNotActionable, "Digit 1", "at most 1")
	})
	s.Page(t, "field re-rendered on each key keeps its text", "typing-focus.html", func(c *suite.Case) {
		for _, o := range []*executor.TypeOptions{keys, nil} {
			if note := c.TypeInto("#renders", "word", o).Note; note != "" {
				c.Errorf("note %q", note)
			}
		}
		c.WantValue("renders.value", "wordword")
	})
	s.Page(t, "field removed by rendering: reported", "typing-focus.html", func(c *suite.Case) {
		c.WantIn(c.TypeInto("#rendersAway", "word", keys).Note, "removed the field")
		c.WantValue("rendersAway.value", "")
	})
	s.Page(t, "field removed when complete", "typing-focus.html", func(c *suite.Case) {
		c.Must(c.Page().FillForm(c.Ctx, []executor.Field{{Target: suite.Selector("#once"), Value: "1234"}}, nil))
	})
	s.Page(t, "dialog opened by a key stops typing", "typing-focus.html", func(c *suite.Case) {
		a := c.TypeInto("#asks", "abcdef", keys)
		c.WantDialog(a.Changes, executor.DialogAlert, "Two")
		c.Answer(executor.DialogAlert, "Two", executor.DialogAnswer{Accept: true})
		c.WantValue("asks.value", "ab")
	})
	s.Page(t, "page that a key navigates to receives no text", "typing-focus.html", func(c *suite.Case) {
		a := c.TypeInto("#leaves", "abcdefghijklmnop", keys)
		c.WantIn(a.URL, "typing-inner.html")
		c.WantIn(a.Note, " of 16 characters were typed")
		c.WantValue("across.value + next.value", "a")
		c.WantUntouched("across")
	})
	s.Page(t, "debounced input handler runs once", "typing-focus.html", func(c *suite.Case) {
		c.TypeInto("#waits", "lamps", nil)
		if r := c.Await("heard", "waits"); r.Value != "lamps" {
			c.Errorf("its handler received %q", r.Value)
		}
	})
	s.Page(t, "text continued in another field: reported", "typing-focus.html", func(c *suite.Case) {
		c.WantIn(c.TypeInto("#interrupted", "abcd", keys).Note, `"ab"`, `textbox "Chat" [ref=e`)
		c.WantValue("chat.value", "cd")
	})
	s.Page(t, "covered field receives no text", "typing-focus.html", func(c *suite.Case) {
		_, err := c.Page().Type(c.Ctx, suite.Selector("#behind"), "x", nil)
		c.WantCode(err, executor.ErrNotActionable, "Behind", "covered", "A veil")
		c.WantUntouched("behind")
	})
	s.Page(t, "blocked input does not block later user input", "typing-focus.html", func(c *suite.Case) {
		_, err := c.Page().Type(c.Ctx, suite.Selector("#handsOn"), "Ann", nil)
		c.WantCode(err, executor.ErrNotActionable)
		c.TypeInto("#chat", "", nil)
		c.Key("x", &executor.PressOptions{Target: suite.Selector("#other")})
		c.WantValue("other.value", "x")
	})
	s.Page(t, "field that moves on focus", "typing-focus.html", func(c *suite.Case) {
		c.TypeInto("#slides", "Ann", nil)
		if r := c.Await("input", "slides"); r.Value != "Ann" {
			c.Errorf("its value is %q", r.Value)
		}
	})
	s.Page(t, "editor that is focused by click only", "typing-focus.html", func(c *suite.Case) {
		c.TypeInto("#clicked", "new", &executor.TypeOptions{Clear: true})
		c.WantValue("clicked.innerText", "new")
	})
}
