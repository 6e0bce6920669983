package executortest

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

func (s *suite) hoverMenus(t *testing.T) {
	const page = "hover.html"
	s.page(t, "hover state persists until the pointer moves", page, func(c *testCase) {
		c.pointAt("#file")
		c.snap(nil)
		c.must(c.page().Screenshot(c.ctx, nil))
		c.must(c.page().Press(c.ctx, "Shift", nil))
		c.wantValue("file.matches(':hover') + getComputedStyle(fileMenu).display", "trueblock")
		c.pointAt("#tipped")
		c.wantValue("file.matches(':hover') + getComputedStyle(fileMenu).display", "falsenone")
	})
	s.page(t, "nested menus", page, func(c *testCase) {
		c.snap(nil)
		c.wantIn(c.pointAt("#file").Diff, "Export")
		c.wantIn(c.pointAt("#export").Diff, "As PDF")
		c.clicked(css("#pdf"), "pdf")
	})
	s.page(t, "menu that opens with a delay", page, func(c *testCase) {
		c.pointAt("#late")
		c.clicked(css("#lateItem"), "lateItem")
	})
	s.page(t, "script tooltip is in the diff", page, func(c *testCase) {
		c.snap(nil)
		c.wantIn(c.pointAt("#tipped").Diff, "tooltip", "Sends it to all")
		c.wantIn(c.pointAt("#file").Diff, "[-]", "Sends it to all")
	})
	s.page(t, "events are trusted mouse events at the center", page, func(c *testCase) {
		c.pointAt("#plain")
		c.wantReported("pointerover plain", "pointerenter plain", "mouseover plain", "mouseenter plain")
		c.wantValue("how", "true mouse 0 0")
	})
	s.page(t, "repeated hover at the same point", page, func(c *testCase) {
		c.pointAt("#plain")
		c.eval("plain.onmousemove = (event) => report('again', 'plain')", nil)
		c.pointAt("#plain")
		c.await("again", "plain")
		c.wantValue("log.filter((r) => r.kind === 'mouseenter').length", "1")
	})
	s.page(t, "disabled target: error names the reason", page, func(c *testCase) {
		_, err := c.page().Hover(c.ctx, css("#off"), &executor.ActionOptions{Timeout: neverTimeout})
		c.wantCode(err, executor.ErrNotActionable, "Off", "disabled")
		c.pointAt("#around") // its container can still be hovered
		c.wantValue("around.matches(':hover')", "true")
	})
	s.page(t, "covered target, permanently and temporarily", page, func(c *testCase) {
		_, err := c.page().Hover(c.ctx, css("#covered"), nil)
		c.wantCode(err, executor.ErrNotActionable, "Covered", "Lid", "[ref=")
		c.wantUntouched("covered")
		c.eval("setTimeout(() => lid.remove(), 200)", nil)
		c.pointAt("#covered")
		c.await("mouseenter", "covered")
	})
	s.page(t, "target moves away from the pointer", page, func(c *testCase) {
		_, err := c.page().Hover(c.ctx, css("#shy"), nil)
		if err != nil {
			c.wantCode(err, executor.ErrNotActionable, "Shy")
		}
		c.await("pointerenter", "shy") // the pointer did arrive
	})
	s.page(t, "in a cross-site frame that needs scrolling", "actionability-frames.html", func(c *testCase) {
		snap := c.snapWith(`"At the bottom of it all"`)
		c.must(c.page().Hover(c.ctx, byRef(c.refIn(snap, "button", "At the bottom of it all")), nil))
		c.await("mouseenter", "bottom")
	})
}

// pointAt hovers over the first match of selector and fails the case if that fails.
func (c *testCase) pointAt(selector string) *executor.Action {
	c.Helper()
	a, err := c.page().Hover(c.ctx, css(selector), &executor.ActionOptions{Timeout: await.HangLimit})
	if err != nil {
		c.Fatalf("hover %s: %v", selector, err)
	}
	return a
}
