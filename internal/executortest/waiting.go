package executortest

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
)

func (s *suite) waitFor(t *testing.T) {
	unmet := func(c *testCase, cond executor.WaitCondition, name string) {
		c.Helper()
		res, err := c.page().WaitFor(c.ctx, cond)
		if err != nil || res.Matched || !slices.Contains(res.Unmet, name) || res.Waited < cond.Timeout.Milliseconds() {
			c.Errorf("waiting for %+v: %+v, %v", cond, res, err)
		}
	}
	rows := map[string]struct {
		later string // what the page does after a delay
		cond  executor.WaitCondition
	}{
		"selector":       {`soon(() => document.body.insertAdjacentHTML("beforeend", "<button id=new>New</button>"))`, executor.WaitCondition{Selector: "#new"}},
		"visible":        {`soon(() => never.style.display = "block")`, executor.WaitCondition{Selector: "#never"}},
		"text":           {`soon(() => document.body.append("fresh text"))`, executor.WaitCondition{Text: "fresh text"}},
		"text is gone":   {`soon(() => old.remove())`, executor.WaitCondition{TextGone: "old text"}},
		"gone":           {`soon(() => old.style.display = "none")`, executor.WaitCondition{Gone: "#old"}},
		"url":            {`soon(() => history.pushState({}, "", "pushed.html?x=1"))`, executor.WaitCondition{URL: "*/pushed.html*"}},
		"expression":     {`soon(() => window.ready = 1)`, executor.WaitCondition{Expression: "window.ready"}},
		"statements":     {`soon(() => window.ready = 1)`, executor.WaitCondition{Expression: "let n = window.ready; const m = n ? [n] : null; m"}},
		"object":         {`soon(() => window.ready = {})`, executor.WaitCondition{Expression: "{ window.ready }"}},
		"two conditions": {`soon(() => { old.remove(); soon(() => document.body.append("fresh text")) })`, executor.WaitCondition{Text: "fresh text", Gone: "#old"}},
		"navigation":     {`soon(() => location.assign("second.html"))`, executor.WaitCondition{Text: "the second page"}},
	}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		tc := rows[name]
		s.page(t, name, "wait.html", func(c *testCase) {
			c.eval(tc.later+"; 0", nil)
			res := c.met(tc.cond)
			if tc.cond.Selector != "" {
				if res.Ref == "" {
					c.Fatal("the element has no ref")
				}
				if _, err := c.page().Hover(c.ctx, byRef(res.Ref), nil); err != nil {
					c.Errorf("the ref %s does not work: %v", res.Ref, err)
				}
			}
		})
	}
	s.page(t, "condition already met", "wait.html", func(c *testCase) {
		c.met(executor.WaitCondition{Text: "old text"})
	})
	s.page(t, "time", "wait.html", func(c *testCase) {
		if res := c.met(executor.WaitCondition{Time: 150 * time.Millisecond}); res.Waited < 150 {
			c.Errorf("result %+v", *res)
		}
	})
	s.page(t, "condition not met", "wait.html", func(c *testCase) {
		unmet(c, executor.WaitCondition{Selector: "#never", Text: "old text", Timeout: 300 * time.Millisecond}, "selector")
	})
	s.page(t, "network is idle", "wait.html", func(c *testCase) {
		c.met(executor.WaitCondition{Load: executor.UntilNetworkIdle})
		c.eval(fmt.Sprintf(`fetch(%q, {mode: "no-cors"}).then(() => { window.answered = true }); 0`, c.heldURL("idle")), nil)
		c.awaitRequest("idle")
		unmet(c, executor.WaitCondition{Load: executor.UntilNetworkIdle, Timeout: time.Second}, "load")
		c.met(executor.WaitCondition{Load: executor.UntilLoad})
		released := time.Now()
		c.release("idle")
		c.met(executor.WaitCondition{Load: executor.UntilNetworkIdle, Expression: "window.answered"})
		if took := time.Since(released); took < 400*time.Millisecond {
			c.Errorf("the network was idle %v before the wait ended", took)
		}
		_, err := c.page().WaitFor(c.ctx, executor.WaitCondition{Load: "soon"})
		c.wantCode(err, executor.ErrBadArgs)
	})
	s.page(t, "network is idle after leaving a page with a request in flight", "wait.html", func(c *testCase) {
		c.eval(fmt.Sprintf(`fetch(%q, {mode: "no-cors", keepalive: true}); new Image().src = %q; 0`, c.heldURL("kept"), c.heldURL("image")), nil)
		c.awaitRequest("kept")
		c.awaitRequest("image")
		c.goTo(c.url("second.html"), nil)
		c.met(executor.WaitCondition{Load: executor.UntilNetworkIdle})
	})
	s.page(t, "network is idle while an EventSource is open", "second.html", func(c *testCase) {
		opts := &executor.NavigateOptions{Until: executor.UntilNetworkIdle}
		c.goTo(c.navigationURL("live"), opts)
		c.met(executor.WaitCondition{Load: executor.UntilNetworkIdle, Text: "stream hello"})
		c.snap(nil)
		c.wantIn(c.click(css("button"), nil).Diff, "Clicked")
		c.must(c.page().Reload(c.ctx, opts))
	})
	s.page(t, "network is idle although no script reads a response", "second.html", func(c *testCase) {
		c.eval(fmt.Sprintf(`fetch(%q, {method: "POST"}).then(() => { window.answered = true }); 0`, c.navigationURL("unread")), nil)
		c.met(executor.WaitCondition{Load: executor.UntilNetworkIdle, Expression: "window.answered"})
	})
	s.page(t, "ref of a removed element", "wait.html", func(c *testCase) {
		c.eval(`document.body.insertAdjacentHTML("beforeend", "<button id=new>New</button>")`, nil)
		ref := c.ref("button", "New")
		c.eval(`soon(() => document.querySelector("#new").remove()); 0`, nil)
		c.met(executor.WaitCondition{Gone: string(ref)})
	})
	s.page(t, "values of expressions", "wait.html", func(c *testCase) {
		for _, expression := range []string{"document.body", "soon", "'0'", "[]", "{a: 0}", "1n", "Promise.resolve(2)", "await 3", "Symbol()", "-1"} {
			c.met(executor.WaitCondition{Expression: expression})
		}
		for _, expression := range []string{"0", "-0", "0n", "NaN", "null", "undefined", "''", "false", "Promise.resolve(0)", "(() => { throw 1 })()"} {
			c.eval("window.tries = 0", nil)
			c.met(executor.WaitCondition{Expression: "++tries > 1 ? 1 : " + expression})
			c.wantValue("tries", "2")
		}
		for _, expression := range []string{"() => false", "(function () { return false });"} {
			_, err := c.page().WaitFor(c.ctx, executor.WaitCondition{Expression: expression})
			c.wantCode(err, executor.ErrBadArgs, "function")
		}
	})
	s.page(t, "no condition", "wait.html", func(c *testCase) {
		_, err := c.page().WaitFor(c.ctx, executor.WaitCondition{Timeout: time.Second})
		c.wantCode(err, executor.ErrBadArgs)
		_, err = c.page().WaitFor(c.ctx, executor.WaitCondition{Selector: "#a["})
		c.wantCode(err, executor.ErrBadArgs)
	})
	s.page(t, "canceled", "wait.html", func(c *testCase) {
		ctx, cancel := context.WithCancel(c.ctx)
		done := make(chan error, 1)
		go func() {
			done <- errOf(c.page().WaitFor(ctx, executor.WaitCondition{Expression: `(window.asked ??= (report("asked", "wait"), 1)) && false`, Timeout: neverTimeout}))
		}()
		c.await("asked", "wait")
		cancel()
		if err := await.Receive(c, "the canceled call", done); !errors.Is(err, context.Canceled) {
			c.Errorf("error %v, want one that is context.Canceled", err)
		}
		c.wantValue("document.title", "Wait")
	})
}
