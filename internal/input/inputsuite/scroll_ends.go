package inputsuite

import (
	"fmt"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

func scrollEnds(s *suite.Runner, t *testing.T) {
	const page = "scrollends.html"
	at := func(v float64) *float64 { return &v }
	// do scrolls and checks that the reported position, "x y" and the ends reached, matches the
	// page.
	do := func(c *suite.Case, id string, o executor.ScrollOptions, want string) {
		c.Helper()
		res, err := c.Page().Scroll(c.Ctx, &o)
		if err != nil {
			c.Fatalf("scroll %+v: %v", o, err)
		}
		got := fmt.Sprint(res.X, " ", res.Y)
		if res.AtTop {
			got += " top"
		}
		if res.AtBottom {
			got += " bottom"
		}
		if got != want {
			c.Errorf("scroll %+v ended at %q, want %q", o, got, want)
		}
		c.WantValue(`(({ scrollLeft: x, scrollTop: y }) => Math.round(x) + " " + Math.round(y))(`+id+`)`, fmt.Sprint(res.X, " ", res.Y))
	}
	for _, p := range []struct {
		name, id string
		o        executor.ScrollOptions
		want     string
	}{
		{"beyond an end", "box", executor.ScrollOptions{Y: at(-50), DeltaX: 9999}, "200 0 top"},
		{"far beyond the end", "box", executor.ScrollOptions{X: at(1e300), Y: at(1e300)}, "200 300 bottom"},
		{"far before the start", "box", executor.ScrollOptions{DeltaX: -1e300, DeltaY: -1e300}, "0 0 top"},
		{"both axes at the same time", "box", executor.ScrollOptions{X: at(30), Y: at(40)}, "30 40"},
		{"to an end of both axes", "box", executor.ScrollOptions{DeltaX: 9999, DeltaY: 9999}, "200 300 bottom"},
		{"sideways only", "wide", executor.ScrollOptions{DeltaX: 120}, "120 0 top bottom"},
		{"vertical scroll in a horizontal scroller scrolls its container", "box", executor.ScrollOptions{Target: suite.Selector("#wide"), DeltaY: 60}, "0 60"},
		{"right-to-left scroller", "rtl", executor.ScrollOptions{DeltaX: -70}, "-70 0 top bottom"},
		{"smooth scroller ends immediately", "smooth", executor.ScrollOptions{DeltaY: 150}, "0 150"},
		{"scroll snapping", "snaps", executor.ScrollOptions{DeltaY: 190}, "0 200"},
		{"reversed scroller, up", "chat", executor.ScrollOptions{DeltaY: -50}, "0 -50"},
		{"reversed scroller, unchanged", "chat", executor.ScrollOptions{DeltaY: 50}, "0 0 bottom"},
		{"reversed scroller, to its top", "chat", executor.ScrollOptions{DeltaY: -9999}, "0 -300 top"},
		{"in a shadow root", "shade", executor.ScrollOptions{DeltaY: 80}, "0 80"},
	} {
		s.Page(t, p.name, page, func(c *suite.Case) {
			if p.o.Target.IsZero() {
				p.o.Target = suite.Selector("#" + p.id)
			}
			do(c, p.id, p.o, p.want)
			c.WantValue("scrollY", "0")
		})
	}
	s.Page(t, "scroll at the end does not chain to the container", page, func(c *suite.Case) {
		do(c, "contained", executor.ScrollOptions{Target: suite.Selector("#contained"), DeltaY: 9999}, "0 300 bottom")
		do(c, "contained", executor.ScrollOptions{Target: suite.Selector("#contained"), DeltaY: 100}, "0 300 bottom")
		c.WantValue("scrollY", "0")
	})
	s.Page(t, "infinite list loads more items", page, func(c *suite.Case) {
		target := suite.Selector("#more")
		do(c, "more", executor.ScrollOptions{Target: target, DeltaY: 9999}, "0 400")
		c.Await("loaded", "1")
		do(c, "more", executor.ScrollOptions{Target: target, DeltaY: 9999}, "0 900")
		c.Await("loaded", "2")
		c.WantIn(c.Snap(nil), "Row 11")
	})
	s.Page(t, "virtualized list", page, func(c *suite.Case) {
		do(c, "few", executor.ScrollOptions{Target: suite.Selector("#few"), Y: at(50_000)}, "0 50000")
		c.WantIn(c.Snap(nil), "Line 1000")
		c.Clicked(suite.Selector("text=Line 1002"), "line-1002")
	})
	s.Page(t, "element in nested scrollers is scrolled into view", page, func(c *suite.Case) {
		c.Must(c.Page().Scroll(c.Ctx, &executor.ScrollOptions{Target: suite.Selector("#innermost")}))
		c.WantValue(`(() => {
			const { left, top, width, height } = innermost.getBoundingClientRect();
			return document.elementFromPoint(left + width / 2, top + height / 2) === innermost;
		})()`, "true")
	})
	s.Page(t, "body is the scroller", page+"?body", func(c *suite.Case) {
		do(c, "document.body", executor.ScrollOptions{DeltaY: 130}, "0 130")
		do(c, "document.body", executor.ScrollOptions{Y: at(0)}, "0 0 top")
	})
	s.Page(t, "page locked by a dialog: dialog content scrolls", page, func(c *suite.Case) {
		c.Eval("lock()", nil)
		do(c, "terms", executor.ScrollOptions{DeltaY: 130}, "0 130")
		c.WantValue("scrollY", "0")
	})
	s.Page(t, "smooth-scrolling page ends immediately", page, func(c *suite.Case) {
		c.Eval(`document.documentElement.style.scrollBehavior = "smooth"`, nil)
		do(c, "document.scrollingElement", executor.ScrollOptions{DeltaY: 250}, "0 250")
		do(c, "document.scrollingElement", executor.ScrollOptions{DeltaY: 250}, "0 500")
	})
	s.Page(t, "page overrides scroll methods", page, func(c *suite.Case) {
		c.Eval(`window.scrollTo = window.scrollBy = Element.prototype.scrollTo = Element.prototype.scrollBy = () => report("called", "page")`, nil)
		do(c, "document.scrollingElement", executor.ScrollOptions{DeltaY: 250}, "0 250")
		c.WantUntouched("page")
	})
	s.Page(t, "page without a root element", page, func(c *suite.Case) {
		c.Eval("document.documentElement.remove()", nil)
		res, err := c.Page().Scroll(c.Ctx, &executor.ScrollOptions{DeltaY: 250})
		if err != nil || res.X != 0 || res.Y != 0 || !res.AtTop || !res.AtBottom {
			c.Errorf("scrolled to %+v, %v", res, err)
		}
	})
	s.Page(t, "cross-site frame's page, from an element in it", "actionability-frames.html", func(c *suite.Case) {
		snap := c.SnapWith(`"At the bottom of it all"`)
		res, err := c.Page().Scroll(c.Ctx, &executor.ScrollOptions{Target: suite.ByRef(c.RefIn(snap, "button", "At the bottom of it all")), DeltaY: 120})
		if err != nil || res.Y != 120 || res.AtTop || res.AtBottom {
			c.Errorf("scrolled to %+v, %v", res, err)
		}
		if after := c.EvalString("String(scrollY > 0)"); after != "true" {
			c.Error("the frame itself was not brought into view")
		}
	})
}
