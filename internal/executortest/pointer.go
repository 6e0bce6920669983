package executortest

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

func (s *suite) hover(t *testing.T) {
	s.page(t, "hover enters and persists", "scroll.html", func(c *testCase) {
		c.must(c.page().Hover(c.ctx, css("#bait"), nil))
		if !c.await("mouseenter", "bait").Trusted {
			c.Error("mouseenter was not trusted")
		}
		c.wantValue("bait.matches(':hover')", "true")
	})
	s.page(t, "ref", "click.html", func(c *testCase) {
		c.must(c.page().Hover(c.ctx, byRef(c.ref("button", "Save order")), nil))
		c.wantValue("document.querySelector('#save').matches(':hover')", "true")
	})
	s.page(t, "covered", "scroll.html", func(c *testCase) {
		_, err := c.page().Hover(c.ctx, css("#covered"), &executor.ActionOptions{Timeout: neverTimeout})
		c.wantCode(err, executor.ErrNotActionable, "covered", "Lid")
		c.wantUntouched("covered")
	})
}

func (s *suite) scroll(t *testing.T) {
	number := func(v float64) *float64 { return &v }
	do := func(c *testCase, opts executor.ScrollOptions) *executor.ScrollResult {
		c.Helper()
		res, err := c.page().Scroll(c.ctx, opts)
		if err != nil {
			c.Fatalf("scroll %+v: %v", opts, err)
		}
		return res
	}
	s.page(t, "to", "scroll.html", func(c *testCase) {
		res := do(c, executor.ScrollOptions{Y: number(500)})
		c.await("scroll", "page")
		c.wantValue("Math.round(scrollY)", "500")
		if !res.OK || res.Y != 500 || res.AtTop || res.AtBottom {
			c.Errorf("scrolled to %+v", *res)
		}
	})
	s.page(t, "by", "scroll.html", func(c *testCase) {
		do(c, executor.ScrollOptions{DeltaY: 300})
		res := do(c, executor.ScrollOptions{DeltaY: 200})
		c.wantValue("Math.round(scrollY)", "500")
		if res.Y != 500 {
			c.Errorf("scrolled to %+v", *res)
		}
		if res = do(c, executor.ScrollOptions{DeltaY: -900}); res.Y != 0 || !res.AtTop || res.AtBottom {
			c.Errorf("scrolled up to %+v", *res)
		}
	})
	s.page(t, "to the bottom", "scroll.html", func(c *testCase) {
		res := do(c, executor.ScrollOptions{DeltaY: 100_000})
		if !res.AtBottom || res.AtTop {
			c.Errorf("scrolled to %+v", *res)
		}
		c.wantValue("end.getBoundingClientRect().bottom <= innerHeight", "true")
	})
	s.page(t, "target into view", "scroll.html", func(c *testCase) {
		res := do(c, executor.ScrollOptions{Target: css("#end")})
		c.wantValue("end.getBoundingClientRect().bottom <= innerHeight", "true")
		if res.Y == 0 {
			c.Errorf("scrolled to %+v", *res)
		}
	})
	s.page(t, "a scroller", "scroll.html", func(c *testCase) {
		res := do(c, executor.ScrollOptions{Target: css("#box"), DeltaY: 150})
		c.await("scroll", "box")
		c.wantValue("Math.round(box.scrollTop)", "150")
		c.wantValue("Math.round(scrollY)", "0")
		if res.Y != 150 {
			c.Errorf("scrolled to %+v", *res)
		}
		if res = do(c, executor.ScrollOptions{Target: css("#box"), Y: number(99_999)}); !res.AtBottom {
			c.Errorf("scrolled to %+v", *res)
		}
		c.wantValue("Math.round(scrollY)", "0")
	})
	s.page(t, "no such target", "scroll.html", func(c *testCase) {
		_, err := c.page().Scroll(c.ctx, executor.ScrollOptions{Target: css("#nosuch")})
		c.wantCode(err, executor.ErrSelectorNotFound)
	})
}
