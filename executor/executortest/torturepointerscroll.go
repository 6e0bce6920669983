package executortest

import (
	"fmt"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

func (s *suite) tortureScroll(t *testing.T) {
	const page = "scrollends.html"
	at := func(v float64) *float64 { return &v }
	// do scrolls and checks that what it tells of where it ended, "x y" and of which ends, is so in the page.
	do := func(c *scene, id string, o executor.ScrollOptions, want string) {
		c.Helper()
		res, err := c.exec.Scroll(c.ctx, c.tab, o)
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
		c.wantValue(`(({ scrollLeft: x, scrollTop: y }) => Math.round(x) + " " + Math.round(y))(`+id+`)`, fmt.Sprint(res.X, " ", res.Y))
	}
	for _, p := range []struct {
		name, id string
		o        executor.ScrollOptions
		want     string
	}{
		{"past the ends ends there", "box", executor.ScrollOptions{Y: at(-50), DeltaX: 9999}, "200 0 top"},
		{"far past the ends ends there", "box", executor.ScrollOptions{X: at(1e300), Y: at(1e300)}, "200 300 bottom"},
		{"far before the ends ends there", "box", executor.ScrollOptions{DeltaX: -1e300, DeltaY: -1e300}, "0 0 top"},
		{"to x and y at once", "box", executor.ScrollOptions{X: at(30), Y: at(40)}, "30 40"},
		{"to an end, by both", "box", executor.ScrollOptions{DeltaX: 9999, DeltaY: 9999}, "200 300 bottom"},
		{"sideways only", "wide", executor.ScrollOptions{DeltaX: 120}, "120 0 top bottom"},
		{"down, from one that scrolls sideways only: what it is in", "box", executor.ScrollOptions{Target: css("#wide"), DeltaY: 60}, "0 60"},
		{"from right to left", "rtl", executor.ScrollOptions{DeltaX: -70}, "-70 0 top bottom"},
		{"one that scrolls smoothly is there at once", "smooth", executor.ScrollOptions{DeltaY: 150}, "0 150"},
		{"one that snaps", "snaps", executor.ScrollOptions{DeltaY: 190}, "0 200"},
		{"one that begins at its end, up", "chat", executor.ScrollOptions{DeltaY: -50}, "0 -50"},
		{"one that begins at its end, where it is", "chat", executor.ScrollOptions{DeltaY: 50}, "0 0 bottom"},
		{"one that begins at its end, to its top", "chat", executor.ScrollOptions{DeltaY: -9999}, "0 -300 top"},
		{"in a shadow root", "shade", executor.ScrollOptions{DeltaY: 80}, "0 80"},
	} {
		s.page(t, p.name, page, func(c *scene) {
			if p.o.Target.IsZero() {
				p.o.Target = css("#" + p.id)
			}
			do(c, p.id, p.o, p.want)
			c.wantValue("scrollY", "0")
		})
	}
	s.page(t, "a list at its end takes nothing else along", page, func(c *scene) {
		do(c, "contained", executor.ScrollOptions{Target: css("#contained"), DeltaY: 9999}, "0 300 bottom")
		do(c, "contained", executor.ScrollOptions{Target: css("#contained"), DeltaY: 100}, "0 300 bottom")
		c.wantValue("scrollY", "0")
	})
	s.page(t, "a list that loads more as its end is near", page, func(c *scene) {
		target := css("#more")
		do(c, "more", executor.ScrollOptions{Target: target, DeltaY: 9999}, "0 400")
		c.await("loaded", "1")
		do(c, "more", executor.ScrollOptions{Target: target, DeltaY: 9999}, "0 900")
		c.await("loaded", "2")
		c.wantIn(c.snap(nil), "Row 11")
	})
	s.page(t, "a list that keeps a few of its rows only", page, func(c *scene) {
		do(c, "few", executor.ScrollOptions{Target: css("#few"), Y: at(50_000)}, "0 50000")
		c.wantIn(c.snap(nil), "Line 1000")
		c.clicked(css("text=Line 1002"), "line-1002")
	})
	s.page(t, "an element in nested scrollers comes into view in all of them", page, func(c *scene) {
		if _, err := c.exec.Scroll(c.ctx, c.tab, executor.ScrollOptions{Target: css("#innermost")}); err != nil {
			c.Fatal(err)
		}
		c.wantValue(`(() => {
			const { left, top, width, height } = innermost.getBoundingClientRect();
			return document.elementFromPoint(left + width / 2, top + height / 2) === innermost;
		})()`, "true")
	})
	s.page(t, "a page whose body scrolls", page+"?body", func(c *scene) {
		do(c, "document.body", executor.ScrollOptions{DeltaY: 130}, "0 130")
		do(c, "document.body", executor.ScrollOptions{Y: at(0)}, "0 0 top")
	})
	s.page(t, "a page that a dialog locks: what the dialog holds", page, func(c *scene) {
		c.eval("lock()", nil)
		do(c, "terms", executor.ScrollOptions{DeltaY: 130}, "0 130")
		c.wantValue("scrollY", "0")
	})
	s.page(t, "a page that scrolls smoothly is there at once", page, func(c *scene) {
		c.eval(`document.documentElement.style.scrollBehavior = "smooth"`, nil)
		do(c, "document.scrollingElement", executor.ScrollOptions{DeltaY: 250}, "0 250")
		do(c, "document.scrollingElement", executor.ScrollOptions{DeltaY: 250}, "0 500")
	})
	s.page(t, "a page with methods of its own for it", page, func(c *scene) {
		c.eval(`window.scrollTo = window.scrollBy = Element.prototype.scrollTo = Element.prototype.scrollBy = () => report("called", "page")`, nil)
		do(c, "document.scrollingElement", executor.ScrollOptions{DeltaY: 250}, "0 250")
		c.wantUntouched("page")
	})
	s.page(t, "the page in a frame of another site, from an element in it", "aimframes.html", func(c *scene) {
		snap := c.snapWith(`"At the bottom of it all"`)
		res, err := c.exec.Scroll(c.ctx, c.tab, executor.ScrollOptions{Target: byRef(c.refIn(snap, "button", "At the bottom of it all")), DeltaY: 120})
		if err != nil || res.Y != 120 || res.AtTop || res.AtBottom {
			c.Errorf("scrolled to %+v, %v", res, err)
		}
		if after := c.evalString("String(scrollY > 0)"); after != "true" {
			c.Error("the frame itself was not brought into view")
		}
	})
}
