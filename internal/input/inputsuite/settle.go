package inputsuite

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

func settle(s *suite.Runner, t *testing.T) {
	const page = "settle.html"
	for _, p := range [][2]string{
		{"idle page settles immediately", ""},
		{"CSS animation does not delay settling", `mover.className = "turns"`},
		{"script animation does not delay settling", `requestAnimationFrame(function f(t) { mover.style.translate = t % 90 + "px"; requestAnimationFrame(f); })`},
		{"clock does not delay settling", `setInterval(() => { mover.dataset.time = Date.now(); }, 30)`},
	} {
		s.Deep().Page(t, p[0], page, func(c *suite.Case) {
			if p[1] != "" {
				c.Eval(p[1]+"; 0", nil)
			}
			c.Snap(nil)
			suite.Quick(c, suite.Selector("#nothing"), 100*time.Millisecond)
		})
	}
	for _, p := range [][3]string{
		{"content fetched after click is in the diff", "fetches", "Fetched"},
		{"content from timers and animation frames is in the diff", "later", "By a timer, then a frame, then another timer"},
		{"content from promises and messages is in the diff", "soon", "By a message"},
		{"content of frames is in the diff", "framed", "In the frame"},
	} {
		s.Page(t, p[0], page, func(c *suite.Case) {
			c.Snap(nil)
			c.WantIn(c.Click(suite.Selector("#"+p[1]), nil).Diff, p[2])
		})
	}
	s.Page(t, "chained fetches after a click are reported, then or later", page, func(c *suite.Case) {
		c.Snap(nil)
		if a := c.Click(suite.Selector("#fetchesTwice"), nil); !strings.Contains(a.Diff, "Fetched twice") {
			// Nothing indicates that the page will start another request after the response.
			c.Met(executor.WaitCondition{Text: "Fetched twice"})
			c.WantIn(c.Snap(&executor.SnapshotOptions{Diff: true}), "Fetched twice")
		}
	})
	s.Page(t, "click that creates a deeply nested page: reported", page, func(c *suite.Case) {
		c.Snap(nil)
		if a := c.Clicked(suite.Selector("#nests"), "nests"); a.Diff == "" || a.Note != "" {
			c.Errorf("the click reports %+v", a.Changes)
		}
	})
	asks := executor.GateFunc(func(_ context.Context, a executor.Access) error {
		if a.Op == executor.OpRead && strings.Contains(a.URL, "second.html") {
			return executor.Errorf(executor.ErrConsentRequired, "Wait.", "the user is asked")
		}
		return nil
	})
	s.PageWith(t, "click that navigates to a page with a pending user decision succeeds", page, executor.SessionOptions{Gate: asks}, func(c *suite.Case) {
		c.Eval("nothing.onclick = () => { location.href = 'second.html' }; 0", nil)
		c.WantIn(c.Click(suite.Selector("#nothing"), nil).Note, "the page could not be read", "the user is asked")
	})
	s.Page(t, "request still pending: counted, reported with next action", page, func(c *suite.Case) {
		c.Snap(nil)
		a := c.Click(suite.Selector("#waits"), nil)
		if a.Pending != 1 {
			c.Errorf("%d requests are pending, want 1", a.Pending)
		}
		c.WantIn(a.Diff, "Asked")
		c.WantNotIn(a.Diff, "Answered")
		c.Release("slow")
		c.Await("answered", "slow")
		a = c.Click(suite.Selector("#nothing"), nil)
		c.WantIn(a.Diff, "Answered")
		if a.Pending != 0 {
			c.Errorf("%d requests are pending after the answer", a.Pending)
		}
	})
	for _, p := range [][2]string{
		{"polling page does not delay settling", `poll()`},
		{"continuously changing page does not delay settling", `requestAnimationFrame(function f(t) { mover.textContent = t; requestAnimationFrame(f); })`},
	} {
		s.Deep().Page(t, p[0], page, func(c *suite.Case) {
			c.Eval(p[1]+"; 0", nil)
			suite.Quick(c, suite.Selector("#nothing"), 900*time.Millisecond)
		})
	}
}
