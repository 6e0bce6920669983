package pagesuite

import (
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

func navigationDialogs(s *suite.Runner, t *testing.T) {
	accept, dismiss := executor.DialogAnswer{Accept: true}, executor.DialogAnswer{}
	s.Page(t, "alert during load: navigate reports it, load continues after the answer", "second.html", func(c *suite.Case) {
		_, err := c.Page().Navigate(c.Ctx, c.URL("navigation-alerts.html"), nil)
		c.WantCode(err, executor.ErrDialogOpen, "while it loads", "Page.HandleDialog")
		if next := c.Answer(executor.DialogAlert, "while it loads", accept).Dialog; next != nil && next.Message != "loaded" {
			c.Errorf("the next dialog is %+v", *next)
		}
		c.AwaitDialog(c.Tab, "loaded") // the load may end after the answer
		c.Answer(executor.DialogAlert, "loaded", accept)
		c.Await("load", "alerts")
		c.WantIn(c.Snap(nil), "the page after its alerts")
	})
	s.Page(t, "new tab with an alert stays open", "second.html", func(c *suite.Case) {
		_, _, err := c.Exec.NewPage(c.Ctx, &executor.NewPageOptions{URL: c.URL("navigation-alerts.html")})
		c.WantCode(err, executor.ErrDialogOpen, "while it loads")
		c.Tab = ""
		c.Answer(executor.DialogAlert, "while it loads", accept)
		c.Answer(executor.DialogAlert, "loaded", accept)
		c.WantValue("document.title", "Travel alerts")
	})
	s.Page(t, "popup window with an alert: reported, opener's errors name it", "navigation-dialogs.html", func(c *suite.Case) {
		a := c.Click(suite.Selector("#popup"), nil)
		if len(a.NewTabs) != 1 || a.Dialog != nil {
			c.Fatalf("the click reports %+v, want one tab and no dialog", a.Changes)
		}
		c.Await("begin", "alerts")
		popup := a.NewTabs[0]
		c.AwaitDialog(popup.ID, "while it loads")
		// They share a renderer process, which is blocked completely.
		for name, call := range map[string]func() error{
			"text":     func() error { return suite.ErrOf(c.Page().Text(c.Ctx, nil)) },
			"eval":     func() error { return suite.ErrOf(c.Page().Eval(c.Ctx, "1", nil)) },
			"click":    func() error { return suite.ErrOf(c.Page().Click(c.Ctx, suite.Selector("#print"), nil)) },
			"navigate": func() error { return suite.ErrOf(c.Page().Navigate(c.Ctx, c.URL("nav.html"), nil)) },
			"wait_for": func() error { return suite.ErrOf(c.Page().WaitFor(c.Ctx, &executor.WaitCondition{Text: "never"})) },
		} {
			if err := call(); executor.CodeOf(err) != executor.ErrDialogOpen || !strings.Contains(err.Error(), string(popup.ID)) {
				c.Errorf("%s in the opener: error %v, want %s that names %s", name, err, executor.ErrDialogOpen, popup.ID)
			}
		}
		opener := c.Tab
		c.Tab = popup.ID
		c.Answer(executor.DialogAlert, "while it loads", accept)
		c.Answer(executor.DialogAlert, "loaded", accept)
		c.Await("load", "alerts")
		c.WantValue("document.title", "Travel alerts")
		c.Tab = opener
		c.WantIn(c.Snap(nil), "Travel dialogs page")
	})
	s.Page(t, "dialog from a timer", "navigation-dialogs.html", func(c *suite.Case) {
		if a := c.Click(suite.Selector("#timer"), nil); a.Dialog == nil {
			c.AwaitDialog(c.Tab, "from a timer")
		}
		c.Answer(executor.DialogAlert, "from a timer", accept)
		c.Await("after", "timer")
	})
	s.Page(t, "repeated alerts: each reported", "navigation-dialogs.html", func(c *suite.Case) {
		if a := c.Click(suite.Selector("#repeat"), nil); a.Dialog == nil {
			c.AwaitDialog(c.Tab, "again 1")
		}
		for _, message := range []string{"again 1", "again 2", "again 3"} {
			res := c.Answer(executor.DialogAlert, message, accept)
			if res.Dialog == nil && message != "again 3" {
				c.AwaitDialog(c.Tab, "again")
			}
		}
		c.Await("after", "repeat")
	})
	for _, frame := range []string{"same", "cross"} {
		s.Page(t, "dialog from a frame, "+frame+" site", "navigation-dialogs.html", func(c *suite.Case) {
			// Both frames contain the same button; the ref of the frame distinguishes them.
			title := map[string]string{"same": "Same site", "cross": "Other site"}[frame]
			text := c.Snap(nil)
			at := strings.Index(text, title)
			if at < 0 {
				c.Fatalf("frame %q not found in\n%s", title, text)
			}
			c.Click(suite.ByRef(c.RefIn(text[at:], "button", "Alert in the frame")), nil)
			c.AwaitDialog(c.Tab, "from a frame")
			c.Answer(executor.DialogAlert, "from a frame", accept)
			c.Await("after", "frame")
			c.WantIn(c.Snap(nil), "Travel dialogs page")
		})
	}
	s.Page(t, "dialog of a page that is navigating is closed, reported", "navigation-dialogs.html", func(c *suite.Case) {
		c.Eval("travelTo = "+suite.Quote(c.HeldURL("next")), nil)
		done := make(chan *executor.Action, 1)
		go func() {
			a, err := c.Page().Click(c.Ctx, suite.Selector("#go"), nil)
			if err != nil {
				c.Error(err)
			}
			done <- a
		}()
		c.AwaitRequest("next")
		c.Await("after", "go") // the alert is closed
		c.Release("next")
		a := <-done
		if a == nil {
			return
		}
		if a.Dialog != nil || a.Title != "Held next" || !strings.Contains(a.Note, "on my way") {
			c.Errorf("the click reports %+v", a.Changes)
		}
		c.WantValue("document.title", "Held next")
	})
	s.Page(t, "alert during navigate does not delay it", "navigation-dialogs.html", func(c *suite.Case) {
		c.Eval("fetch('/held/"+c.ID+"/trigger').then(() => { alert('one more thing'); report('after', 'leaving') }); 0", nil)
		done := make(chan *executor.Navigation, 1)
		go func() {
			nav, err := c.Page().Navigate(c.Ctx, c.HeldURL("next"), nil)
			if err != nil {
				c.Error(err)
			}
			done <- nav
		}()
		c.AwaitRequest("next")
		c.Release("trigger")
		c.Await("after", "leaving")
		c.Release("next")
		if nav := <-done; nav != nil && (nav.Title != "Held next" || !strings.Contains(nav.Note, "one more thing")) {
			c.Errorf("ended at %+v", *nav)
		}
	})
	s.Page(t, "dialogs on mousedown, pointer events and focus", "navigation-dialogs.html", func(c *suite.Case) {
		c.WantDialog(c.Click(suite.Selector("#press"), nil).Changes, executor.DialogAlert, "at the press")
		c.Answer(executor.DialogAlert, "at the press", accept)
		c.Await("after", "press")
		a := c.PointAt("#hover")
		c.WantDialog(a.Changes, executor.DialogAlert, "at the pointer")
		c.Answer(executor.DialogAlert, "at the pointer", accept)
		c.Await("after", "hover")
		if _, err := c.Page().Type(c.Ctx, suite.Selector("#focus"), "text", nil); err != nil {
			c.WantCode(err, executor.ErrDialogOpen, "at the focus")
		}
		c.Answer(executor.DialogAlert, "at the focus", accept)
		c.Await("after", "focus")
		c.TypeInto("#plain", "text", nil) // the text that was not typed leaves no check behind
		c.WantValue("plain.value", "text")
	})
	s.Page(t, "long message is truncated", "navigation-dialogs.html", func(c *suite.Case) {
		a := c.Click(suite.Selector("#long"), nil)
		if a.Dialog == nil || len(a.Dialog.Message) < 100 || len(a.Dialog.Message) > 4000 {
			c.Fatalf("the dialog's message has %d bytes", len(a.Dialog.Message))
		}
		_, err := c.Page().Text(c.Ctx, nil)
		if c.WantCode(err, executor.ErrDialogOpen); len(err.Error()) > 1000 {
			c.Errorf("the error has %d bytes", len(err.Error()))
		}
		c.Answer(executor.DialogAlert, a.Dialog.Message, accept)
		c.Await("after", "long")
	})
	s.Page(t, "line breaks and escape sequences in a message", "navigation-dialogs.html", func(c *suite.Case) {
		a := c.Click(suite.Selector("#lines"), nil)
		if a.Dialog == nil || !strings.HasPrefix(a.Dialog.Message, "line 1\nline 2") {
			c.Fatalf("dialog %+v", a.Dialog)
		}
		_, err := c.Page().Text(c.Ctx, nil)
		if c.WantCode(err, executor.ErrDialogOpen, "line 1"); strings.ContainsAny(err.Error(), "\n\x1b") {
			c.Errorf("the error has control characters: %q", err)
		}
		c.Answer(executor.DialogPrompt, a.Dialog.Message, executor.DialogAnswer{Accept: true, PromptText: "yes \"ok\" 🙂"})
		if r := c.Await("after", "lines"); r.Value != "yes \"ok\" 🙂" {
			c.Errorf("prompt returned %q", r.Value)
		}
	})
	s.Page(t, "prompt without message and answer", "navigation-dialogs.html", func(c *suite.Case) {
		c.Click(suite.Selector("#empty"), nil)
		c.Answer(executor.DialogPrompt, "", accept)
		if r := c.Await("after", "empty"); r.Value != "" {
			c.Errorf("prompt returned %q", r.Value)
		}
	})
	s.Page(t, "print and showModalDialog block nothing", "navigation-dialogs.html", func(c *suite.Case) {
		c.Click(suite.Selector("#print"), nil)
		if r := c.Await("after", "print"); r.Value != "undefined" {
			c.Errorf("showModalDialog is a %s", r.Value)
		}
		c.WantIn(c.Snap(nil), "Travel dialogs page")
	})
	s.Page(t, "every call fails immediately while a dialog is open", "navigation-dialogs.html", func(c *suite.Case) {
		other := c.Session(executor.SessionOptions{Gate: executor.AllowAll})
		ref := c.Ref("button", "Empty")
		if a := c.Click(suite.Selector("#soon"), nil); a.Dialog == nil {
			c.AwaitDialog(c.Tab, "in the way")
		}
		for name, call := range map[string]func(ex executor.Executor) error{
			"navigate": func(ex executor.Executor) error {
				return suite.ErrOf(pagetest.Of(ex, c.Tab).Navigate(c.Ctx, c.URL("nav.html"), nil))
			},
			"back":    func(ex executor.Executor) error { return suite.ErrOf(pagetest.Of(ex, c.Tab).Back(c.Ctx, nil)) },
			"forward": func(ex executor.Executor) error { return suite.ErrOf(pagetest.Of(ex, c.Tab).Forward(c.Ctx, nil)) },
			"reload":  func(ex executor.Executor) error { return suite.ErrOf(pagetest.Of(ex, c.Tab).Reload(c.Ctx, nil)) },
			"wait_for": func(ex executor.Executor) error {
				return suite.ErrOf(pagetest.Of(ex, c.Tab).WaitFor(c.Ctx, &executor.WaitCondition{Time: suite.NeverTimeout}))
			},
			"snapshot": func(ex executor.Executor) error { return suite.ErrOf(pagetest.Of(ex, c.Tab).Snapshot(c.Ctx, nil)) },
			"text":     func(ex executor.Executor) error { return suite.ErrOf(pagetest.Of(ex, c.Tab).Text(c.Ctx, nil)) },
			"html":     func(ex executor.Executor) error { return suite.ErrOf(pagetest.Of(ex, c.Tab).HTML(c.Ctx, nil)) },
			"markdown": func(ex executor.Executor) error { return suite.ErrOf(pagetest.Of(ex, c.Tab).Markdown(c.Ctx, nil)) },
			"links":    func(ex executor.Executor) error { return suite.ErrOf(pagetest.Of(ex, c.Tab).Links(c.Ctx, nil)) },
			"eval":     func(ex executor.Executor) error { return suite.ErrOf(pagetest.Of(ex, c.Tab).Eval(c.Ctx, "1", nil)) },
			"click": func(ex executor.Executor) error {
				return suite.ErrOf(pagetest.Of(ex, c.Tab).Click(c.Ctx, suite.Selector("#empty"), nil))
			},
			"click a ref": func(ex executor.Executor) error {
				return suite.ErrOf(pagetest.Of(ex, c.Tab).Click(c.Ctx, suite.ByRef(ref), nil))
			},
			"type": func(ex executor.Executor) error {
				return suite.ErrOf(pagetest.Of(ex, c.Tab).Type(c.Ctx, suite.Selector("#plain"), "x", nil))
			},
			"press": func(ex executor.Executor) error { return suite.ErrOf(pagetest.Of(ex, c.Tab).Press(c.Ctx, "a", nil)) },
			"hover": func(ex executor.Executor) error {
				return suite.ErrOf(pagetest.Of(ex, c.Tab).Hover(c.Ctx, suite.Selector("#empty"), nil))
			},
			"scroll": func(ex executor.Executor) error {
				return suite.ErrOf(pagetest.Of(ex, c.Tab).Scroll(c.Ctx, &executor.ScrollOptions{DeltaY: 10}))
			},
			"select": func(ex executor.Executor) error {
				return suite.ErrOf(pagetest.Of(ex, c.Tab).SelectOption(c.Ctx, suite.Selector("#choice"), []string{"two"}, nil))
			},
			"fill_form": func(ex executor.Executor) error {
				return suite.ErrOf(pagetest.Of(ex, c.Tab).FillForm(c.Ctx, []executor.Field{{Target: suite.Selector("#plain"), Value: "x"}}, nil))
			},
			"screenshot": func(ex executor.Executor) error { return suite.ErrOf(pagetest.Of(ex, c.Tab).Screenshot(c.Ctx, nil)) },
			"download": func(ex executor.Executor) error {
				return suite.ErrOf(pagetest.Of(ex, c.Tab).Download(c.Ctx, &executor.DownloadOptions{Target: suite.Selector("#file")}))
			},
			"cdp": func(ex executor.Executor) error {
				return suite.ErrOf(pagetest.Of(ex, c.Tab).CDP(c.Ctx, "Page.getFrameTree", nil))
			},
		} {
			for whose, ex := range map[string]executor.Executor{"": c.Exec, " of another session": other} {
				err := call(ex)
				if executor.CodeOf(err) != executor.ErrDialogOpen || !strings.Contains(err.Error(), "in the way") {
					c.Errorf("%s%s: error %v, want %s", name, whose, err, executor.ErrDialogOpen)
				}
			}
		}
		if _, err := c.Exec.SelectTab(c.Ctx, c.Tab); err != nil {
			c.Errorf("selecting the tab: %v", err)
		}
		if tab := c.Listed(c.Tab); tab.URL != c.URL("navigation-dialogs.html") {
			c.Errorf("listed %+v", tab)
		}
		c.Fetch(executor.DownloadOptions{URL: c.Path("/file/report.csv")}) // this does not use the page
		res, err := pagetest.Of(other, c.Tab).HandleDialog(c.Ctx, &accept)
		if err != nil || res.Message != "in the way" {
			c.Errorf("another session's answer: %+v, %v", res, err)
		}
		c.WantIn(c.Snap(nil), "Travel dialogs page")
	})
	s.Page(t, "dialog ends wait_for", "navigation-dialogs.html", func(c *suite.Case) {
		for name, cond := range map[string]executor.WaitCondition{
			"visible": {Visible: suite.Selector("#never")}, "text": {Text: "never"}, "url": {URL: "*never*"},
			"expression": {Expression: "false"}, "time": {Time: suite.NeverTimeout},
		} {
			c.Click(suite.Selector("#soon"), nil)
			cond.Timeout = suite.NeverTimeout
			_, err := c.Page().WaitFor(c.Ctx, &cond)
			if executor.CodeOf(err) != executor.ErrDialogOpen {
				c.Errorf("%s: error %v", name, err)
			}
			c.Answer(executor.DialogAlert, "in the way", accept)
		}
	})
	for _, leave := range []bool{true, false} {
		word := map[bool]string{true: "leave", false: "stay"}[leave]
		for name, do := range suite.Sorted(map[string]func(c *suite.Case) error{
			"back":     func(c *suite.Case) error { return suite.ErrOf(c.Page().Back(c.Ctx, nil)) },
			"reload":   func(c *suite.Case) error { return suite.ErrOf(c.Page().Reload(c.Ctx, nil)) },
			"navigate": func(c *suite.Case) error { return suite.ErrOf(c.Page().Navigate(c.Ctx, c.URL("second.html"), nil)) },
		}) {
			s.Page(t, "beforeunload on "+name+": "+word, "second.html", func(c *suite.Case) {
				c.GoTo(c.URL("navigation-dialogs.html"), nil)
				c.Click(suite.Selector("#guard"), nil)
				err := do(c)
				c.WantCode(err, executor.ErrDialogOpen, "beforeunload", "stay")
				res, err := c.Page().HandleDialog(c.Ctx, &executor.DialogAnswer{Accept: leave})
				if err != nil || res.Type != executor.DialogBeforeUnload {
					c.Fatalf("answered %+v, %v", res, err)
				}
				if !leave {
					c.WantValue("document.title", "Travel dialogs")
					c.WantUntouched("dialogs")
					c.Click(suite.Selector("#empty"), nil)
					c.Answer(executor.DialogPrompt, "", dismiss)
					return
				}
				c.Await("pagehide", "dialogs")
				if name != "reload" {
					if res.Title != "Second" || res.URL != c.URL("second.html") {
						c.Errorf("the answer reports %+v", res.Changes)
					}
					c.WantValue("document.title", "Second")
				}
			})
		}
	}
	s.Page(t, "beforeunload on a click that navigates: stay and leave", "navigation-dialogs.html", func(c *suite.Case) {
		c.Click(suite.Selector("#guard"), nil)
		a := c.Click(suite.Selector("#leave"), nil)
		if a.Dialog == nil || a.Dialog.Type != executor.DialogBeforeUnload {
			c.Fatalf("the click reports %+v", a.Changes)
		}
		c.Must(c.Page().HandleDialog(c.Ctx, nil))
		c.WantValue("document.title", "Travel dialogs")
		c.Click(suite.Selector("#leave"), nil)
		res, err := c.Page().HandleDialog(c.Ctx, &accept)
		if err != nil {
			c.Fatal(err)
		}
		if res.URL != c.URL("second.html") || res.Title != "Second" {
			c.Errorf("the answer reports %+v", res.Changes)
		}
	})
	s.Page(t, "tab with a beforeunload handler is closed", "navigation-dialogs.html", func(c *suite.Case) {
		c.Click(suite.Selector("#guard"), nil)
		c.Must(c.Page().Close(c.Ctx))
		if _, ok := c.Find(c.Tab); ok {
			c.Error("the tab is still listed")
		}
	})
	s.Page(t, "tab is closed while its beforeunload dialog is open", "navigation-dialogs.html", func(c *suite.Case) {
		c.Click(suite.Selector("#guard"), nil)
		_, err := c.Page().Reload(c.Ctx, nil)
		c.WantCode(err, executor.ErrDialogOpen)
		c.Must(c.Page().Close(c.Ctx))
	})
	s.Page(t, "beforeunload during eval: accepted, reported", "navigation-dialogs.html", func(c *suite.Case) {
		c.Click(suite.Selector("#guard"), nil)
		res, err := c.Page().Eval(c.Ctx, "location.assign('second.html'); 7", nil)
		if err != nil && executor.CodeOf(err) != executor.ErrEvalFailed {
			c.Fatal(err)
		}
		if err == nil && (len(res.Dialogs) != 1 || !strings.Contains(res.Dialogs[0], "beforeunload") || !strings.Contains(res.Dialogs[0], "accepted")) {
			c.Errorf("result %+v", res)
		}
		c.Met(executor.WaitCondition{Text: "the second page"})
	})
	s.Page(t, "eval with many dialogs, also while it awaits", "navigation-dialogs.html", func(c *suite.Case) {
		res, err := c.Page().Eval(c.Ctx, "for (let i = 0; i < 30; i++) alert(i); new Promise((done) => setTimeout(() => done([confirm('c'), prompt('p', 'd')]), 50))", nil)
		if err != nil {
			c.Fatal(err)
		}
		if !res.OK || string(res.Value) != "[false,null]" || len(res.Dialogs) == 0 || len(res.Dialogs) > 40 || !strings.Contains(res.Dialogs[0], "accepted") {
			c.Errorf("result %+v with value %s", res, res.Value)
		}
	})
	s.Page(t, "dialog after eval waits for an answer", "navigation-dialogs.html", func(c *suite.Case) {
		c.Eval("alert('during'); 1", nil)
		c.WantDialog(c.Click(suite.Selector("#empty"), nil).Changes, executor.DialogPrompt, "")
		c.Answer(executor.DialogPrompt, "", dismiss)
		if r := c.Await("after", "empty"); r.Value != "null" {
			c.Errorf("prompt returned %s", r.Value)
		}
	})
}
