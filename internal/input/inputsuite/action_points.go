package inputsuite

import (
	"errors"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

// clicks adds a case for each pair of a case name and the id of a clickable element of file.
func clicks(s *suite.Runner, t *testing.T, file string, pairs ...[2]string) {
	for _, p := range pairs {
		s.Page(t, p[0], file, func(c *suite.Case) { c.Clicked(suite.Selector("#"+p[1]), p[1]) })
	}
}

func actionability(s *suite.Runner, t *testing.T) {
	clicks(s, t, "actionability.html", [][2]string{
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
	s.Page(t, "double click in content with content-visibility: auto", "actionability.html", func(c *suite.Case) {
		// Content may be laid out between the two clicks, so the first click waits for the layout
		// that scrolling causes.
		c.Click(suite.Selector("#skipped"), &executor.ClickOptions{Count: 2})
		c.Await("click", "skipped")
	})
	clicks(s, t, "actionability-bars.html", [][2]string{
		{"not under a sticky header that covers half of the viewport", "between"},
		{"in a fixed bar", "fixed"},
		{"not under a table's sticky header and column", "cell9-4"},
	}...)
	s.Page(t, "scrolling up, under the same sticky bars", "actionability-bars.html", func(c *suite.Case) {
		for _, id := range []string{"below", "between", "cell19-7", "cell0-1", "below"} {
			c.Clicked(suite.Selector("#"+id), id)
		}
	})
	clicks(s, t, "actionability-zoom.html", [][2]string{
		{"far outside the viewport on a zoomed right-to-left page", "far"},
		{"on a zoomed page", "near"},
	}...)
	s.Page(t, "on a page pinch-zoomed to 200 %", "actionability-zoom.html", func(c *suite.Case) {
		c.Must(c.Page().CDP(c.Ctx, "Emulation.setPageScaleFactor", map[string]any{"pageScaleFactor": 2}))
		c.Clicked(suite.Selector("#near"), "near")
		c.Clicked(suite.Selector("#far"), "far")
		c.Clicked(suite.Selector("#near"), "near")
	})
	s.Page(t, "virtualized list", "actionability-list.html", func(c *suite.Case) {
		c.Clicked(suite.Selector("#row21"), "row21")
		c.Clicked(suite.Selector("text=Row 40"), "row40")
	})
	s.Page(t, "virtualized row replaced by scrolling, by ref", "actionability-list.html", func(c *suite.Case) {
		ref := c.Ref("button", "Row 23")
		_, err := c.Page().Click(c.Ctx, suite.ByRef(ref), nil)
		c.WantCode(err, executor.ErrRefExpired, string(ref))
		if offered := candidate(err, "button", "Row 23"); offered == "" {
			c.Errorf("the replacing row is not offered: %v", err)
		} else {
			c.Clicked(suite.ByRef(offered), "row23")
		}
	})
	s.Page(t, "permanently outside the page", "actionability-bars.html", func(c *suite.Case) {
		c.Eval(`document.body.insertAdjacentHTML("beforeend", '<button id=off style="position: fixed; left: -500px">Off</button>')`, nil)
		blocked(c, "off", "Off", "view")
	})
}

func actionabilityShapes(s *suite.Runner, t *testing.T) {
	clicks(s, t, "actionability-shapes.html", [][2]string{
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
