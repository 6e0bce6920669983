package inputsuite

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

func hover(s *suite.Runner, t *testing.T) {
	s.Page(t, "hover enters and persists", "scroll.html", func(c *suite.Case) {
		c.Must(c.Page().Hover(c.Ctx, suite.Selector("#bait"), nil))
		if !c.Await("mouseenter", "bait").Trusted {
			c.Error("mouseenter was not trusted")
		}
		c.WantValue("bait.matches(':hover')", "true")
	})
	s.Page(t, "ref", "click.html", func(c *suite.Case) {
		c.Must(c.Page().Hover(c.Ctx, suite.ByRef(c.Ref("button", "Save order")), nil))
		c.WantValue("document.querySelector('#save').matches(':hover')", "true")
	})
	s.Page(t, "covered", "scroll.html", func(c *suite.Case) {
		_, err := c.Page().Hover(c.Ctx, suite.Selector("#covered"), &executor.ActionOptions{Timeout: suite.NeverTimeout})
		c.WantCode(err, executor.ErrNotActionable, "covered", "Lid")
		c.WantUntouched("covered")
	})
}

func scroll(s *suite.Runner, t *testing.T) {
	number := func(v float64) *float64 { return &v }
	do := func(c *suite.Case, opts executor.ScrollOptions) *executor.ScrollResult {
		c.Helper()
		res, err := c.Page().Scroll(c.Ctx, &opts)
		if err != nil {
			c.Fatalf("scroll %+v: %v", opts, err)
		}
		return res
	}
	s.Page(t, "to", "scroll.html", func(c *suite.Case) {
		res := do(c, executor.ScrollOptions{Y: number(500)})
		c.Await("scroll", "page")
		c.WantValue("Math.round(scrollY)", "500")
		if !res.OK || res.Y != 500 || res.AtTop || res.AtBottom {
			c.Errorf("scrolled to %+v", *res)
		}
	})
	s.Page(t, "by", "scroll.html", func(c *suite.Case) {
		do(c, executor.ScrollOptions{DeltaY: 300})
		res := do(c, executor.ScrollOptions{DeltaY: 200})
		c.WantValue("Math.round(scrollY)", "500")
		if res.Y != 500 {
			c.Errorf("scrolled to %+v", *res)
		}
		if res = do(c, executor.ScrollOptions{DeltaY: -900}); res.Y != 0 || !res.AtTop || res.AtBottom {
			c.Errorf("scrolled up to %+v", *res)
		}
	})
	s.Page(t, "to the bottom", "scroll.html", func(c *suite.Case) {
		res := do(c, executor.ScrollOptions{DeltaY: 100_000})
		if !res.AtBottom || res.AtTop {
			c.Errorf("scrolled to %+v", *res)
		}
		c.WantValue("end.getBoundingClientRect().bottom <= innerHeight", "true")
	})
	s.Page(t, "target into view", "scroll.html", func(c *suite.Case) {
		res := do(c, executor.ScrollOptions{Target: suite.Selector("#end")})
		c.WantValue("end.getBoundingClientRect().bottom <= innerHeight", "true")
		if res.Y == 0 {
			c.Errorf("scrolled to %+v", *res)
		}
	})
	s.Page(t, "a scroller", "scroll.html", func(c *suite.Case) {
		res := do(c, executor.ScrollOptions{Target: suite.Selector("#box"), DeltaY: 150})
		c.Await("scroll", "box")
		c.WantValue("Math.round(box.scrollTop)", "150")
		c.WantValue("Math.round(scrollY)", "0")
		if res.Y != 150 {
			c.Errorf("scrolled to %+v", *res)
		}
		if res = do(c, executor.ScrollOptions{Target: suite.Selector("#box"), Y: number(99_999)}); !res.AtBottom {
			c.Errorf("scrolled to %+v", *res)
		}
		c.WantValue("Math.round(scrollY)", "0")
	})
	s.Page(t, "no such target", "scroll.html", func(c *suite.Case) {
		_, err := c.Page().Scroll(c.Ctx, nil)
		c.WantCode(err, executor.ErrBadArgs)
		_, err = c.Page().Scroll(c.Ctx, &executor.ScrollOptions{Target: suite.Selector("#nosuch")})
		c.WantCode(err, executor.ErrSelectorNotFound)
	})
}
