package inputsuite

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

func hitTarget(s *suite.Runner, t *testing.T) {
	clicks(s, t, "confirm.html", [][2]string{
		{"page stops propagation of all events", "hogged"},
		{"target captures the pointer", "captures"},
		{"draggable element", "drag"},
		{"image, draggable by default", "picture"},
		{"page prevents the default of mousedown", "prevents"},
	}...)
	s.Page(t, "in a closed shadow root that stops propagation", "confirm.html", func(c *suite.Case) {
		c.Clicked(suite.ByRef(c.Ref("button", "Sealed")), "sealed")
	})
	s.Page(t, "page overrides DOM methods", "confirm.html", func(c *suite.Case) {
		c.Clicked(suite.Selector("#focuses"), "focuses")
		c.Clicked(suite.ByRef(c.Ref("button", "Hogged")), "hogged")
		c.WantUntouched("addEventListener")
	})
	s.Page(t, "removed on pointerdown", "confirm.html", func(c *suite.Case) {
		c.WantIn(c.Click(suite.Selector("#removed"), nil).Note, "removed")
		c.Await("pointerdown", "removed")
	})
	s.Page(t, "removed on mousedown", "confirm.html", func(c *suite.Case) {
		c.WantIn(c.Click(suite.Selector("#removed2"), nil).Note, "removed")
		c.Await("mousedown", "removed2")
	})
	s.Page(t, "re-rendered between mousedown and mouseup", "confirm.html", func(c *suite.Case) {
		c.WantIn(c.Click(suite.Selector("#rendered"), nil).Note, "removed")
		c.Await("rendered", "react")
		c.WantUntouched("heir")
	})
	s.Page(t, "target moves on mousedown", "confirm.html", func(c *suite.Case) {
		c.WantIn(c.Click(suite.Selector("#flees"), nil).Note, "moved")
		c.Await("pointerdown", "flees")
	})
	s.Page(t, "backdrop opens over the target on mousedown", "confirm.html", func(c *suite.Case) {
		c.Snap(nil)
		a := c.Click(suite.Selector("#opens"), nil)
		c.WantIn(a.Note, "covered")
		c.WantIn(a.Diff, "Norway from the menu")
		c.Clicked(suite.Selector("#norway"), "norway")
	})
	for _, p := range []struct{ name, id, note string }{
		{"option selected on mousedown, list hides", "option", "hid"},
		{"option selected on mousedown, list re-renders", "option2", "removed"},
	} {
		s.Page(t, p.name, "confirm.html", func(c *suite.Case) {
			c.Snap(nil)
			a := c.Click(suite.Selector("#"+p.id), nil)
			c.WantIn(a.Note, p.note)
			c.WantIn(a.Diff, c.EvalString("chosen.textContent"))
			c.Await("chosen", p.id)
		})
	}
	s.Page(t, "first press of a double click hides the target", "confirm.html", func(c *suite.Case) {
		_, err := c.Page().Click(c.Ctx, suite.Selector("#option"), &executor.ClickOptions{Count: 2})
		c.WantCode(err, executor.ErrNotActionable, "Norway", "click")
		c.Await("chosen", "option")
	})
	s.Page(t, "covered when the pointer arrives", "confirm.html", func(c *suite.Case) {
		_, err := c.Page().Click(c.Ctx, suite.Selector("#trap"), nil)
		c.WantCode(err, executor.ErrNotActionable, "Trap", `tooltip "Tip" [ref=`)
		c.WantUntouched("tip")
		c.WantUntouched("trap")
	})
	s.Page(t, "covered briefly when the pointer arrives", "confirm.html", func(c *suite.Case) {
		c.Clicked(suite.Selector("#once"), "once")
		c.WantUntouched("tip")
	})
	s.Page(t, "link moves under the pointer", "confirm.html", func(c *suite.Case) {
		_, err := c.Page().Click(c.Ctx, suite.Selector("#trapped"), nil)
		c.WantCode(err, executor.ErrNotActionable, "Trapped link", `link "Buy now" [ref=`)
		c.WantValue("location.hash", "")
	})
	s.Page(t, "container captures the pointer", "confirm.html", func(c *suite.Case) {
		_, err := c.Page().Click(c.Ctx, suite.Selector("#held"), nil)
		c.WantCode(err, executor.ErrNotActionable, "Held by its track", "click")
		c.Await("pointerdown", "held")
	})
	s.Page(t, "page dispatches a second click", "confirm.html", func(c *suite.Case) {
		c.Click(suite.Selector("#again"), nil)
		c.Await("click", "trusted")
		c.Await("click", "again")
	})
	s.Page(t, "link to #", "confirm.html", func(c *suite.Case) {
		a := c.Clicked(suite.Selector("#nothing"), "nothing")
		if a.URL != "" {
			c.Errorf("URL %q, want none", a.URL)
		}
		c.Clicked(suite.Selector("#prevents"), "prevents")
	})
	s.Page(t, "navigates on mousedown", "confirm.html", func(c *suite.Case) {
		if a := c.Click(suite.Selector("#unloads"), nil); a.URL != c.URL("second.html") {
			c.Errorf("URL %q", a.URL)
		}
	})
	s.Page(t, "document.write on mousedown", "confirm.html", func(c *suite.Case) {
		c.Click(suite.Selector("#closes"), nil)
		c.WantValue("document.body.innerText.trim()", "Written anew")
	})
	for _, event := range []string{"pointerdown", "mousedown", "mouseup", "click"} {
		s.Page(t, "dialog on "+event, "confirm.html", func(c *suite.Case) {
			a := c.Click(suite.Selector("#on"+event), nil)
			if a.Dialog == nil || a.Dialog.Message != event {
				c.Fatalf("changes %+v, want a dialog that says %s", a.Changes, event)
			}
			c.Must(c.Page().HandleDialog(c.Ctx, &executor.DialogAnswer{Accept: true}))
			c.Clicked(suite.Selector("#prevents"), "prevents") // no listener remains
		})
	}
	for name, do := range suite.Sorted(map[string]func(c *suite.Case) error{
		"click": func(c *suite.Case) error { return suite.ErrOf(c.Page().Click(c.Ctx, suite.Selector("#asks"), nil)) },
		"double click": func(c *suite.Case) error {
			return suite.ErrOf(c.Page().Click(c.Ctx, suite.Selector("#asks"), &executor.ClickOptions{Count: 2}))
		},
		"checkbox of a form": func(c *suite.Case) error {
			return suite.ErrOf(c.Page().FillForm(c.Ctx, []executor.Field{{Target: suite.Selector("#asksCheck"), Value: true}}, nil))
		},
	}) {
		s.Page(t, "dialog before the press cancels the input: "+name, "confirm.html", func(c *suite.Case) {
			c.Eval("asking = true", nil)
			c.WantCode(do(c), executor.ErrDialogOpen, "Delete everything?", "not clicked")
			c.Answer(executor.DialogConfirm, "Delete everything?", executor.DialogAnswer{})
			c.Eval("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))", nil)
			c.WantValue("log.filter((r) => r.kind !== 'after').map((r) => r.kind).join()", "")
			c.WantValue("asksCheck.checked", "false")
			if err := do(c); err != nil { // the page opens no further dialog
				c.Fatal(err)
			}
			if name == "checkbox of a form" {
				c.WantValue("asksCheck.checked", "true")
				return
			}
			c.Await("click", "asks")
			c.Key("Enter", &executor.PressOptions{Target: suite.Selector("#asks")})
			c.WantValue("log.filter((r) => r.kind === 'click').length", map[string]string{"click": "2", "double click": "3"}[name])
		})
	}
	s.Page(t, "key press works on a button whose click was blocked", "confirm.html", func(c *suite.Case) {
		c.Eval("asking = true", nil)
		_, err := c.Page().Click(c.Ctx, suite.Selector("#asks"), nil)
		c.WantCode(err, executor.ErrDialogOpen)
		c.Answer(executor.DialogConfirm, "Delete everything?", executor.DialogAnswer{})
		c.Key("Enter", &executor.PressOptions{Target: suite.Selector("#asks")})
		c.Await("click", "asks")
	})
	s.Page(t, "slow pointer handlers: one press", "confirm.html", func(c *suite.Case) {
		c.Clicked(suite.Selector("#slow"), "slow")
		c.WantValue("log.map((r) => r.kind).join()", "mousedown,click")
	})
	s.Page(t, "double and triple clicks select", "confirm.html", func(c *suite.Case) {
		c.Click(suite.Selector("#words"), &executor.ClickOptions{Count: 2})
		if !c.Await("dblclick", "words").Trusted {
			c.Error("the double click was not trusted")
		}
		c.WantValue("getSelection().toString().trim().split(' ').length", "1")
		c.Click(suite.Selector("#words"), &executor.ClickOptions{Count: 3})
		c.WantValue("getSelection().toString().trim()", "Some words to select")
	})
	s.Page(t, "right and middle buttons", "confirm.html", func(c *suite.Case) {
		for _, id := range []string{"menu", "nomenu"} {
			c.Click(suite.Selector("#"+id), &executor.ClickOptions{Button: executor.ButtonRight})
			if r := c.Await("contextmenu", id); !r.Trusted || r.Button != 2 {
				c.Errorf("contextmenu on #%s: %+v", id, r)
			}
		}
		c.Click(suite.Selector("#aux"), &executor.ClickOptions{Button: executor.ButtonMiddle})
		if r := c.Await("auxclick", "aux"); !r.Trusted || r.Button != 1 {
			c.Errorf("auxclick: %+v", r)
		}
	})
	s.Page(t, "click moves the focus", "confirm.html", func(c *suite.Case) {
		c.Clicked(suite.Selector("#focuses"), "focuses")
		c.Await("focus", "focuses")
		c.Click(suite.Selector("#field"), nil)
		c.Await("focus", "field")
		c.WantValue("document.activeElement.id", "field")
	})
	s.Page(t, "checkbox that reverts itself", "confirm.html", func(c *suite.Case) {
		c.Eval(`controlled.onclick = (event) => event.preventDefault()`, nil)
		c.Clicked(suite.Selector("#controlled"), "controlled")
		c.WantValue("controlled.checked", "false")
	})
}
