package executortest

import (
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

func (s *suite) tortureHover(t *testing.T) {
	const page = "hover.html"
	s.page(t, "holds while the page is read, until the pointer goes elsewhere", page, func(c *scene) {
		c.pointAt("#file")
		c.snap(nil)
		if _, err := c.exec.Screenshot(c.ctx, c.tab, nil); err != nil {
			c.Fatal(err)
		}
		if _, err := c.exec.Press(c.ctx, c.tab, "Shift", nil); err != nil {
			c.Fatal(err)
		}
		c.wantValue("file.matches(':hover') + getComputedStyle(fileMenu).display", "trueblock")
		c.pointAt("#tipped")
		c.wantValue("file.matches(':hover') + getComputedStyle(fileMenu).display", "falsenone")
	})
	s.page(t, "a menu in a menu, to the item in it", page, func(c *scene) {
		c.snap(nil)
		c.wantIn(c.pointAt("#file").Diff, "Export")
		c.wantIn(c.pointAt("#export").Diff, "As PDF")
		c.clicked(css("#pdf"), "pdf")
	})
	s.page(t, "a menu that opens a while after, whose item is clicked", page, func(c *scene) {
		c.pointAt("#late")
		c.clicked(css("#lateItem"), "lateItem")
	})
	s.page(t, "a hint that a script shows is in the diff", page, func(c *scene) {
		c.snap(nil)
		c.wantIn(c.pointAt("#tipped").Diff, "tooltip", "Sends it to all")
		c.wantIn(c.pointAt("#file").Diff, "[-]", "Sends it to all")
	})
	s.page(t, "is seen by the page as trusted, of a mouse, in the middle", page, func(c *scene) {
		c.pointAt("#plain")
		c.wantReported("pointerover plain", "pointerenter plain", "mouseover plain", "mouseenter plain")
		c.wantValue("how", "true mouse 0 0")
	})
	s.page(t, "again where the pointer is already", page, func(c *scene) {
		c.pointAt("#plain")
		c.eval("plain.onmousemove = (event) => report('again', 'plain')", nil)
		c.pointAt("#plain")
		c.await("again", "plain")
		c.wantValue("log.filter((r) => r.kind === 'mouseenter').length", "1")
	})
	s.page(t, "on one that is disabled, with what is wrong said", page, func(c *scene) {
		_, err := c.exec.Hover(c.ctx, c.tab, css("#off"), &executor.ActionOptions{Timeout: 500 * time.Millisecond})
		c.wantCode(err, executor.ErrNotActionable, "Off", "disabled")
		c.pointAt("#around") // what is around it can still be pointed at
		c.wantValue("around.matches(':hover')", "true")
	})
	s.page(t, "on one that is covered for good, and for a while", page, func(c *scene) {
		_, err := c.exec.Hover(c.ctx, c.tab, css("#covered"), nil)
		c.wantCode(err, executor.ErrNotActionable, "Covered", "Lid", "[ref=")
		c.wantUntouched("covered")
		c.eval("setTimeout(() => lid.remove(), 200)", nil)
		if _, err := c.exec.Hover(c.ctx, c.tab, css("#covered"), &executor.ActionOptions{Timeout: 10 * time.Second}); err != nil {
			c.Fatal(err)
		}
		c.await("mouseenter", "covered")
	})
	s.page(t, "on one that flees from the pointer", page, func(c *scene) {
		_, err := c.exec.Hover(c.ctx, c.tab, css("#shy"), &executor.ActionOptions{Timeout: time.Second})
		if err != nil {
			c.wantCode(err, executor.ErrNotActionable, "Shy")
		}
		c.await("pointerenter", "shy") // it did come there first
	})
	s.page(t, "in a frame of another site that is to be scrolled to", "aimframes.html", func(c *scene) {
		snap := c.snapWith(`"At the bottom of it all"`)
		if _, err := c.exec.Hover(c.ctx, c.tab, byRef(c.refIn(snap, "button", "At the bottom of it all")), nil); err != nil {
			c.Fatal(err)
		}
		c.await("mouseenter", "bottom")
	})
}

// pointAt hovers over what matches.
func (c *scene) pointAt(selector string) *executor.Action {
	c.Helper()
	a, err := c.exec.Hover(c.ctx, c.tab, css(selector), nil)
	if err != nil {
		c.Fatalf("hover %s: %v", selector, err)
	}
	return a
}
