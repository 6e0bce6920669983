package pagesuite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

func waitFor(s *suite.Runner, t *testing.T) {
	unmet := func(c *suite.Case, cond executor.WaitCondition, name string) {
		c.Helper()
		res, err := c.Page().WaitFor(c.Ctx, &cond)
		if err != nil || res.Matched || !slices.Contains(res.Unmet, name) || res.Waited < cond.Timeout {
			c.Errorf("waiting for %+v: %+v, %v", cond, res, err)
		}
	}
	rows := map[string]struct {
		later string // what the page does after a delay
		cond  executor.WaitCondition
	}{
		"selector":       {`soon(() => document.body.insertAdjacentHTML("beforeend", "<button id=new>New</button>"))`, executor.WaitCondition{Visible: suite.Selector("#new")}},
		"visible":        {`soon(() => never.style.display = "block")`, executor.WaitCondition{Visible: suite.Selector("#never")}},
		"text":           {`soon(() => document.body.append("fresh text"))`, executor.WaitCondition{Text: "fresh text"}},
		"text is gone":   {`soon(() => old.remove())`, executor.WaitCondition{TextGone: "old text"}},
		"gone":           {`soon(() => old.style.display = "none")`, executor.WaitCondition{Gone: suite.Selector("#old")}},
		"url":            {`soon(() => history.pushState({}, "", "pushed.html?x=1"))`, executor.WaitCondition{URL: "*/pushed.html*"}},
		"expression":     {`soon(() => window.ready = 1)`, executor.WaitCondition{Expression: "window.ready"}},
		"statements":     {`soon(() => window.ready = 1)`, executor.WaitCondition{Expression: "let n = window.ready; const m = n ? [n] : null; m"}},
		"object":         {`soon(() => window.ready = {})`, executor.WaitCondition{Expression: "{ window.ready }"}},
		"two conditions": {`soon(() => { old.remove(); soon(() => document.body.append("fresh text")) })`, executor.WaitCondition{Text: "fresh text", Gone: suite.Selector("#old")}},
		"navigation":     {`soon(() => location.assign("second.html"))`, executor.WaitCondition{Text: "the second page"}},
	}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		tc := rows[name]
		s.Page(t, name, "wait.html", func(c *suite.Case) {
			c.Eval(tc.later+"; 0", nil)
			res := c.Met(tc.cond)
			if !tc.cond.Visible.IsZero() {
				if res.Ref == "" {
					c.Fatal("the element has no ref")
				}
				if _, err := c.Page().Hover(c.Ctx, suite.ByRef(res.Ref), nil); err != nil {
					c.Errorf("the ref %s does not work: %v", res.Ref, err)
				}
			}
		})
	}
	s.Page(t, "condition already met", "wait.html", func(c *suite.Case) {
		c.Met(executor.WaitCondition{Text: "old text"})
	})
	s.Page(t, "time", "wait.html", func(c *suite.Case) {
		cond := executor.WaitCondition{Time: 150 * time.Millisecond}
		if res := c.Met(cond); res.Waited < cond.Time {
			c.Errorf("result %+v", *res)
		}
	})
	s.Page(t, "condition not met", "wait.html", func(c *suite.Case) {
		unmet(c, executor.WaitCondition{Visible: suite.Selector("#never"), Text: "old text", Timeout: 300 * time.Millisecond}, "visible")
	})
	s.Page(t, "network is idle", "wait.html", func(c *suite.Case) {
		c.Met(executor.WaitCondition{Load: executor.UntilNetworkIdle})
		c.Eval(fmt.Sprintf(`fetch(%q, {mode: "no-cors"}).then(() => { window.answered = true }); 0`, c.HeldURL("idle")), nil)
		c.AwaitRequest("idle")
		unmet(c, executor.WaitCondition{Load: executor.UntilNetworkIdle, Timeout: time.Second}, "load")
		c.Met(executor.WaitCondition{Load: executor.UntilLoad})
		released := time.Now()
		c.Release("idle")
		c.Met(executor.WaitCondition{Load: executor.UntilNetworkIdle, Expression: "window.answered"})
		if took := time.Since(released); took < 400*time.Millisecond {
			c.Errorf("the network was idle %v before the wait ended", took)
		}
		_, err := c.Page().WaitFor(c.Ctx, &executor.WaitCondition{Load: "soon"})
		c.WantCode(err, executor.ErrBadArgs)
	})
	s.Page(t, "network is idle after leaving a page with a request in flight", "wait.html", func(c *suite.Case) {
		c.Eval(fmt.Sprintf(`fetch(%q, {mode: "no-cors", keepalive: true}); new Image().src = %q; 0`, c.HeldURL("kept"), c.HeldURL("image")), nil)
		c.AwaitRequest("kept")
		c.AwaitRequest("image")
		c.GoTo(c.URL("second.html"), nil)
		c.Met(executor.WaitCondition{Load: executor.UntilNetworkIdle})
	})
	s.Page(t, "network is idle while an EventSource is open", "second.html", func(c *suite.Case) {
		opts := &executor.NavigateOptions{Until: executor.UntilNetworkIdle}
		c.GoTo(c.NavigationURL("live"), opts)
		c.Met(executor.WaitCondition{Load: executor.UntilNetworkIdle, Text: "stream hello"})
		c.Snap(nil)
		c.WantIn(c.Click(suite.Selector("button"), nil).Diff, "Clicked")
		c.Must(c.Page().Reload(c.Ctx, opts))
	})
	s.Page(t, "network is idle although no script reads a response", "second.html", func(c *suite.Case) {
		c.Eval(fmt.Sprintf(`fetch(%q, {method: "POST"}).then(() => { window.answered = true }); 0`, c.NavigationURL("unread")), nil)
		c.Met(executor.WaitCondition{Load: executor.UntilNetworkIdle, Expression: "window.answered"})
	})
	s.Page(t, "ref of a removed element", "wait.html", func(c *suite.Case) {
		c.Eval(`document.body.insertAdjacentHTML("beforeend", "<button id=new>New</button>")`, nil)
		ref := c.Ref("button", "New")
		c.Eval(`soon(() => document.querySelector("#new").remove()); 0`, nil)
		c.Met(executor.WaitCondition{Gone: suite.ByRef(ref)})
		unmet(c, executor.WaitCondition{Visible: suite.ByRef(ref), Timeout: 300 * time.Millisecond}, "visible")
	})
	s.Page(t, "ref of a hidden element", "wait.html", func(c *suite.Case) {
		c.Eval(`document.body.insertAdjacentHTML("beforeend", "<button id=new>New</button>")`, nil)
		ref := c.Ref("button", "New")
		c.Eval(`document.querySelector("#new").hidden = true; 0`, nil)
		unmet(c, executor.WaitCondition{Visible: suite.ByRef(ref), Timeout: 300 * time.Millisecond}, "visible")
		c.Eval(`soon(() => document.querySelector("#new").hidden = false); 0`, nil)
		if res := c.Met(executor.WaitCondition{Visible: suite.ByRef(ref)}); res.Ref != ref {
			c.Errorf("the ref of %s is %q", ref, res.Ref)
		}
	})
	s.Page(t, "values of expressions", "wait.html", func(c *suite.Case) {
		for _, expression := range []string{"document.body", "soon", "'0'", "[]", "{a: 0}", "1n", "Promise.resolve(2)", "await 3", "Symbol()", "-1"} {
			c.Met(executor.WaitCondition{Expression: expression})
		}
		for _, expression := range []string{"0", "-0", "0n", "NaN", "null", "undefined", "''", "false", "Promise.resolve(0)", "(() => { throw 1 })()"} {
			c.Eval("window.tries = 0", nil)
			c.Met(executor.WaitCondition{Expression: "++tries > 1 ? 1 : " + expression})
			c.WantValue("tries", "2")
		}
		for _, expression := range []string{"() => false", "(function () { return false });"} {
			_, err := c.Page().WaitFor(c.Ctx, &executor.WaitCondition{Expression: expression})
			c.WantCode(err, executor.ErrBadArgs, "function")
		}
	})
	s.Page(t, "no condition", "wait.html", func(c *suite.Case) {
		for _, cond := range []*executor.WaitCondition{
			nil, {Timeout: time.Second}, {Visible: suite.Selector("#a[")}, {Visible: executor.Target{Selector: "#a", Ref: "e1"}}, {Gone: suite.ByRef("x")},
		} {
			_, err := c.Page().WaitFor(c.Ctx, cond)
			c.WantCode(err, executor.ErrBadArgs)
		}
	})
	s.Page(t, "canceled", "wait.html", func(c *suite.Case) {
		ctx, cancel := context.WithCancel(c.Ctx)
		done := make(chan error, 1)
		go func() {
			done <- suite.ErrOf(c.Page().WaitFor(ctx, &executor.WaitCondition{Expression: `(window.asked ??= (report("asked", "wait"), 1)) && false`, Timeout: suite.NeverTimeout}))
		}()
		c.Await("asked", "wait")
		cancel()
		if err := await.Receive(c, "the canceled call", done); !errors.Is(err, context.Canceled) {
			c.Errorf("error %v, want one that is context.Canceled", err)
		}
		c.WantValue("document.title", "Wait")
	})
}
