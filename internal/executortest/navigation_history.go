package executortest

import (
	"context"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// back goes back and fails the case if that fails.
func (c *testCase) back() *executor.Navigation {
	c.Helper()
	nav, err := c.page().Back(c.ctx, nil)
	if err != nil {
		c.Fatalf("back: %v", err)
	}
	return nav
}

func (c *testCase) forward() *executor.Navigation {
	c.Helper()
	nav, err := c.page().Forward(c.ctx, nil)
	if err != nil {
		c.Fatalf("forward: %v", err)
	}
	return nav
}

func (c *testCase) reload() *executor.Navigation {
	c.Helper()
	nav, err := c.page().Reload(c.ctx, nil)
	if err != nil {
		c.Fatalf("reload: %v", err)
	}
	return nav
}

func (s *suite) navigationHistory(t *testing.T) {
	s.page(t, "back to a bfcache page: refs are valid or expired", "navigation.html", func(c *testCase) {
		c.await("pageshow", "travel")
		ref := c.ref("button", "Push")
		c.eval("window.mark = 'kept'; 0", nil)
		c.goTo(c.url("second.html"), nil)
		_, err := c.page().Click(c.ctx, byRef(ref), nil)
		c.wantCode(err, executor.ErrRefExpired)
		nav := c.back()
		c.wantAt(nav, c.url("navigation.html"), "Travel", nav.HTTPStatus)
		shown := c.await("pageshow", "travel")
		text := c.snap(nil)
		c.wantIn(text, "at the start")
		c.wantNotIn(text, "the second page")
		kept := c.evalString("String(window.mark)") == "kept"
		if kept != (shown.Value == "cached") {
			c.Errorf("mark is retained: %t, the page reports %s", kept, shown.Value)
		}
		_, err = c.page().Click(c.ctx, byRef(ref), nil)
		switch {
		case kept && err != nil:
			c.Errorf("the ref of a page in the bfcache is invalid: %v", err)
		case kept:
			c.wantValue("document.title", "View 1")
		default:
			c.wantCode(err, executor.ErrRefExpired)
			c.wantValue("document.title", "Travel")
		}
	})
	s.page(t, "back restores form values or reloads", "navigation.html", func(c *testCase) {
		c.typeInto("#note", "half a sentence", nil)
		c.goTo(c.url("second.html"), nil)
		c.back()
		c.typeInto("#note", "whole", &executor.TypeOptions{Clear: true})
		c.wantValue("note.value", "whole")
	})
	s.page(t, "back and forward through client-side routes", "navigation.html", func(c *testCase) {
		a := c.click(css("#push"), nil)
		if a.URL != c.url("navigation.html?view=1") || a.Title != "View 1" {
			c.Errorf("the click reports %+v", a.Changes)
		}
		a = c.click(css("#replace"), nil)
		if a.URL != c.url("navigation.html?view=2") || a.Title != "View 2" {
			c.Errorf("the click reports %+v", a.Changes)
		}
		if nav := c.back(); nav.URL != c.url("navigation.html") || nav.HTTPStatus != 0 {
			c.Errorf("back ended at %+v", *nav)
		}
		c.met(executor.WaitCondition{Text: "at the start"})
		if nav := c.forward(); nav.URL != c.url("navigation.html?view=2") {
			c.Errorf("forward ended at %+v", *nav)
		}
		c.met(executor.WaitCondition{Text: "view 2", URL: "*view=2"})
	})
	s.page(t, "documents, pushState and fragments share one history", "navigation.html", func(c *testCase) {
		c.click(css("#push"), nil)
		c.click(css("#hash"), nil)
		c.goTo(c.url("second.html"), nil)
		for _, want := range []string{"navigation.html?view=1#part", "navigation.html?view=1", "navigation.html"} {
			if nav := c.back(); nav.URL != c.url(want) {
				c.Errorf("back ended at %+v, want %s", *nav, want)
			}
		}
		_, err := c.page().Back(c.ctx, nil)
		c.wantCode(err, executor.ErrNavigationFailed, "history")
		for _, want := range []string{"navigation.html?view=1", "navigation.html?view=1#part", "second.html"} {
			if nav := c.forward(); nav.URL != c.url(want) {
				c.Errorf("forward ended at %+v, want %s", *nav, want)
			}
		}
		_, err = c.page().Forward(c.ctx, nil)
		c.wantCode(err, executor.ErrNavigationFailed, "history")
	})
	s.page(t, "reload with resubmit repeats POST", "navigation.html", func(c *testCase) {
		a := c.click(css("#submit"), nil)
		if a.Title != "POST" {
			c.Errorf("the click reports %+v", a.Changes)
		}
		nav, err := c.page().Reload(c.ctx, &executor.NavigateOptions{Resubmit: true})
		c.must(nav, err)
		c.wantAt(nav, c.navigationURL("posted"), "POST", 200)
		c.wantIn(c.snap(nil), `asked by POST with`, "sent")
	})
	s.page(t, "back and forward to a page that is still loading", "second.html", func(c *testCase) {
		commit := &executor.NavigateOptions{Until: executor.UntilCommit}
		for _, move := range []struct {
			direction string
			do, undo  func(context.Context, *executor.NavigateOptions) (*executor.Navigation, error)
		}{{"back", c.page().Back, c.page().Forward}, {"forward", c.page().Forward, c.page().Back}} {
			c.goTo(c.navigationURL("parts/rest"), commit)
			if move.direction == "back" {
				c.goTo(c.url("navigation.html"), nil)
			} else {
				c.back()
			}
			_, err := move.do(c.ctx, &executor.NavigateOptions{Until: "soon"})
			c.wantCode(err, executor.ErrBadArgs, "soon")
			_, err = move.do(c.ctx, &executor.NavigateOptions{Until: executor.UntilLoad, Timeout: 300 * time.Millisecond})
			c.wantCode(err, executor.ErrTimeout)
			c.must(move.undo(c.ctx, nil))
			nav, err := move.do(c.ctx, commit)
			if err != nil {
				c.Fatalf("%s: %v", move.direction, err)
			}
			if nav.URL != c.navigationURL("parts/rest") {
				c.Errorf("%s ended at %+v", move.direction, *nav)
			}
		}
	})
	s.page(t, "back from an error page", "navigation.html", func(c *testCase) {
		_, err := c.page().Navigate(c.ctx, "http://127.0.0.1:1/", nil)
		c.wantCode(err, executor.ErrNavigationFailed)
		if nav := c.back(); nav.Title != "Travel" {
			c.Errorf("back ended at %+v", *nav)
		}
		_, err = c.page().Forward(c.ctx, nil)
		c.wantCode(err, executor.ErrNavigationFailed, "net::ERR_")
	})
	s.page(t, "reload after replaceState loads the new URL", "navigation.html", func(c *testCase) {
		c.click(css("#replace"), nil)
		nav := c.reload()
		c.wantAt(nav, c.url("navigation.html?view=2"), "View 2", 200)
	})
	s.page(t, "snapshot after a client-side route change", "navigation.html", func(c *testCase) {
		c.wantIn(c.snap(nil), "at the start")
		a := c.click(css("#push"), nil)
		c.wantIn(a.Diff, "view 1")
		c.wantNotIn(c.snap(nil), "at the start")
	})
}
