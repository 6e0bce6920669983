package executortest

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

func (s *suite) hitTarget(t *testing.T) {
	s.clicks(t, "confirm.html", [][2]string{
		{"page stops propagation of all events", "hogged"},
		{"target captures the pointer", "captures"},
		{"draggable element", "drag"},
		{"image, draggable by default", "picture"},
		{"page prevents the default of mousedown", "prevents"},
	}...)
	s.page(t, "in a closed shadow root that stops propagation", "confirm.html", func(c *testCase) {
		c.clicked(byRef(c.ref("button", "Sealed")), "sealed")
	})
	s.page(t, "page overrides DOM methods", "confirm.html", func(c *testCase) {
		c.clicked(css("#focuses"), "focuses")
		c.clicked(byRef(c.ref("button", "Hogged")), "hogged")
		c.wantUntouched("addEventListener")
	})
	s.page(t, "removed on pointerdown", "confirm.html", func(c *testCase) {
		c.wantIn(c.click(css("#removed"), nil).Note, "removed")
		c.await("pointerdown", "removed")
	})
	s.page(t, "removed on mousedown", "confirm.html", func(c *testCase) {
		c.wantIn(c.click(css("#removed2"), nil).Note, "removed")
		c.await("mousedown", "removed2")
	})
	s.page(t, "re-rendered between mousedown and mouseup", "confirm.html", func(c *testCase) {
		c.wantIn(c.click(css("#rendered"), nil).Note, "removed")
		c.await("rendered", "react")
		c.wantUntouched("heir")
	})
	s.page(t, "target moves on mousedown", "confirm.html", func(c *testCase) {
		c.wantIn(c.click(css("#flees"), nil).Note, "moved")
		c.await("pointerdown", "flees")
	})
	s.page(t, "backdrop opens over the target on mousedown", "confirm.html", func(c *testCase) {
		c.snap(nil)
		a := c.click(css("#opens"), nil)
		c.wantIn(a.Note, "covered")
		c.wantIn(a.Diff, "Norway from the menu")
		c.clicked(css("#norway"), "norway")
	})
	for _, p := range []struct{ name, id, note string }{
		{"option selected on mousedown, list hides", "option", "hid"},
		{"option selected on mousedown, list re-renders", "option2", "removed"},
	} {
		s.page(t, p.name, "confirm.html", func(c *testCase) {
			c.snap(nil)
			a := c.click(css("#"+p.id), nil)
			c.wantIn(a.Note, p.note)
			c.wantIn(a.Diff, c.evalString("chosen.textContent"))
			c.await("chosen", p.id)
		})
	}
	s.page(t, "first press of a double click hides the target", "confirm.html", func(c *testCase) {
		_, err := c.page().Click(c.ctx, css("#option"), &executor.ClickOptions{Count: 2})
		c.wantCode(err, executor.ErrNotActionable, "Norway", "click")
		c.await("chosen", "option")
	})
	s.page(t, "covered when the pointer arrives", "confirm.html", func(c *testCase) {
		_, err := c.page().Click(c.ctx, css("#trap"), nil)
		c.wantCode(err, executor.ErrNotActionable, "Trap", `tooltip "Tip" [ref=`)
		c.wantUntouched("tip")
		c.wantUntouched("trap")
	})
	s.page(t, "covered briefly when the pointer arrives", "confirm.html", func(c *testCase) {
		c.clicked(css("#once"), "once")
		c.wantUntouched("tip")
	})
	s.page(t, "link moves under the pointer", "confirm.html", func(c *testCase) {
		_, err := c.page().Click(c.ctx, css("#trapped"), nil)
		c.wantCode(err, executor.ErrNotActionable, "Trapped link", `link "Buy now" [ref=`)
		c.wantValue("location.hash", "")
	})
	s.page(t, "container captures the pointer", "confirm.html", func(c *testCase) {
		_, err := c.page().Click(c.ctx, css("#held"), nil)
		c.wantCode(err, executor.ErrNotActionable, "Held by its track", "click")
		c.await("pointerdown", "held")
	})
	s.page(t, "page dispatches a second click", "confirm.html", func(c *testCase) {
		c.click(css("#again"), nil)
		c.await("click", "trusted")
		c.await("click", "again")
	})
	s.page(t, "link to #", "confirm.html", func(c *testCase) {
		a := c.clicked(css("#nothing"), "nothing")
		if a.URL != "" {
			c.Errorf("URL %q, want none", a.URL)
		}
		c.clicked(css("#prevents"), "prevents")
	})
	s.page(t, "navigates on mousedown", "confirm.html", func(c *testCase) {
		if a := c.click(css("#unloads"), nil); a.URL != c.url("second.html") {
			c.Errorf("URL %q", a.URL)
		}
	})
	s.page(t, "document.write on mousedown", "confirm.html", func(c *testCase) {
		c.click(css("#closes"), nil)
		c.wantValue("document.body.innerText.trim()", "Written anew")
	})
	for _, event := range []string{"pointerdown", "mousedown", "mouseup", "click"} {
		s.page(t, "dialog on "+event, "confirm.html", func(c *testCase) {
			a := c.click(css("#on"+event), nil)
			if a.Dialog == nil || a.Dialog.Message != event {
				c.Fatalf("changes %+v, want a dialog that says %s", a.Changes, event)
			}
			c.must(c.page().HandleDialog(c.ctx, executor.DialogAnswer{Accept: true}))
			c.clicked(css("#prevents"), "prevents") // no listener remains
		})
	}
	for name, do := range sorted(map[string]func(c *testCase) error{
		"click": func(c *testCase) error { return errOf(c.page().Click(c.ctx, css("#asks"), nil)) },
		"double click": func(c *testCase) error {
			return errOf(c.page().Click(c.ctx, css("#asks"), &executor.ClickOptions{Count: 2}))
		},
		"checkbox of a form": func(c *testCase) error {
			return errOf(c.page().FillForm(c.ctx, []executor.Field{{Target: css("#asksCheck"), Value: true}}, nil))
		},
	}) {
		s.page(t, "dialog before the press cancels the input: "+name, "confirm.html", func(c *testCase) {
			c.eval("asking = true", nil)
			c.wantCode(do(c), executor.ErrDialogOpen, "Delete everything?", "not clicked")
			c.answer(executor.DialogConfirm, "Delete everything?", executor.DialogAnswer{})
			c.eval("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))", nil)
			c.wantValue("log.filter((r) => r.kind !== 'after').map((r) => r.kind).join()", "")
			c.wantValue("asksCheck.checked", "false")
			if err := do(c); err != nil { // the page opens no further dialog
				c.Fatal(err)
			}
			if name == "checkbox of a form" {
				c.wantValue("asksCheck.checked", "true")
				return
			}
			c.await("click", "asks")
			c.key("Enter", &executor.PressOptions{Target: css("#asks")})
			c.wantValue("log.filter((r) => r.kind === 'click').length", map[string]string{"click": "2", "double click": "3"}[name])
		})
	}
	s.page(t, "key press works on a button whose click was blocked", "confirm.html", func(c *testCase) {
		c.eval("asking = true", nil)
		_, err := c.page().Click(c.ctx, css("#asks"), nil)
		c.wantCode(err, executor.ErrDialogOpen)
		c.answer(executor.DialogConfirm, "Delete everything?", executor.DialogAnswer{})
		c.key("Enter", &executor.PressOptions{Target: css("#asks")})
		c.await("click", "asks")
	})
	s.page(t, "slow pointer handlers: one press", "confirm.html", func(c *testCase) {
		c.clicked(css("#slow"), "slow")
		c.wantValue("log.map((r) => r.kind).join()", "mousedown,click")
	})
	s.page(t, "double and triple clicks select", "confirm.html", func(c *testCase) {
		c.click(css("#words"), &executor.ClickOptions{Count: 2})
		if !c.await("dblclick", "words").Trusted {
			c.Error("the double click was not trusted")
		}
		c.wantValue("getSelection().toString().trim().split(' ').length", "1")
		c.click(css("#words"), &executor.ClickOptions{Count: 3})
		c.wantValue("getSelection().toString().trim()", "Some words to select")
	})
	s.page(t, "right and middle buttons", "confirm.html", func(c *testCase) {
		for _, id := range []string{"menu", "nomenu"} {
			c.click(css("#"+id), &executor.ClickOptions{Button: executor.ButtonRight})
			if r := c.await("contextmenu", id); !r.Trusted || r.Button != 2 {
				c.Errorf("contextmenu on #%s: %+v", id, r)
			}
		}
		c.click(css("#aux"), &executor.ClickOptions{Button: executor.ButtonMiddle})
		if r := c.await("auxclick", "aux"); !r.Trusted || r.Button != 1 {
			c.Errorf("auxclick: %+v", r)
		}
	})
	s.page(t, "click moves the focus", "confirm.html", func(c *testCase) {
		c.clicked(css("#focuses"), "focuses")
		c.await("focus", "focuses")
		c.click(css("#field"), nil)
		c.await("focus", "field")
		c.wantValue("document.activeElement.id", "field")
	})
	s.page(t, "checkbox that reverts itself", "confirm.html", func(c *testCase) {
		c.eval(`controlled.onclick = (event) => event.preventDefault()`, nil)
		c.clicked(css("#controlled"), "controlled")
		c.wantValue("controlled.checked", "false")
	})
}
