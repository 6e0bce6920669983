package pagesuite

import (
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

func navigationWaiting(s *suite.Runner, t *testing.T) {
	frames := func(name string, f func(c *suite.Case)) {
		s.Page(t, name, "navigation-wait.html", func(c *suite.Case) {
			for range 2 {
				c.Await("load", "inner")
			}
			f(c)
		})
	}
	notYet := func(c *suite.Case, cond executor.WaitCondition) {
		c.Helper()
		cond.Timeout = 150 * time.Millisecond
		res, err := c.Page().WaitFor(c.Ctx, &cond)
		if err != nil || res.Matched {
			c.Errorf("%+v: %+v, %v, want it not to be met", cond, res, err)
		}
	}
	for kind, frame := range suite.Sorted(map[string]string{"same-site": "near", "cross-site": "far"}) {
		frames("text appears in a "+kind+" frame", func(c *suite.Case) {
			c.Eval("soon("+frame+", 'add')", nil)
			c.Met(executor.WaitCondition{Text: "Fresh  words"})
		})
	}
	frames("textGone: no frame shows the text", func(c *suite.Case) {
		c.Eval("soon(far, 'remove')", nil)
		notYet(c, executor.WaitCondition{TextGone: "old words"})
		c.Eval("soon(near, 'hide')", nil)
		c.Met(executor.WaitCondition{TextGone: "old words"})
	})
	frames("element appears in a frame, with a working ref", func(c *suite.Case) {
		notYet(c, executor.WaitCondition{Visible: suite.Selector("#fresh")})
		c.Eval("soon(near, 'add')", nil)
		res := c.Met(executor.WaitCondition{Visible: suite.Selector("#fresh")})
		if _, err := c.Page().Hover(c.Ctx, suite.ByRef(res.Ref), nil); err != nil {
			c.Error(err)
		}
	})
	for _, what := range []string{"remove", "hide", "leave"} {
		frames("gone: element of a frame, "+what, func(c *suite.Case) {
			ref := c.RefIn(c.Snap(&executor.SnapshotOptions{Target: suite.Selector("#near")}), "button", "Inner")
			notYet(c, executor.WaitCondition{Gone: suite.ByRef(ref)})
			c.Eval("soon(near, '"+what+"')", nil)
			c.Met(executor.WaitCondition{Gone: suite.ByRef(ref)})
		})
	}
	frames("gone: the frame is removed", func(c *suite.Case) {
		c.Eval("setTimeout(() => { near.remove(); far.remove() }, 150); 0", nil)
		c.Met(executor.WaitCondition{TextGone: "old words", Gone: suite.Selector("iframe")})
	})
	frames("frame navigates during the wait", func(c *suite.Case) {
		c.Eval("soon(far, 'leave')", nil)
		c.Met(executor.WaitCondition{Text: "the second page"})
	})
	s.Page(t, "wait_for timeout reported, also across navigation", "navigation.html", func(c *suite.Case) {
		c.Eval("setTimeout(() => location.assign('second.html'), 100); 0", nil)
		res, err := c.Page().WaitFor(c.Ctx, &executor.WaitCondition{Text: "never", Timeout: 400 * time.Millisecond})
		if err != nil || res.Matched {
			c.Errorf("%+v, %v", res, err)
		}
		c.Met(executor.WaitCondition{URL: "*second.html", Gone: suite.Selector("#where"), TextGone: "at the start"})
		notYet(c, executor.WaitCondition{Text: "never"})
		res, err = c.Page().WaitFor(c.Ctx, &executor.WaitCondition{Text: "never", Timeout: time.Nanosecond})
		if err != nil || res.Matched {
			c.Errorf("with no time: %+v, %v", res, err)
		}
	})
	s.Page(t, "wait_for on a hung page: reported", "navigation-spin.html", func(c *suite.Case) {
		spins(c)
		_, err := c.Page().WaitFor(c.Ctx, &executor.WaitCondition{Text: "never", Timeout: timing.Current().HungPage})
		c.WantCode(err, executor.ErrTimeout, "respond")
	})
}
