package executortest

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

func (s *suite) actionabilityFrames(t *testing.T) {
	far := func(name string) func(c *testCase) {
		return func(c *testCase) {
			snap := c.snapWith(`"Far in ` + name + `"`)
			c.clicked(byRef(c.refIn(snap, "button", "Far in "+name)), "far-"+name)
		}
	}
	s.page(t, "four nested cross-site frames, all scrolled", "actionability-frames.html", func(c *testCase) {
		snap := c.snapWith(`"At the bottom of it all"`)
		c.clicked(byRef(c.refIn(snap, "button", "At the bottom of it all")), "bottom")
	})
	s.page(t, "larger than its scroller", "actionability-frames.html", far("long"))
	s.page(t, "cross-site frame with zoom, scale and rotation", "actionability-frames.html", far("zoomed"))
	s.page(t, "frame clipped by its container", "actionability-frames.html", far("cut"))
	s.page(t, "inside an object element", "actionability-frames.html", func(c *testCase) { c.clicked(css("#far-object"), "far-object") })
	s.page(t, "iframe element as the target", "actionability-frames.html", func(c *testCase) {
		c.click(css("#whole"), nil)
		c.await("mousedown", "in whole")
	})
	s.page(t, "iframe element with nested frames as the target", "actionability-frames.html", func(c *testCase) {
		c.snapWith(`"At the bottom of it all"`)
		c.click(css("#deep"), nil)
	})
	s.page(t, "frame with large padding", "actionability-frames.html", func(c *testCase) {
		c.click(css("#padded"), nil)
	})
	s.page(t, "covered in its own and in the parent document", "actionability-frames.html", func(c *testCase) {
		snap := c.snapWith(`"Far in whole"`)
		ref := byRef(c.refIn(snap, "button", "Far in whole"))
		c.eval(`document.body.insertAdjacentHTML("beforeend", '<div id="veil" role="alert" aria-label="Veil" style="position: fixed; inset: 0; background: white"></div>')`, nil)
		_, err := c.page().Click(c.ctx, ref, nil)
		c.wantCode(err, executor.ErrNotActionable, "Far in whole", "covered", "Veil", "[ref=")
		c.eval(`veil.remove(); whole.contentDocument.body.insertAdjacentHTML("beforeend", '<div role="alert" aria-label="Film" style="position: fixed; inset: 0; background: white"></div>')`, nil)
		_, err = c.page().Click(c.ctx, ref, nil)
		c.wantCode(err, executor.ErrNotActionable, "Far in whole", "covered", "Film", "[ref=")
	})
	s.page(t, "moving frame", "actionability-frames.html", func(c *testCase) {
		snap := c.snapWith(`"Far in whole"`)
		ref := byRef(c.refIn(snap, "button", "Far in whole"))
		c.click(ref, nil)
		c.await("click", "far-whole")
		c.await("mousedown", "in whole")
		c.eval(`log.length = 0; whole.animate([{ translate: "600px" }, { translate: "0" }], 500).finished.then(() => report("still", "whole"))`, nil)
		c.click(ref, nil)
		c.wantReported("still whole", "mousedown in whole")
	})
	s.page(t, "frame moved by a script", "actionability-frames.html", func(c *testCase) {
		snap := c.snapWith(`"Far in whole"`)
		ref := byRef(c.refIn(snap, "button", "Far in whole"))
		c.click(ref, nil)
		c.await("click", "far-whole")
		c.await("mousedown", "in whole")
		c.eval(`log.length = 0; const from = performance.now(); requestAnimationFrame(function step(now) {
			const left = 400 - (now - from);
			whole.style.marginLeft = Math.max(0, left) + "px";
			if (left > 0) requestAnimationFrame(step); else report("still", "whole");
		})`, nil)
		c.click(ref, nil)
		c.wantReported("still whole", "mousedown in whole")
	})
}
