package executortest

import (
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

// awaitDialog waits until a dialog is open that no call has reported, and checks its message.
func (c *testCase) awaitDialog(tab executor.TabID, message string) {
	c.Helper()
	for c.ctx.Err() == nil {
		// A call before the dialog opens succeeds or fails otherwise.
		if _, err := pagetest.Of(c.exec, tab).Text(c.ctx, nil); err != nil {
			c.wantCode(err, executor.ErrDialogOpen, message)
			return
		}
	}
	c.Fatalf("no dialog %q opened", message)
}

func (s *suite) navigationDialogs(t *testing.T) {
	accept, dismiss := executor.DialogAnswer{Accept: true}, executor.DialogAnswer{}
	s.page(t, "alert during load: navigate reports it, load continues after the answer", "second.html", func(c *testCase) {
		_, err := c.page().Navigate(c.ctx, c.url("navigation-alerts.html"), nil)
		c.wantCode(err, executor.ErrDialogOpen, "while it loads", "Page.HandleDialog")
		if next := c.answer(executor.DialogAlert, "while it loads", accept).Dialog; next != nil && next.Message != "loaded" {
			c.Errorf("the next dialog is %+v", *next)
		}
		c.awaitDialog(c.tab, "loaded") // the load may end after the answer
		c.answer(executor.DialogAlert, "loaded", accept)
		c.await("load", "alerts")
		c.wantIn(c.snap(nil), "the page after its alerts")
	})
	s.page(t, "new tab with an alert stays open", "second.html", func(c *testCase) {
		_, _, err := c.exec.NewPage(c.ctx, &executor.NewPageOptions{URL: c.url("navigation-alerts.html")})
		c.wantCode(err, executor.ErrDialogOpen, "while it loads")
		c.tab = ""
		c.answer(executor.DialogAlert, "while it loads", accept)
		c.answer(executor.DialogAlert, "loaded", accept)
		c.wantValue("document.title", "Travel alerts")
	})
	s.page(t, "popup window with an alert: reported, opener's errors name it", "navigation-dialogs.html", func(c *testCase) {
		a := c.click(css("#popup"), nil)
		if len(a.NewTabs) != 1 || a.Dialog != nil {
			c.Fatalf("the click reports %+v, want one tab and no dialog", a.Changes)
		}
		c.await("begin", "alerts")
		popup := a.NewTabs[0]
		c.awaitDialog(popup.ID, "while it loads")
		// They share a renderer process, which is blocked completely.
		for name, call := range map[string]func() error{
			"text":     func() error { return errOf(c.page().Text(c.ctx, nil)) },
			"eval":     func() error { return errOf(c.page().Eval(c.ctx, "1", nil)) },
			"click":    func() error { return errOf(c.page().Click(c.ctx, css("#print"), nil)) },
			"navigate": func() error { return errOf(c.page().Navigate(c.ctx, c.url("nav.html"), nil)) },
			"wait_for": func() error { return errOf(c.page().WaitFor(c.ctx, executor.WaitCondition{Text: "never"})) },
		} {
			if err := call(); executor.CodeOf(err) != executor.ErrDialogOpen || !strings.Contains(err.Error(), string(popup.ID)) {
				c.Errorf("%s in the opener: error %v, want %s that names %s", name, err, executor.ErrDialogOpen, popup.ID)
			}
		}
		opener := c.tab
		c.tab = popup.ID
		c.answer(executor.DialogAlert, "while it loads", accept)
		c.answer(executor.DialogAlert, "loaded", accept)
		c.await("load", "alerts")
		c.wantValue("document.title", "Travel alerts")
		c.tab = opener
		c.wantIn(c.snap(nil), "Travel dialogs page")
	})
	s.page(t, "dialog from a timer", "navigation-dialogs.html", func(c *testCase) {
		if a := c.click(css("#timer"), nil); a.Dialog == nil {
			c.awaitDialog(c.tab, "from a timer")
		}
		c.answer(executor.DialogAlert, "from a timer", accept)
		c.await("after", "timer")
	})
	s.page(t, "repeated alerts: each reported", "navigation-dialogs.html", func(c *testCase) {
		if a := c.click(css("#repeat"), nil); a.Dialog == nil {
			c.awaitDialog(c.tab, "again 1")
		}
		for _, message := range []string{"again 1", "again 2", "again 3"} {
			res := c.answer(executor.DialogAlert, message, accept)
			if res.Dialog == nil && message != "again 3" {
				c.awaitDialog(c.tab, "again")
			}
		}
		c.await("after", "repeat")
	})
	for _, frame := range []string{"same", "cross"} {
		s.page(t, "dialog from a frame, "+frame+" site", "navigation-dialogs.html", func(c *testCase) {
			// Both frames contain the same button; the ref of the frame distinguishes them.
			title := map[string]string{"same": "Same site", "cross": "Other site"}[frame]
			text := c.snap(nil)
			at := strings.Index(text, title)
			if at < 0 {
				c.Fatalf("frame %q not found in\n%s", title, text)
			}
			c.click(byRef(c.refIn(text[at:], "button", "Alert in the frame")), nil)
			c.awaitDialog(c.tab, "from a frame")
			c.answer(executor.DialogAlert, "from a frame", accept)
			c.await("after", "frame")
			c.wantIn(c.snap(nil), "Travel dialogs page")
		})
	}
	s.page(t, "dialog of a page that is navigating is closed, reported", "navigation-dialogs.html", func(c *testCase) {
		c.eval("travelTo = "+quote(c.heldURL("next")), nil)
		done := make(chan *executor.Action, 1)
		go func() {
			a, err := c.page().Click(c.ctx, css("#go"), nil)
			if err != nil {
				c.Error(err)
			}
			done <- a
		}()
		c.awaitRequest("next")
		c.await("after", "go") // the alert is closed
		c.release("next")
		a := <-done
		if a == nil {
			return
		}
		if a.Dialog != nil || a.Title != "Held next" || !strings.Contains(a.Note, "on my way") {
			c.Errorf("the click reports %+v", a.Changes)
		}
		c.wantValue("document.title", "Held next")
	})
	s.page(t, "alert during navigate does not delay it", "navigation-dialogs.html", func(c *testCase) {
		c.eval("fetch('/held/"+c.id+"/trigger').then(() => { alert('one more thing'); report('after', 'leaving') }); 0", nil)
		done := make(chan *executor.Navigation, 1)
		go func() {
			nav, err := c.page().Navigate(c.ctx, c.heldURL("next"), nil)
			if err != nil {
				c.Error(err)
			}
			done <- nav
		}()
		c.awaitRequest("next")
		c.release("trigger")
		c.await("after", "leaving")
		c.release("next")
		if nav := <-done; nav != nil && (nav.Title != "Held next" || !strings.Contains(nav.Note, "one more thing")) {
			c.Errorf("ended at %+v", *nav)
		}
	})
	s.page(t, "dialogs on mousedown, pointer events and focus", "navigation-dialogs.html", func(c *testCase) {
		c.wantDialog(c.click(css("#press"), nil).Changes, executor.DialogAlert, "at the press")
		c.answer(executor.DialogAlert, "at the press", accept)
		c.await("after", "press")
		a := c.pointAt("#hover")
		c.wantDialog(a.Changes, executor.DialogAlert, "at the pointer")
		c.answer(executor.DialogAlert, "at the pointer", accept)
		c.await("after", "hover")
		if _, err := c.page().Type(c.ctx, css("#focus"), "text", nil); err != nil {
			c.wantCode(err, executor.ErrDialogOpen, "at the focus")
		}
		c.answer(executor.DialogAlert, "at the focus", accept)
		c.await("after", "focus")
	})
	s.page(t, "long message is truncated", "navigation-dialogs.html", func(c *testCase) {
		a := c.click(css("#long"), nil)
		if a.Dialog == nil || len(a.Dialog.Message) < 100 || len(a.Dialog.Message) > 4000 {
			c.Fatalf("the dialog's message has %d bytes", len(a.Dialog.Message))
		}
		_, err := c.page().Text(c.ctx, nil)
		if c.wantCode(err, executor.ErrDialogOpen); len(err.Error()) > 1000 {
			c.Errorf("the error has %d bytes", len(err.Error()))
		}
		c.answer(executor.DialogAlert, a.Dialog.Message, accept)
		c.await("after", "long")
	})
	s.page(t, "line breaks and escape sequences in a message", "navigation-dialogs.html", func(c *testCase) {
		a := c.click(css("#lines"), nil)
		if a.Dialog == nil || !strings.HasPrefix(a.Dialog.Message, "line 1\nline 2") {
			c.Fatalf("dialog %+v", a.Dialog)
		}
		_, err := c.page().Text(c.ctx, nil)
		if c.wantCode(err, executor.ErrDialogOpen, "line 1"); strings.ContainsAny(err.Error(), "\n\x1b") {
			c.Errorf("the error has control characters: %q", err)
		}
		c.answer(executor.DialogPrompt, a.Dialog.Message, executor.DialogAnswer{Accept: true, PromptText: "yes \"ok\" 🙂"})
		if r := c.await("after", "lines"); r.Value != "yes \"ok\" 🙂" {
			c.Errorf("prompt returned %q", r.Value)
		}
	})
	s.page(t, "prompt without message and answer", "navigation-dialogs.html", func(c *testCase) {
		c.click(css("#empty"), nil)
		c.answer(executor.DialogPrompt, "", accept)
		if r := c.await("after", "empty"); r.Value != "" {
			c.Errorf("prompt returned %q", r.Value)
		}
	})
	s.page(t, "print and showModalDialog block nothing", "navigation-dialogs.html", func(c *testCase) {
		c.click(css("#print"), nil)
		if r := c.await("after", "print"); r.Value != "undefined" {
			c.Errorf("showModalDialog is a %s", r.Value)
		}
		c.wantIn(c.snap(nil), "Travel dialogs page")
	})
	s.page(t, "every call fails immediately while a dialog is open", "navigation-dialogs.html", func(c *testCase) {
		other := c.session(executor.SessionOptions{Gate: executor.AllowAll})
		ref := c.ref("button", "Empty")
		if a := c.click(css("#soon"), nil); a.Dialog == nil {
			c.awaitDialog(c.tab, "in the way")
		}
		for name, call := range map[string]func(ex executor.Executor) error{
			"navigate": func(ex executor.Executor) error {
				return errOf(pagetest.Of(ex, c.tab).Navigate(c.ctx, c.url("nav.html"), nil))
			},
			"back":    func(ex executor.Executor) error { return errOf(pagetest.Of(ex, c.tab).Back(c.ctx, nil)) },
			"forward": func(ex executor.Executor) error { return errOf(pagetest.Of(ex, c.tab).Forward(c.ctx, nil)) },
			"reload":  func(ex executor.Executor) error { return errOf(pagetest.Of(ex, c.tab).Reload(c.ctx, nil)) },
			"wait_for": func(ex executor.Executor) error {
				return errOf(pagetest.Of(ex, c.tab).WaitFor(c.ctx, executor.WaitCondition{Time: neverTimeout}))
			},
			"snapshot": func(ex executor.Executor) error { return errOf(pagetest.Of(ex, c.tab).Snapshot(c.ctx, nil)) },
			"text":     func(ex executor.Executor) error { return errOf(pagetest.Of(ex, c.tab).Text(c.ctx, nil)) },
			"html":     func(ex executor.Executor) error { return errOf(pagetest.Of(ex, c.tab).HTML(c.ctx, nil)) },
			"markdown": func(ex executor.Executor) error { return errOf(pagetest.Of(ex, c.tab).Markdown(c.ctx, nil)) },
			"links":    func(ex executor.Executor) error { return errOf(pagetest.Of(ex, c.tab).Links(c.ctx, nil)) },
			"eval":     func(ex executor.Executor) error { return errOf(pagetest.Of(ex, c.tab).Eval(c.ctx, "1", nil)) },
			"click": func(ex executor.Executor) error {
				return errOf(pagetest.Of(ex, c.tab).Click(c.ctx, css("#empty"), nil))
			},
			"click a ref": func(ex executor.Executor) error { return errOf(pagetest.Of(ex, c.tab).Click(c.ctx, byRef(ref), nil)) },
			"type": func(ex executor.Executor) error {
				return errOf(pagetest.Of(ex, c.tab).Type(c.ctx, css("#plain"), "x", nil))
			},
			"press": func(ex executor.Executor) error { return errOf(pagetest.Of(ex, c.tab).Press(c.ctx, "a", nil)) },
			"hover": func(ex executor.Executor) error {
				return errOf(pagetest.Of(ex, c.tab).Hover(c.ctx, css("#empty"), nil))
			},
			"scroll": func(ex executor.Executor) error {
				return errOf(pagetest.Of(ex, c.tab).Scroll(c.ctx, executor.ScrollOptions{DeltaY: 10}))
			},
			"select": func(ex executor.Executor) error {
				return errOf(pagetest.Of(ex, c.tab).SelectOption(c.ctx, css("#choice"), []string{"two"}, nil))
			},
			"fill_form": func(ex executor.Executor) error {
				return errOf(pagetest.Of(ex, c.tab).FillForm(c.ctx, []executor.Field{{Target: css("#plain"), Value: "x"}}, nil))
			},
			"screenshot": func(ex executor.Executor) error { return errOf(pagetest.Of(ex, c.tab).Screenshot(c.ctx, nil)) },
			"download": func(ex executor.Executor) error {
				return errOf(pagetest.Of(ex, c.tab).Download(c.ctx, executor.DownloadOptions{Target: css("#file")}))
			},
			"cdp": func(ex executor.Executor) error {
				return errOf(pagetest.Of(ex, c.tab).CDP(c.ctx, "Page.getFrameTree", nil))
			},
		} {
			for whose, ex := range map[string]executor.Executor{"": c.exec, " of another session": other} {
				err := call(ex)
				if executor.CodeOf(err) != executor.ErrDialogOpen || !strings.Contains(err.Error(), "in the way") {
					c.Errorf("%s%s: error %v, want %s", name, whose, err, executor.ErrDialogOpen)
				}
			}
		}
		if _, err := c.exec.SelectTab(c.ctx, c.tab); err != nil {
			c.Errorf("selecting the tab: %v", err)
		}
		if tab := c.listed(c.tab); tab.URL != c.url("navigation-dialogs.html") {
			c.Errorf("listed %+v", tab)
		}
		c.fetch(executor.DownloadOptions{URL: c.path("/file/report.csv")}) // this does not use the page
		res, err := pagetest.Of(other, c.tab).HandleDialog(c.ctx, accept)
		if err != nil || res.Message != "in the way" {
			c.Errorf("another session's answer: %+v, %v", res, err)
		}
		c.wantIn(c.snap(nil), "Travel dialogs page")
	})
	s.page(t, "dialog ends wait_for", "navigation-dialogs.html", func(c *testCase) {
		for name, cond := range map[string]executor.WaitCondition{
			"selector": {Selector: "#never"}, "text": {Text: "never"}, "url": {URL: "*never*"},
			"expression": {Expression: "false"}, "time": {Time: neverTimeout},
		} {
			c.click(css("#soon"), nil)
			cond.Timeout = neverTimeout
			_, err := c.page().WaitFor(c.ctx, cond)
			if executor.CodeOf(err) != executor.ErrDialogOpen {
				c.Errorf("%s: error %v", name, err)
			}
			c.answer(executor.DialogAlert, "in the way", accept)
		}
	})
	for _, leave := range []bool{true, false} {
		word := map[bool]string{true: "leave", false: "stay"}[leave]
		for name, do := range sorted(map[string]func(c *testCase) error{
			"back":     func(c *testCase) error { return errOf(c.page().Back(c.ctx, nil)) },
			"reload":   func(c *testCase) error { return errOf(c.page().Reload(c.ctx, nil)) },
			"navigate": func(c *testCase) error { return errOf(c.page().Navigate(c.ctx, c.url("second.html"), nil)) },
		}) {
			s.page(t, "beforeunload on "+name+": "+word, "second.html", func(c *testCase) {
				c.goTo(c.url("navigation-dialogs.html"), nil)
				c.click(css("#guard"), nil)
				err := do(c)
				c.wantCode(err, executor.ErrDialogOpen, "beforeunload", "stay")
				res, err := c.page().HandleDialog(c.ctx, executor.DialogAnswer{Accept: leave})
				if err != nil || res.Type != executor.DialogBeforeUnload {
					c.Fatalf("answered %+v, %v", res, err)
				}
				if !leave {
					c.wantValue("document.title", "Travel dialogs")
					c.wantUntouched("dialogs")
					c.click(css("#empty"), nil)
					c.answer(executor.DialogPrompt, "", dismiss)
					return
				}
				c.await("pagehide", "dialogs")
				if name != "reload" {
					if res.Title != "Second" || res.URL != c.url("second.html") {
						c.Errorf("the answer reports %+v", res.Changes)
					}
					c.wantValue("document.title", "Second")
				}
			})
		}
	}
	s.page(t, "beforeunload on a click that navigates: stay and leave", "navigation-dialogs.html", func(c *testCase) {
		c.click(css("#guard"), nil)
		a := c.click(css("#leave"), nil)
		if a.Dialog == nil || a.Dialog.Type != executor.DialogBeforeUnload {
			c.Fatalf("the click reports %+v", a.Changes)
		}
		c.must(c.page().HandleDialog(c.ctx, dismiss))
		c.wantValue("document.title", "Travel dialogs")
		c.click(css("#leave"), nil)
		res, err := c.page().HandleDialog(c.ctx, accept)
		if err != nil {
			c.Fatal(err)
		}
		if res.URL != c.url("second.html") || res.Title != "Second" {
			c.Errorf("the answer reports %+v", res.Changes)
		}
	})
	s.page(t, "tab with a beforeunload handler is closed", "navigation-dialogs.html", func(c *testCase) {
		c.click(css("#guard"), nil)
		c.must(c.page().Close(c.ctx))
		if _, ok := c.find(c.tab); ok {
			c.Error("the tab is still listed")
		}
	})
	s.page(t, "tab is closed while its beforeunload dialog is open", "navigation-dialogs.html", func(c *testCase) {
		c.click(css("#guard"), nil)
		_, err := c.page().Reload(c.ctx, nil)
		c.wantCode(err, executor.ErrDialogOpen)
		c.must(c.page().Close(c.ctx))
	})
	s.page(t, "beforeunload during eval: accepted, reported", "navigation-dialogs.html", func(c *testCase) {
		c.click(css("#guard"), nil)
		res, err := c.page().Eval(c.ctx, "location.assign('second.html'); 7", nil)
		if err != nil && executor.CodeOf(err) != executor.ErrEvalFailed {
			c.Fatal(err)
		}
		if err == nil && (len(res.Dialogs) != 1 || !strings.Contains(res.Dialogs[0], "beforeunload") || !strings.Contains(res.Dialogs[0], "accepted")) {
			c.Errorf("result %+v", res)
		}
		c.met(executor.WaitCondition{Text: "the second page"})
	})
	s.page(t, "eval with many dialogs, also while it awaits", "navigation-dialogs.html", func(c *testCase) {
		res, err := c.page().Eval(c.ctx, "for (let i = 0; i < 30; i++) alert(i); new Promise((done) => setTimeout(() => done([confirm('c'), prompt('p', 'd')]), 50))", nil)
		if err != nil {
			c.Fatal(err)
		}
		if !res.OK || string(res.Value) != "[false,null]" || len(res.Dialogs) == 0 || len(res.Dialogs) > 40 || !strings.Contains(res.Dialogs[0], "accepted") {
			c.Errorf("result %+v with value %s", res, res.Value)
		}
	})
	s.page(t, "dialog after eval waits for an answer", "navigation-dialogs.html", func(c *testCase) {
		c.eval("alert('during'); 1", nil)
		c.wantDialog(c.click(css("#empty"), nil).Changes, executor.DialogPrompt, "")
		c.answer(executor.DialogPrompt, "", dismiss)
		if r := c.await("after", "empty"); r.Value != "null" {
			c.Errorf("prompt returned %s", r.Value)
		}
	})
}
