package executortest

import (
	"errors"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// clicked clicks the element with an id and checks that it received a trusted click.
func (c *testCase) clicked(target executor.Target, id string) *executor.Action {
	c.Helper()
	a := c.click(target, nil)
	if !c.await("click", id).Trusted {
		c.Errorf("the click on #%s was not trusted", id)
	}
	return a
}

// clicks adds a case for each pair of a case name and the id of a clickable element of file.
func (s *suite) clicks(t *testing.T, file string, pairs ...[2]string) {
	for _, p := range pairs {
		s.page(t, p[0], file, func(c *testCase) { c.clicked(css("#"+p[1]), p[1]) })
	}
}

func (s *suite) actionability(t *testing.T) {
	s.clicks(t, "actionability.html", [][2]string{
		{"nested in three scrollers", "deep"},
		{"in a carousel with scroll snapping", "snapped"},
		{"with smooth scrolling", "smooth"},
		{"at the left end of a right-to-left scroller", "left"},
		{"in scrollers with overscroll-behavior: contain", "contained"},
		{"in a box with overflow: hidden", "hiddenoverflow"},
		{"in a reversed scroller", "reversed"},
		{"in content with content-visibility: auto", "skipped"},
		{"larger than the viewport", "huge"},
	}...)
	s.page(t, "double click in content with content-visibility: auto", "actionability.html", func(c *testCase) {
		// Content may be laid out between the two clicks, so the first click waits for the layout
		// that scrolling causes.
		c.click(css("#skipped"), &executor.ClickOptions{Count: 2})
		c.await("click", "skipped")
	})
	s.clicks(t, "actionability-bars.html", [][2]string{
		{"not under a sticky header that covers half of the viewport", "between"},
		{"in a fixed bar", "fixed"},
		{"not under a table's sticky header and column", "cell9-4"},
	}...)
	s.page(t, "scrolling up, under the same sticky bars", "actionability-bars.html", func(c *testCase) {
		for _, id := range []string{"below", "between", "cell19-7", "cell0-1", "below"} {
			c.clicked(css("#"+id), id)
		}
	})
	s.clicks(t, "actionability-zoom.html", [][2]string{
		{"far outside the viewport on a zoomed right-to-left page", "far"},
		{"on a zoomed page", "near"},
	}...)
	s.page(t, "on a page pinch-zoomed to 200 %", "actionability-zoom.html", func(c *testCase) {
		c.must(c.page().CDP(c.ctx, "Emulation.setPageScaleFactor", map[string]any{"pageScaleFactor": 2}))
		c.clicked(css("#near"), "near")
		c.clicked(css("#far"), "far")
		c.clicked(css("#near"), "near")
	})
	s.page(t, "virtualized list", "actionability-list.html", func(c *testCase) {
		c.clicked(css("#row21"), "row21")
		c.clicked(css("text=Row 40"), "row40")
	})
	s.page(t, "virtualized row replaced by scrolling, by ref", "actionability-list.html", func(c *testCase) {
		ref := c.ref("button", "Row 23")
		_, err := c.page().Click(c.ctx, byRef(ref), nil)
		c.wantCode(err, executor.ErrRefExpired, string(ref))
		if offered := candidate(err, "button", "Row 23"); offered == "" {
			c.Errorf("the replacing row is not offered: %v", err)
		} else {
			c.clicked(byRef(offered), "row23")
		}
	})
	s.page(t, "permanently outside the page", "actionability-bars.html", func(c *testCase) {
		c.eval(`document.body.insertAdjacentHTML("beforeend", '<button id=off style="position: fixed; left: -500px">Off</button>')`, nil)
		c.blocked("off", "Off", "view")
	})
}

func (s *suite) actionabilityShapes(t *testing.T) {
	s.clicks(t, "actionability-shapes.html", [][2]string{
		{"link that wraps over two lines", "wrapped"},
		{"link around a block element", "around"},
		{"link that spans two columns", "columns"},
		{"a ring", "ring"},
		{"an L", "ell"},
		{"rotated SVG shape", "turnedrect"},
		{"thin SVG line", "line"},
		{"SVG arc", "arc"},
		{"rectangular image map area", "rect"},
		{"circular image map area", "circle"},
		{"triangular image map area", "poly"},
		{"zero size with overflowing content", "empty"},
		{"zero height with floating content", "collapsed"},
		{"display: contents", "contents"},
		{"under a child with pointer-events: none", "through"},
		{"pointer-events: none except for a child", "passes"},
		{"covered except for a corner", "corner"},
		{"covered except for its ends", "middle"},
		{"two pixels wide", "dot"},
		{"rotated in 3D", "turned"},
		{"scaled and rotated", "zoomed"},
		{"vertical writing mode", "vertical"},
		{"ruby", "ruby"},
		{"largely clipped", "clipped"},
		{"bidirectional text", "bidi"},
	}...)
}

// candidate returns the ref that an error offers for a role and name, or "".
func candidate(err error, role, name string) executor.Ref {
	var e *executor.Error
	if errors.As(err, &e) {
		for _, c := range e.Candidates {
			if c.Role == role && c.Name == name {
				return c.Ref
			}
		}
	}
	return ""
}
