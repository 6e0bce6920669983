package inputsuite

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

func hoverMenus(s *suite.Runner, t *testing.T) {
	const page = "hover.html"
	s.Page(t, "hover state persists until the pointer moves", page, func(c *suite.Case) {
		c.PointAt("#file")
		c.Snap(nil)
		c.Must(c.Page().Screenshot(c.Ctx, nil))
		c.Must(c.Page().Press(c.Ctx, "Shift", nil))
		c.WantValue("file.matches(':hover') + getComputedStyle(fileMenu).display", "trueblock")
		c.PointAt("#tipped")
		c.WantValue("file.matches(':hover') + getComputedStyle(fileMenu).display", "falsenone")
	})
	s.Page(t, "nested menus", page, func(c *suite.Case) {
		c.Snap(nil)
		c.WantIn(c.PointAt("#file").Diff, "Export")
		c.WantIn(c.PointAt("#export").Diff, "As PDF")
		c.Clicked(suite.Selector("#pdf"), "pdf")
	})
	s.Page(t, "menu that opens with a delay", page, func(c *suite.Case) {
		c.PointAt("#late")
		c.Clicked(suite.Selector("#lateItem"), "lateItem")
	})
	s.Page(t, "script tooltip is in the diff", page, func(c *suite.Case) {
		c.Snap(nil)
		c.WantIn(c.PointAt("#tipped").Diff, "tooltip", "Sends it to all")
		c.WantIn(c.PointAt("#file").Diff, "[-]", "Sends it to all")
	})
	s.Page(t, "events are trusted mouse events at the center", page, func(c *suite.Case) {
		c.PointAt("#plain")
		c.WantReported("pointerover plain", "pointerenter plain", "mouseover plain", "mouseenter plain")
		c.WantValue("how", "true mouse 0 0")
	})
	s.Page(t, "repeated hover at the same point", page, func(c *suite.Case) {
		c.PointAt("#plain")
		c.Eval("plain.onmousemove = (event) => report('again', 'plain')", nil)
		c.PointAt("#plain")
		c.Await("again", "plain")
		c.WantValue("log.filter((r) => r.kind === 'mouseenter').length", "1")
	})
	s.Page(t, "disabled target: error names the reason", page, func(c *suite.Case) {
		_, err := c.Page().Hover(c.Ctx, suite.Selector("#off"), &executor.ActionOptions{Timeout: suite.NeverTimeout})
		c.WantCode(err, executor.ErrNotActionable, "Off", "disabled")
		c.PointAt("#around") // its container can still be hovered
		c.WantValue("around.matches(':hover')", "true")
	})
	s.Page(t, "covered target, permanently and temporarily", page, func(c *suite.Case) {
		_, err := c.Page().Hover(c.Ctx, suite.Selector("#covered"), nil)
		c.WantCode(err, executor.ErrNotActionable, "Covered", "Lid", "[ref=")
		c.WantUntouched("covered")
		c.Eval("setTimeout(() => lid.remove(), 200)", nil)
		c.PointAt("#covered")
		c.Await("mouseenter", "covered")
	})
	s.Page(t, "target moves away from the pointer", page, func(c *suite.Case) {
		_, err := c.Page().Hover(c.Ctx, suite.Selector("#shy"), nil)
		if err != nil {
			c.WantCode(err, executor.ErrNotActionable, "Shy")
		}
		c.Await("pointerenter", "shy") // the pointer did arrive
	})
	s.Page(t, "in a cross-site frame that needs scrolling", "actionability-frames.html", func(c *suite.Case) {
		snap := c.SnapWith(`"At the bottom of it all"`)
		c.Must(c.Page().Hover(c.Ctx, suite.ByRef(c.RefIn(snap, "button", "At the bottom of it all")), nil))
		c.Await("mouseenter", "bottom")
	})
}
