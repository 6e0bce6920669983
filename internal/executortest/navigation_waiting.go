package executortest

import (
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

func (s *suite) navigationWaiting(t *testing.T) {
	frames := func(name string, f func(c *testCase)) {
		s.page(t, name, "navigation-wait.html", func(c *testCase) {
			for range 2 {
				c.await("load", "inner")
			}
			f(c)
		})
	}
	notYet := func(c *testCase, cond executor.WaitCondition) {
		c.Helper()
		cond.Timeout = 150 * time.Millisecond
		res, err := c.page().WaitFor(c.ctx, cond)
		if err != nil || res.Matched {
			c.Errorf("%+v: %+v, %v, want it not to be met", cond, res, err)
		}
	}
	for kind, frame := range sorted(map[string]string{"same-site": "near", "cross-site": "far"}) {
		frames("text appears in a "+kind+" frame", func(c *testCase) {
			c.eval("soon("+frame+", 'add')", nil)
			c.met(executor.WaitCondition{Text: "Fresh  words"})
		})
	}
	frames("textGone: no frame shows the text", func(c *testCase) {
		c.eval("soon(far, 'remove')", nil)
		notYet(c, executor.WaitCondition{TextGone: "old words"})
		c.eval("soon(near, 'hide')", nil)
		c.met(executor.WaitCondition{TextGone: "old words"})
	})
	frames("element appears in a frame, with a working ref", func(c *testCase) {
		notYet(c, executor.WaitCondition{Selector: "#fresh"})
		c.eval("soon(near, 'add')", nil)
		res := c.met(executor.WaitCondition{Selector: "#fresh"})
		if _, err := c.page().Hover(c.ctx, byRef(res.Ref), nil); err != nil {
			c.Error(err)
		}
	})
	for _, what := range []string{"remove", "hide", "leave"} {
		frames("gone: element of a frame, "+what, func(c *testCase) {
			ref := c.refIn(c.snap(&executor.SnapshotOptions{Target: css("#near")}), "button", "Inner")
			notYet(c, executor.WaitCondition{Gone: string(ref)})
			c.eval("soon(near, '"+what+"')", nil)
			c.met(executor.WaitCondition{Gone: string(ref)})
		})
	}
	frames("gone: the frame is removed", func(c *testCase) {
		c.eval("setTimeout(() => { near.remove(); far.remove() }, 150); 0", nil)
		c.met(executor.WaitCondition{TextGone: "old words", Gone: "iframe"})
	})
	frames("frame navigates during the wait", func(c *testCase) {
		c.eval("soon(far, 'leave')", nil)
		c.met(executor.WaitCondition{Text: "the second page"})
	})
	s.page(t, "wait_for timeout reported, also across navigation", "navigation.html", func(c *testCase) {
		c.eval("setTimeout(() => location.assign('second.html'), 100); 0", nil)
		res, err := c.page().WaitFor(c.ctx, executor.WaitCondition{Text: "never", Timeout: 400 * time.Millisecond})
		if err != nil || res.Matched {
			c.Errorf("%+v, %v", res, err)
		}
		c.met(executor.WaitCondition{URL: "*second.html", Gone: "#where", TextGone: "at the start"})
		notYet(c, executor.WaitCondition{Text: "never"})
		res, err = c.page().WaitFor(c.ctx, executor.WaitCondition{Text: "never", Timeout: time.Nanosecond})
		if err != nil || res.Matched {
			c.Errorf("with no time: %+v, %v", res, err)
		}
	})
	s.page(t, "wait_for on a hung page: reported", "navigation-spin.html", func(c *testCase) {
		c.spins()
		_, err := c.page().WaitFor(c.ctx, executor.WaitCondition{Text: "never", Timeout: timing.Current().HungPage})
		c.wantCode(err, executor.ErrTimeout, "respond")
	})
}
