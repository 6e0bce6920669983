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
)

// contextWithTimeout returns a context for one call of a case.
func contextWithTimeout(c *testCase, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.ctx, d)
}

func (s *suite) waitFor(t *testing.T) {
	wait := func(c *testCase, cond executor.WaitCondition) *executor.WaitResult {
		c.Helper()
		res, err := c.page().WaitFor(c.ctx, cond)
		if err != nil {
			c.Fatalf("wait for %+v: %v", cond, err)
		}
		return res
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
		"two conditions": {`soon(() => { old.remove(); soon(() => document.body.append("fresh text")) })`, executor.WaitCondition{Text: "fresh text", Gone: "#old"}},
		"navigation":     {`soon(() => location.assign("second.html"))`, executor.WaitCondition{Text: "the second page"}},
	}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		tc := rows[name]
		s.page(t, name, "wait.html", func(c *testCase) {
			c.eval(tc.later+"; 0", nil)
			res := wait(c, tc.cond)
			if !res.Matched || len(res.Unmet) != 0 {
				c.Errorf("result %+v", *res)
			}
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
		if res := wait(c, executor.WaitCondition{Text: "old text"}); !res.Matched || res.Waited > 1000 {
			c.Errorf("result %+v", *res)
		}
	})
	s.page(t, "time", "wait.html", func(c *testCase) {
		if res := wait(c, executor.WaitCondition{Time: 150 * time.Millisecond}); !res.Matched || res.Waited < 150 {
			c.Errorf("result %+v", *res)
		}
	})
	s.page(t, "condition not met", "wait.html", func(c *testCase) {
		start := time.Now()
		res := wait(c, executor.WaitCondition{Selector: "#never", Text: "old text", Timeout: 300 * time.Millisecond})
		if res.Matched || !slices.Contains(res.Unmet, "selector") || res.Waited < 300 {
			c.Errorf("result %+v", *res)
		}
		c.wantWithin(start, 3*time.Second, "a timeout of 300 ms")
	})
	s.page(t, "network is idle", "wait.html", func(c *testCase) {
		if res := wait(c, executor.WaitCondition{Load: executor.UntilNetworkIdle}); !res.Matched {
			c.Errorf("idle page: %+v", *res)
		}
		c.eval(fmt.Sprintf(`fetch(%q, {mode: "no-cors"}).then(() => { window.answered = true }); 0`, c.heldURL("idle")), nil)
		c.awaitRequest("idle")
		res := wait(c, executor.WaitCondition{Load: executor.UntilNetworkIdle, Timeout: time.Second})
		if res.Matched || !slices.Equal(res.Unmet, []string{"load"}) {
			c.Errorf("with a request in flight: %+v", *res)
		}
		if res := wait(c, executor.WaitCondition{Load: executor.UntilLoad, Timeout: time.Second}); !res.Matched {
			c.Errorf("loaded page with a request in flight: %+v", *res)
		}
		c.release("idle")
		if res := wait(c, executor.WaitCondition{Load: executor.UntilNetworkIdle, Expression: "window.answered"}); !res.Matched || res.Waited < 400 {
			c.Errorf("after the response: %+v", *res)
		}
		_, err := c.page().WaitFor(c.ctx, executor.WaitCondition{Load: "soon"})
		c.wantCode(err, executor.ErrBadArgs)
	})
	s.page(t, "ref of a removed element", "wait.html", func(c *testCase) {
		c.eval(`document.body.insertAdjacentHTML("beforeend", "<button id=new>New</button>")`, nil)
		ref := c.ref("button", "New")
		c.eval(`soon(() => document.querySelector("#new").remove()); 0`, nil)
		if res := wait(c, executor.WaitCondition{Gone: string(ref)}); !res.Matched {
			c.Errorf("result %+v", *res)
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
			done <- errOf(c.page().WaitFor(ctx, executor.WaitCondition{Expression: `(window.asked ??= (report("asked", "wait"), 1)) && false`, Timeout: 30 * time.Second}))
		}()
		c.await("asked", "wait")
		cancel()
		select {
		case err := <-done:
			if err == nil || !errors.Is(err, context.Canceled) {
				c.Errorf("error %v, want one that is context.Canceled", err)
			}
		case <-time.After(3 * time.Second):
			c.Fatal("WaitFor continued for 3 s after its context was canceled")
		}
		c.wantValue("document.title", "Wait")
	})
}
