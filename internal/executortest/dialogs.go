package executortest

import (
	"fmt"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

func dialogs(s *suite.Runner, t *testing.T) {
	accept, dismiss := executor.DialogAnswer{Accept: true}, executor.DialogAnswer{}
	s.Page(t, "alert", "dialogs.html", func(c *suite.Case) {
		a := c.Click(suite.Selector("#alert"), nil) // it returns although the page's handler has not
		c.WantDialog(a.Changes, executor.DialogAlert, "Saved!")
		c.Answer(executor.DialogAlert, "Saved!", accept)
		c.Await("after", "alert")
	})
	s.Shared().Page(t, "title after the answer", "dialogs.html", func(c *suite.Case) {
		c.Click(suite.Selector("#alert"), nil)
		if res := c.Answer(executor.DialogAlert, "Saved!", accept); res.Title != "" || res.URL != "" {
			c.Errorf("the title did not change, but the answer reports %+v", *res)
		}
		c.Click(suite.Selector("#several"), nil)
		c.Answer(executor.DialogAlert, "first", accept)
		if res := c.Answer(executor.DialogAlert, "second", accept); res.Title != "" {
			c.Errorf("the title did not change, but the answer reports %+v", *res)
		}
		c.Answer(executor.DialogConfirm, "third", accept)
		c.Click(suite.Selector("#retitle"), nil)
		if res := c.Answer(executor.DialogAlert, "retitle", accept); res.Title != "Retitled" {
			c.Errorf("the title changed, but the answer reports %+v", *res)
		}
	})
	s.Shared().Page(t, "title after the answer, which another call reads first", "dialogs.html", func(c *suite.Case) {
		c.Eval(fmt.Sprintf("document.querySelector('#retitle').onclick = () => { alert('retitle'); document.title = 'Retitled'; fetch('/held/%s/slow'); }; 0", c.ID), nil)
		c.Click(suite.Selector("#retitle"), nil)
		answered := make(chan *executor.DialogResult, 1)
		go func() {
			res, err := c.Page().HandleDialog(c.Ctx, &accept)
			if err != nil {
				c.Error(err)
			}
			answered <- res
		}()
		c.AwaitRequest("slow") // the answer waits for the response
		c.Must(c.Exec.Tabs(c.Ctx))
		c.Release("slow")
		if res := <-answered; res != nil && res.Title != "Retitled" {
			c.Errorf("the title changed, but the answer reports %+v", *res)
		}
	})
	s.Shared().Page(t, "blocks other calls", "dialogs.html", func(c *suite.Case) {
		ref := c.Ref("button", "Confirm")
		c.Click(suite.Selector("#alert"), nil)
		for name, call := range map[string]func() error{
			"snapshot":   func() error { return suite.ErrOf(c.Page().Snapshot(c.Ctx, nil)) },
			"text":       func() error { return suite.ErrOf(c.Page().Text(c.Ctx, nil)) },
			"eval":       func() error { return suite.ErrOf(c.Page().Eval(c.Ctx, "1", nil)) },
			"click":      func() error { return suite.ErrOf(c.Page().Click(c.Ctx, suite.ByRef(ref), nil)) },
			"press":      func() error { return suite.ErrOf(c.Page().Press(c.Ctx, "a", nil)) },
			"navigate":   func() error { return suite.ErrOf(c.Page().Navigate(c.Ctx, c.URL("nav.html"), nil)) },
			"screenshot": func() error { return suite.ErrOf(c.Page().Screenshot(c.Ctx, nil)) },
			"wait_for": func() error {
				return suite.ErrOf(c.Page().WaitFor(c.Ctx, &executor.WaitCondition{Text: "Dialogs page"}))
			},
		} {
			err := call()
			if executor.CodeOf(err) != executor.ErrDialogOpen {
				c.Errorf("%s: error %v, want %s", name, err, executor.ErrDialogOpen)
			}
		}
		if _, err := c.Exec.Tabs(c.Ctx); err != nil {
			c.Errorf("listing tabs: %v", err)
		}
		c.Answer(executor.DialogAlert, "Saved!", dismiss)
		c.Await("after", "alert")
		c.WantIn(c.Snap(nil), "Dialogs page")
	})
	for want, with := range suite.Sorted(map[string]executor.DialogAnswer{"true": accept, "false": dismiss}) {
		s.Shared().Page(t, "confirm "+want, "dialogs.html", func(c *suite.Case) {
			c.WantDialog(c.Click(suite.Selector("#confirm"), nil).Changes, executor.DialogConfirm, "Delete it?")
			c.Answer(executor.DialogConfirm, "Delete it?", with)
			if r := c.Await("after", "confirm"); r.Value != want {
				c.Errorf("confirm returned %s, want %s", r.Value, want)
			}
		})
	}
	for want, with := range suite.Sorted(map[string]executor.DialogAnswer{"Bo 你好": {Accept: true, PromptText: "Bo 你好"}, "null": dismiss}) {
		s.Shared().Page(t, "prompt "+want, "dialogs.html", func(c *suite.Case) {
			a := c.Click(suite.Selector("#prompt"), nil)
			c.WantDialog(a.Changes, executor.DialogPrompt, "Your name?")
			if a.Dialog.DefaultPrompt != "Ann" {
				c.Errorf("default = %q, want Ann", a.Dialog.DefaultPrompt)
			}
			c.Answer(executor.DialogPrompt, "Your name?", with)
			if r := c.Await("after", "prompt"); r.Value != want {
				c.Errorf("prompt returned %q, want %q", r.Value, want)
			}
		})
	}
	s.Shared().Page(t, "several consecutive dialogs", "dialogs.html", func(c *suite.Case) {
		c.WantDialog(c.Click(suite.Selector("#several"), nil).Changes, executor.DialogAlert, "first")
		c.WantDialog(c.Answer(executor.DialogAlert, "first", accept).Changes, executor.DialogAlert, "second")
		c.WantDialog(c.Answer(executor.DialogAlert, "second", accept).Changes, executor.DialogConfirm, "third")
		c.Answer(executor.DialogConfirm, "third", accept)
		if r := c.Await("after", "several"); r.Value != "true" {
			c.Errorf("the last one returned %s", r.Value)
		}
	})
	s.Shared().Page(t, "opened by a timer", "dialogs.html", func(c *suite.Case) {
		if a := c.Click(suite.Selector("#late"), nil); a.Dialog == nil {
			// The dialog may open after the click has settled; then the next call reports it.
			for {
				_, err := c.Page().Text(c.Ctx, nil)
				if err != nil {
					c.WantCode(err, executor.ErrDialogOpen)
					break
				}
			}
		}
		c.Answer(executor.DialogAlert, "late", accept)
		c.Await("after", "late")
	})
	s.Shared().Page(t, "opened by a key", "dialogs.html", func(c *suite.Case) {
		a := c.TypeInto("#typed", "x", &executor.TypeOptions{PressEnter: true})
		c.WantDialog(a.Changes, executor.DialogConfirm, "Send?")
		c.Answer(executor.DialogConfirm, "Send?", accept)
		if r := c.Await("after", "typed"); r.Value != "true" {
			c.Errorf("confirm returned %s", r.Value)
		}
	})
	s.Shared().Page(t, "opened by selecting an option", "dialogs.html", func(c *suite.Case) {
		sel, err := c.Page().SelectOption(c.Ctx, suite.Selector("#choice"), []string{"two"}, nil)
		if err != nil {
			c.Fatal(err)
		}
		c.WantDialog(sel.Changes, executor.DialogAlert, "chosen two")
		c.Answer(executor.DialogAlert, "chosen two", accept)
		c.Await("after", "choice")
	})
	for _, leave := range []bool{true, false} {
		name := map[bool]string{true: "beforeunload accepted", false: "beforeunload dismissed"}[leave]
		s.Shared().Page(t, name, "dialogs.html", func(c *suite.Case) {
			c.Click(suite.Selector("#guard"), nil)
			c.Await("click", "guard")
			_, err := c.Page().Navigate(c.Ctx, c.URL("second.html"), nil)
			c.WantCode(err, executor.ErrDialogOpen)
			res, err := c.Page().HandleDialog(c.Ctx, &executor.DialogAnswer{Accept: leave})
			if err != nil {
				c.Fatal(err)
			}
			if res.Type != executor.DialogBeforeUnload || !res.Handled {
				c.Errorf("answered %+v", *res)
			}
			want := map[bool]string{true: "Second", false: "Dialogs"}[leave]
			if !leave {
				c.WantValue("document.title", want)
				return
			}
			c.Met(executor.WaitCondition{Text: "the second page"})
			c.WantValue("document.title", want)
		})
	}
	s.Page(t, "closing a tab with an open dialog", "dialogs.html", func(c *suite.Case) {
		c.Click(suite.Selector("#confirm"), nil)
		c.Must(c.Page().Close(c.Ctx))
		if _, ok := c.Find(c.Tab); ok {
			c.Error("the tab is still listed")
		}
	})
	s.Shared().Page(t, "during eval", "dialogs.html", func(c *suite.Case) {
		res, err := c.Page().Eval(c.Ctx, "alert('a'); [confirm('b'), prompt('c')]", nil)
		if err != nil {
			c.Fatal(err)
		}
		if !res.OK || string(res.Value) != "[false,null]" || len(res.Dialogs) != 3 {
			c.Errorf("result %+v with value %s, want [false,null] and three dialogs", res, res.Value)
		}
	})
	s.Shared().Page(t, "no open dialog", "dialogs.html", func(c *suite.Case) {
		_, err := c.Page().HandleDialog(c.Ctx, &accept)
		c.WantCode(err, executor.ErrBadArgs, "dialog")
	})
}
