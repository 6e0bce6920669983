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
		{"a quiet page keeps nobody waiting", ""},
		{"nor does an animation", `mover.className = "turns"`},
		{"nor a script that moves something in every frame", `requestAnimationFrame(function f(t) { mover.style.translate = t % 90 + "px"; requestAnimationFrame(f); })`},
		{"nor a clock", `setInterval(() => { mover.dataset.time = Date.now(); }, 30)`},
	} {
		s.page(t, p[0], page, func(c *scene) {
			if p[1] != "" {
				c.eval(p[1]+"; 0", nil)
			}
			c.snap(nil)
			c.quick(css("#nothing"), 100*time.Millisecond)
		})
	}
	for _, p := range [][3]string{
		{"what a click has fetched is told", "fetches", "Fetched"},
		{"what follows by timers and frames is told", "later", "By a timer, then a frame, then another timer"},
		{"what follows by promises and messages is told", "soon", "By a message"},
		{"what a frame shows is told", "framed", "In the frame"},
	} {
		s.page(t, p[0], page, func(c *scene) {
			c.snap(nil)
			c.wantIn(c.click(css("#"+p[1]), nil).Diff, p[2])
		})
	}
	s.page(t, "what a click has fetched and then asked for more is told, with the click or after it", page, func(c *scene) {
		c.snap(nil)
		if a := c.click(css("#fetchesTwice"), nil); !strings.Contains(a.Diff, "Fetched twice") {
			// Nothing tells how long a page thinks about an answer.
			if _, err := c.exec.WaitFor(c.ctx, c.tab, executor.WaitCondition{Text: "Fetched twice"}); err != nil {
				c.Fatal(err)
			}
			c.wantIn(c.snap(&executor.SnapshotOptions{Diff: true}), "Fetched twice")
		}
	})
	s.page(t, "a click that makes a page as deep as scripts go is told", page, func(c *scene) {
		c.snap(nil)
		if a := c.clicked(css("#nests"), "nests"); a.Diff == "" || a.Note != "" {
			c.Errorf("the click tells %+v", a.Changes)
		}
	})
	asks := executor.GateFunc(func(_ context.Context, a executor.Access) error {
		if a.Op == executor.OpRead && strings.Contains(a.URL, "second.html") {
			return executor.Errorf(executor.ErrConsentRequired, "Wait.", "the user is asked")
		}
		return nil
	})
	s.pageWith(t, "a click that leads to a page which the user is still asked about is no failure", page, executor.SessionOptions{Gate: asks}, func(c *scene) {
		c.eval("nothing.onclick = () => { location.href = 'second.html' }; 0", nil)
		c.wantIn(c.click(css("#nothing"), nil).Note, "the page could not be read", "the user is asked")
	})
	s.page(t, "what is not answered in half a second is counted, and told of with the next action", page, func(c *scene) {
		c.snap(nil)
		start := time.Now()
		a := c.click(css("#waits"), nil)
		took := time.Since(start)
		if a.Pending != 1 || took < 400*time.Millisecond || took > 4*time.Second {
			c.Errorf("%d requests are pending after %v, want 1 after half a second", a.Pending, took)
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
		{"a page that asks its server for ever holds up nothing for long", `poll()`},
		{"nor does one that changes for ever", `requestAnimationFrame(function f(t) { mover.textContent = t; requestAnimationFrame(f); })`},
	} {
		s.page(t, p[0], page, func(c *scene) {
			c.eval(p[1]+"; 0", nil)
			c.quick(css("#nothing"), 900*time.Millisecond)
		})
	}
}
