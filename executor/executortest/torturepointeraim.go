package executortest

import (
	"errors"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// clicked clicks the element with an id and makes sure that it got the click
// of a person's kind.
func (c *scene) clicked(target executor.Target, id string) *executor.Action {
	c.Helper()
	a := c.click(target, nil)
	if !c.await("click", id).Trusted {
		c.Errorf("the click on #%s was not trusted", id)
	}
	return a
}

// clicks adds a case for each pair of a name and the id of an element of file
// that takes clicks.
func (s *suite) clicks(t *testing.T, file string, pairs ...[2]string) {
	for _, p := range pairs {
		s.page(t, p[0], file, func(c *scene) { c.clicked(css("#"+p[1]), p[1]) })
	}
}

func (s *suite) aim(t *testing.T) {
	s.clicks(t, "aim.html", [][2]string{
		{"three scrollers deep, down and to the right", "deep"},
		{"in a carousel that snaps", "snapped"},
		{"in a page and a box that scroll smoothly", "smooth"},
		{"at the far left of a scroller from right to left", "left"},
		{"in scrollers that keep their scrolling to themselves", "contained"},
		{"in a box that hides what overflows it", "hiddenoverflow"},
		{"in a scroller that begins at its end", "reversed"},
		{"in content that is not laid out until it is near", "skipped"},
		{"larger than the window", "huge"},
	}...)
	s.page(t, "twice in content that is not laid out until it is near", "aim.html", func(c *scene) {
		// A frame may be drawn between the two, so the first waits for all that coming near lays out.
		c.click(css("#skipped"), &executor.ClickOptions{Count: 2})
		c.await("click", "skipped")
	})
	s.clicks(t, "aimbars.html", [][2]string{
		{"not under a header over half of the window", "between"},
		{"in a fixed bar", "fixed"},
		{"not under the sticky head and column of a table", "cell9-4"},
	}...)
	s.page(t, "up again, under the same bars", "aimbars.html", func(c *scene) {
		for _, id := range []string{"below", "between", "cell19-7", "cell0-1", "below"} {
			c.clicked(css("#"+id), id)
		}
	})
	s.clicks(t, "aimzoom.html", [][2]string{
		{"far off on a zoomed page from right to left", "far"},
		{"on a zoomed page", "near"},
	}...)
	s.page(t, "on a page that was pinched to twice its size", "aimzoom.html", func(c *scene) {
		if _, err := c.exec.CDP(c.ctx, c.tab, "Emulation.setPageScaleFactor", map[string]any{"pageScaleFactor": 2}); err != nil {
			c.Fatal(err)
		}
		c.clicked(css("#near"), "near")
		c.clicked(css("#far"), "far")
		c.clicked(css("#near"), "near")
	})
	s.page(t, "in a list that makes its rows anew when scrolled", "aimlist.html", func(c *scene) {
		c.clicked(css("#row21"), "row21")
		c.clicked(css("text=Row 40"), "row40")
	})
	s.page(t, "a row that scrolling replaced, by ref", "aimlist.html", func(c *scene) {
		ref := c.ref("button", "Row 23")
		_, err := c.exec.Click(c.ctx, c.tab, byRef(ref), nil)
		c.wantCode(err, executor.ErrRefExpired, string(ref))
		if offered := candidate(err, "button", "Row 23"); offered == "" {
			c.Errorf("the row in its place is not offered: %v", err)
		} else {
			c.clicked(byRef(offered), "row23")
		}
	})
	s.page(t, "off the page for good", "aimbars.html", func(c *scene) {
		c.eval(`document.body.insertAdjacentHTML("beforeend", '<button id=off style="position: fixed; left: -500px">Off</button>')`, nil)
		c.blocked("off", "Off", "view")
	})
}

// hopelessTimeout is the timeout of calls that wait for what never comes.
const hopelessTimeout = 20 * time.Second

// early checks that a call with hopelessTimeout gave up long before.
func (c *scene) early(start time.Time) {
	c.Helper()
	if took := time.Since(start); took > hopelessTimeout/2 {
		c.Errorf("it took %v to give up", took)
	}
}

func (s *suite) aimShapes(t *testing.T) {
	s.clicks(t, "aimshapes.html", [][2]string{
		{"a link over two lines", "wrapped"},
		{"a link around a block", "around"},
		{"a link over two columns", "columns"},
		{"a ring", "ring"},
		{"an L", "ell"},
		{"a turned shape in a drawing", "turnedrect"},
		{"a thin line in a drawing", "line"},
		{"an arc in a drawing", "arc"},
		{"a rectangle of an image map", "rect"},
		{"a circle of an image map", "circle"},
		{"a triangle of an image map", "poly"},
		{"no size but something that overflows", "empty"},
		{"no height but something that floats", "collapsed"},
		{"no box of its own", "contents"},
		{"under a child that lets the pointer through", "through"},
		{"lets the pointer through but for a child", "passes"},
		{"all covered but a corner", "corner"},
		{"all covered but its ends", "middle"},
		{"two pixels wide", "dot"},
		{"turned in space", "turned"},
		{"zoomed and turned", "zoomed"},
		{"written from top to bottom", "vertical"},
		{"ruby", "ruby"},
		{"much of it clipped", "clipped"},
		{"of two directions", "bidi"},
	}...)
}

// candidate returns the ref that an error offers for a role and name, "" if
// it offers none.
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
