package executortest

import (
	"fmt"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// answer answers the open dialog and checks its type and message.
func (c *testCase) answer(kind executor.DialogType, message string, with executor.DialogAnswer) *executor.DialogResult {
	c.Helper()
	res, err := c.page().HandleDialog(c.ctx, with)
	if err != nil {
		c.Fatalf("answering the %s: %v", kind, err)
	}
	if res.Type != kind || res.Message != message || !res.Handled {
		c.Errorf("answered %+v, want %s %q", *res, kind, message)
	}
	return res
}

// wantDialog checks the dialog that an action reports.
func (c *testCase) wantDialog(ch executor.Changes, kind executor.DialogType, message string) {
	c.Helper()
	if ch.Dialog == nil {
		c.Fatalf("the action reports no dialog, want %s %q", kind, message)
	}
	if ch.Dialog.Type != kind || ch.Dialog.Message != message {
		c.Errorf("the action reports %+v, want %s %q", *ch.Dialog, kind, message)
	}
}

func (s *suite) dialogs(t *testing.T) {
	accept, dismiss := executor.DialogAnswer{Accept: true}, executor.DialogAnswer{}
	s.page(t, "alert", "dialogs.html", func(c *testCase) {
		a := c.click(css("#alert"), nil) // it returns although the page's handler has not
		c.wantDialog(a.Changes, executor.DialogAlert, "Saved!")
		c.answer(executor.DialogAlert, "Saved!", accept)
		c.await("after", "alert")
	})
	s.page(t, "title after the answer", "dialogs.html", func(c *testCase) {
		c.click(css("#alert"), nil)
		if res := c.answer(executor.DialogAlert, "Saved!", accept); res.Title != "" || res.URL != "" {
			c.Errorf("the title did not change, but the answer reports %+v", *res)
		}
		c.click(css("#several"), nil)
		c.answer(executor.DialogAlert, "first", accept)
		if res := c.answer(executor.DialogAlert, "second", accept); res.Title != "" {
			c.Errorf("the title did not change, but the answer reports %+v", *res)
		}
		c.answer(executor.DialogConfirm, "third", accept)
		c.click(css("#retitle"), nil)
		if res := c.answer(executor.DialogAlert, "retitle", accept); res.Title != "Retitled" {
			c.Errorf("the title changed, but the answer reports %+v", *res)
		}
	})
	s.page(t, "title after the answer, which another call reads first", "dialogs.html", func(c *testCase) {
		c.eval(fmt.Sprintf("document.querySelector('#retitle').onclick = () => { alert('retitle'); document.title = 'Retitled'; fetch('/held/%s/slow'); }; 0", c.id), nil)
		c.click(css("#retitle"), nil)
		answered := make(chan *executor.DialogResult, 1)
		go func() {
			res, err := c.page().HandleDialog(c.ctx, accept)
			if err != nil {
				c.Error(err)
			}
			answered <- res
		}()
		c.awaitRequest("slow") // the answer waits for the response
		c.must(c.exec.Tabs(c.ctx))
		c.release("slow")
		if res := <-answered; res != nil && res.Title != "Retitled" {
			c.Errorf("the title changed, but the answer reports %+v", *res)
		}
	})
	s.page(t, "blocks other calls", "dialogs.html", func(c *testCase) {
		ref := c.ref("button", "Confirm")
		c.click(css("#alert"), nil)
		for name, call := range map[string]func() error{
			"snapshot":   func() error { return errOf(c.page().Snapshot(c.ctx, nil)) },
			"text":       func() error { return errOf(c.page().Text(c.ctx, nil)) },
			"eval":       func() error { return errOf(c.page().Eval(c.ctx, "1", nil)) },
			"click":      func() error { return errOf(c.page().Click(c.ctx, byRef(ref), nil)) },
			"press":      func() error { return errOf(c.page().Press(c.ctx, "a", nil)) },
			"navigate":   func() error { return errOf(c.page().Navigate(c.ctx, c.url("nav.html"), nil)) },
			"screenshot": func() error { return errOf(c.page().Screenshot(c.ctx, nil)) },
			"wait_for":   func() error { return errOf(c.page().WaitFor(c.ctx, executor.WaitCondition{Text: "Dialogs page"})) },
		} {
			err := call()
			if executor.CodeOf(err) != executor.ErrDialogOpen {
				c.Errorf("%s: error %v, want %s", name, err, executor.ErrDialogOpen)
			}
		}
		if _, err := c.exec.Tabs(c.ctx); err != nil {
			c.Errorf("listing tabs: %v", err)
		}
		c.answer(executor.DialogAlert, "Saved!", dismiss)
		c.await("after", "alert")
		c.wantIn(c.snap(nil), "Dialogs page")
	})
	for want, with := range sorted(map[string]executor.DialogAnswer{"true": accept, "false": dismiss}) {
		s.page(t, "confirm "+want, "dialogs.html", func(c *testCase) {
			c.wantDialog(c.click(css("#confirm"), nil).Changes, executor.DialogConfirm, "Delete it?")
			c.answer(executor.DialogConfirm, "Delete it?", with)
			if r := c.await("after", "confirm"); r.Value != want {
				c.Errorf("confirm returned %s, want %s", r.Value, want)
			}
		})
	}
	for want, with := range sorted(map[string]executor.DialogAnswer{"Bo 你好": {Accept: true, PromptText: "Bo 你好"}, "null": dismiss}) {
		s.page(t, "prompt "+want, "dialogs.html", func(c *testCase) {
			a := c.click(css("#prompt"), nil)
			c.wantDialog(a.Changes, executor.DialogPrompt, "Your name?")
			if a.Dialog.DefaultPrompt != "Ann" {
				c.Errorf("default = %q, want Ann", a.Dialog.DefaultPrompt)
			}
			c.answer(executor.DialogPrompt, "Your name?", with)
			if r := c.await("after", "prompt"); r.Value != want {
				c.Errorf("prompt returned %q, want %q", r.Value, want)
			}
		})
	}
	s.page(t, "several consecutive dialogs", "dialogs.html", func(c *testCase) {
		c.wantDialog(c.click(css("#several"), nil).Changes, executor.DialogAlert, "first")
		c.wantDialog(c.answer(executor.DialogAlert, "first", accept).Changes, executor.DialogAlert, "second")
		c.wantDialog(c.answer(executor.DialogAlert, "second", accept).Changes, executor.DialogConfirm, "third")
		c.answer(executor.DialogConfirm, "third", accept)
		if r := c.await("after", "several"); r.Value != "true" {
			c.Errorf("the last one returned %s", r.Value)
		}
	})
	s.page(t, "opened by a timer", "dialogs.html", func(c *testCase) {
		if a := c.click(css("#late"), nil); a.Dialog == nil {
			// The dialog may open after the click has settled; then the next call reports it.
			for {
				_, err := c.page().Text(c.ctx, nil)
				if err != nil {
					c.wantCode(err, executor.ErrDialogOpen)
					break
				}
			}
		}
		c.answer(executor.DialogAlert, "late", accept)
		c.await("after", "late")
	})
	s.page(t, "opened by a key", "dialogs.html", func(c *testCase) {
		a := c.typeInto("#typed", "x", &executor.TypeOptions{PressEnter: true})
		c.wantDialog(a.Changes, executor.DialogConfirm, "Send?")
		c.answer(executor.DialogConfirm, "Send?", accept)
		if r := c.await("after", "typed"); r.Value != "true" {
			c.Errorf("confirm returned %s", r.Value)
		}
	})
	s.page(t, "opened by selecting an option", "dialogs.html", func(c *testCase) {
		sel, err := c.page().SelectOption(c.ctx, css("#choice"), []string{"two"}, nil)
		if err != nil {
			c.Fatal(err)
		}
		c.wantDialog(sel.Changes, executor.DialogAlert, "chosen two")
		c.answer(executor.DialogAlert, "chosen two", accept)
		c.await("after", "choice")
	})
	for _, leave := range []bool{true, false} {
		name := map[bool]string{true: "beforeunload accepted", false: "beforeunload dismissed"}[leave]
		s.page(t, name, "dialogs.html", func(c *testCase) {
			c.click(css("#guard"), nil)
			c.await("click", "guard")
			_, err := c.page().Navigate(c.ctx, c.url("second.html"), nil)
			c.wantCode(err, executor.ErrDialogOpen)
			res, err := c.page().HandleDialog(c.ctx, executor.DialogAnswer{Accept: leave})
			if err != nil {
				c.Fatal(err)
			}
			if res.Type != executor.DialogBeforeUnload || !res.Handled {
				c.Errorf("answered %+v", *res)
			}
			want := map[bool]string{true: "Second", false: "Dialogs"}[leave]
			if !leave {
				c.wantValue("document.title", want)
				return
			}
			c.met(executor.WaitCondition{Text: "the second page"})
			c.wantValue("document.title", want)
		})
	}
	s.page(t, "closing a tab with an open dialog", "dialogs.html", func(c *testCase) {
		c.click(css("#confirm"), nil)
		c.must(c.page().Close(c.ctx))
		if _, ok := c.find(c.tab); ok {
			c.Error("the tab is still listed")
		}
	})
	s.page(t, "during eval", "dialogs.html", func(c *testCase) {
		res, err := c.page().Eval(c.ctx, "alert('a'); [confirm('b'), prompt('c')]", nil)
		if err != nil {
			c.Fatal(err)
		}
		if !res.OK || string(res.Value) != "[false,null]" || len(res.Dialogs) != 3 {
			c.Errorf("result %+v with value %s, want [false,null] and three dialogs", res, res.Value)
		}
	})
	s.page(t, "no open dialog", "dialogs.html", func(c *testCase) {
		_, err := c.page().HandleDialog(c.ctx, accept)
		c.wantCode(err, executor.ErrBadArgs, "dialog")
	})
}
