package pagesuite

import (
	"context"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

func navigationHistory(s *suite.Runner, t *testing.T) {
	s.Page(t, "back to a bfcache page: refs are valid or expired", "navigation.html", func(c *suite.Case) {
		c.Await("pageshow", "travel")
		ref := c.Ref("button", "Push")
		c.Eval("window.mark = 'kept'; 0", nil)
		c.GoTo(c.URL("second.html"), nil)
		_, err := c.Page().Click(c.Ctx, suite.ByRef(ref), nil)
		c.WantCode(err, executor.ErrRefExpired)
		nav := c.Back()
		c.WantAt(nav, c.URL("navigation.html"), "Travel", nav.HTTPStatus)
		shown := c.Await("pageshow", "travel")
		text := c.Snap(nil)
		c.WantIn(text, "at the start")
		c.WantNotIn(text, "the second page")
		kept := c.EvalString("String(window.mark)") == "kept"
		if kept != (shown.Value == "cached") {
			c.Errorf("mark is retained: %t, the page reports %s", kept, shown.Value)
		}
		_, err = c.Page().Click(c.Ctx, suite.ByRef(ref), nil)
		switch {
		case kept && err != nil:
			c.Errorf("the ref of a page in the bfcache is invalid: %v", err)
		case kept:
			c.WantValue("document.title", "View 1")
		default:
			c.WantCode(err, executor.ErrRefExpired)
			c.WantValue("document.title", "Travel")
		}
	})
	s.Page(t, "back restores form values or reloads", "navigation.html", func(c *suite.Case) {
		c.TypeInto("#note", "half a sentence", nil)
		c.GoTo(c.URL("second.html"), nil)
		c.Back()
		c.TypeInto("#note", "whole", &executor.TypeOptions{Clear: true})
		c.WantValue("note.value", "whole")
	})
	s.Page(t, "back and forward through client-side routes", "navigation.html", func(c *suite.Case) {
		a := c.Click(suite.Selector("#push"), nil)
		if a.URL != c.URL("navigation.html?view=1") || a.Title != "View 1" {
			c.Errorf("the click reports %+v", a.Changes)
		}
		a = c.Click(suite.Selector("#replace"), nil)
		if a.URL != c.URL("navigation.html?view=2") || a.Title != "View 2" {
			c.Errorf("the click reports %+v", a.Changes)
		}
		if nav := c.Back(); nav.URL != c.URL("navigation.html") || nav.HTTPStatus != 0 {
			c.Errorf("back ended at %+v", *nav)
		}
		c.Met(executor.WaitCondition{Text: "at the start"})
		if nav := c.Forward(); nav.URL != c.URL("navigation.html?view=2") {
			c.Errorf("forward ended at %+v", *nav)
		}
		c.Met(executor.WaitCondition{Text: "view 2", URL: "*view=2"})
	})
	s.Page(t, "documents, pushState and fragments share one history", "navigation.html", func(c *suite.Case) {
		c.Click(suite.Selector("#push"), nil)
		c.Click(suite.Selector("#hash"), nil)
		c.GoTo(c.URL("second.html"), nil)
		for _, want := range []string{"navigation.html?view=1#part", "navigation.html?view=1", "navigation.html"} {
			if nav := c.Back(); nav.URL != c.URL(want) {
				c.Errorf("back ended at %+v, want %s", *nav, want)
			}
		}
		_, err := c.Page().Back(c.Ctx, nil)
		c.WantCode(err, executor.ErrNavigationFailed, "history")
		for _, want := range []string{"navigation.html?view=1", "navigation.html?view=1#part", "second.html"} {
			if nav := c.Forward(); nav.URL != c.URL(want) {
				c.Errorf("forward ended at %+v, want %s", *nav, want)
			}
		}
		_, err = c.Page().Forward(c.Ctx, nil)
		c.WantCode(err, executor.ErrNavigationFailed, "history")
	})
	s.Page(t, "reload with resubmit repeats POST", "navigation.html", func(c *suite.Case) {
		a := c.Click(suite.Selector("#submit"), nil)
		if a.Title != "POST" {
			c.Errorf("the click reports %+v", a.Changes)
		}
		nav, err := c.Page().Reload(c.Ctx, &executor.NavigateOptions{Resubmit: true})
		c.Must(nav, err)
		c.WantAt(nav, c.NavigationURL("posted"), "POST", 200)
		c.WantIn(c.Snap(nil), `asked by POST with`, "sent")
	})
	s.Page(t, "back and forward to a page that is still loading", "second.html", func(c *suite.Case) {
		commit := &executor.NavigateOptions{Until: executor.UntilCommit}
		for _, move := range []struct {
			direction string
			do, undo  func(context.Context, *executor.NavigateOptions) (*executor.Navigation, error)
		}{{"back", c.Page().Back, c.Page().Forward}, {"forward", c.Page().Forward, c.Page().Back}} {
			c.GoTo(c.NavigationURL("parts/rest"), commit)
			if move.direction == "back" {
				c.GoTo(c.URL("navigation.html"), nil)
			} else {
				c.Back()
			}
			_, err := move.do(c.Ctx, &executor.NavigateOptions{Until: "soon"})
			c.WantCode(err, executor.ErrBadArgs, "soon")
			_, err = move.do(c.Ctx, &executor.NavigateOptions{Until: executor.UntilLoad, Timeout: 300 * time.Millisecond})
			c.WantCode(err, executor.ErrTimeout)
			c.Must(move.undo(c.Ctx, nil))
			nav, err := move.do(c.Ctx, commit)
			if err != nil {
				c.Fatalf("%s: %v", move.direction, err)
			}
			if nav.URL != c.NavigationURL("parts/rest") {
				c.Errorf("%s ended at %+v", move.direction, *nav)
			}
		}
	})
	s.Page(t, "back from an error page", "navigation.html", func(c *suite.Case) {
		_, err := c.Page().Navigate(c.Ctx, "http://127.0.0.1:1/", nil)
		c.WantCode(err, executor.ErrNavigationFailed)
		if nav := c.Back(); nav.Title != "Travel" {
			c.Errorf("back ended at %+v", *nav)
		}
		_, err = c.Page().Forward(c.Ctx, nil)
		c.WantCode(err, executor.ErrNavigationFailed, "net::ERR_")
	})
	s.Page(t, "reload after replaceState loads the new URL", "navigation.html", func(c *suite.Case) {
		c.Click(suite.Selector("#replace"), nil)
		nav := c.Reload()
		c.WantAt(nav, c.URL("navigation.html?view=2"), "View 2", 200)
	})
	s.Page(t, "snapshot after a client-side route change", "navigation.html", func(c *suite.Case) {
		c.WantIn(c.Snap(nil), "at the start")
		a := c.Click(suite.Selector("#push"), nil)
		c.WantIn(a.Diff, "view 1")
		c.WantNotIn(c.Snap(nil), "at the start")
	})
}
