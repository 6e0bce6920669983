package executortest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

func (s *suite) settle(t *testing.T) {
	const page = "settle.html"
	for _, p := range [][2]string{
		{"idle page settles immediately", ""},
		{"CSS animation does not delay settling", `mover.className = "turns"`},
		{"script animation does not delay settling", `requestAnimationFrame(function f(t) { mover.style.translate = t % 90 + "px"; requestAnimationFrame(f); })`},
		{"clock does not delay settling", `setInterval(() => { mover.dataset.time = Date.now(); }, 30)`},
	} {
		s.long().page(t, p[0], page, func(c *testCase) {
			if p[1] != "" {
				c.eval(p[1]+"; 0", nil)
			}
			c.snap(nil)
			c.quick(css("#nothing"), 100*time.Millisecond)
		})
	}
	for _, p := range [][3]string{
		{"content fetched after click is in the diff", "fetches", "Fetched"},
		{"content from timers and animation frames is in the diff", "later", "By a timer, then a frame, then another timer"},
		{"content from promises and messages is in the diff", "soon", "By a message"},
		{"content of frames is in the diff", "framed", "In the frame"},
	} {
		s.page(t, p[0], page, func(c *testCase) {
			c.snap(nil)
			c.wantIn(c.click(css("#"+p[1]), nil).Diff, p[2])
		})
	}
	s.page(t, "chained fetches after a click are reported, then or later", page, func(c *testCase) {
		c.snap(nil)
		if a := c.click(css("#fetchesTwice"), nil); !strings.Contains(a.Diff, "Fetched twice") {
			// Nothing indicates that the page will start another request after the response.
			c.met(executor.WaitCondition{Text: "Fetched twice"})
			c.wantIn(c.snap(&executor.SnapshotOptions{Diff: true}), "Fetched twice")
		}
	})
	s.page(t, "click that creates a deeply nested page: reported", page, func(c *testCase) {
		c.snap(nil)
		if a := c.clicked(css("#nests"), "nests"); a.Diff == "" || a.Note != "" {
			c.Errorf("the click reports %+v", a.Changes)
		}
	})
	asks := executor.GateFunc(func(_ context.Context, a executor.Access) error {
		if a.Op == executor.OpRead && strings.Contains(a.URL, "second.html") {
			return executor.Errorf(executor.ErrConsentRequired, "Wait.", "the user is asked")
		}
		return nil
	})
	s.pageWith(t, "click that navigates to a page with a pending user decision succeeds", page, executor.SessionOptions{Gate: asks}, func(c *testCase) {
		c.eval("nothing.onclick = () => { location.href = 'second.html' }; 0", nil)
		c.wantIn(c.click(css("#nothing"), nil).Note, "the page could not be read", "the user is asked")
	})
	s.page(t, "request still pending: counted, reported with next action", page, func(c *testCase) {
		c.snap(nil)
		a := c.click(css("#waits"), nil)
		if a.Pending != 1 {
			c.Errorf("%d requests are pending, want 1", a.Pending)
		}
		c.wantIn(a.Diff, "Asked")
		c.wantNotIn(a.Diff, "Answered")
		c.release("slow")
		c.await("answered", "slow")
		a = c.click(css("#nothing"), nil)
		c.wantIn(a.Diff, "Answered")
		if a.Pending != 0 {
			c.Errorf("%d requests are pending after the answer", a.Pending)
		}
	})
	for _, p := range [][2]string{
		{"polling page does not delay settling", `poll()`},
		{"continuously changing page does not delay settling", `requestAnimationFrame(function f(t) { mover.textContent = t; requestAnimationFrame(f); })`},
	} {
		s.long().page(t, p[0], page, func(c *testCase) {
			c.eval(p[1]+"; 0", nil)
			c.quick(css("#nothing"), 900*time.Millisecond)
		})
	}
}
