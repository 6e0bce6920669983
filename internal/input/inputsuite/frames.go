package inputsuite

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

func actionabilityFrames(s *suite.Runner, t *testing.T) {
	far := func(name string) func(c *suite.Case) {
		return func(c *suite.Case) {
			snap := c.SnapWith(`"Far in ` + name + `"`)
			c.Clicked(suite.ByRef(c.RefIn(snap, "button", "Far in "+name)), "far-"+name)
		}
	}
	s.Page(t, "four nested cross-site frames, all scrolled", "actionability-frames.html", func(c *suite.Case) {
		snap := c.SnapWith(`"At the bottom of it all"`)
		c.Clicked(suite.ByRef(c.RefIn(snap, "button", "At the bottom of it all")), "bottom")
	})
	s.Page(t, "larger than its scroller", "actionability-frames.html", far("long"))
	s.Page(t, "cross-site frame with zoom, scale and rotation", "actionability-frames.html", far("zoomed"))
	s.Page(t, "frame clipped by its container", "actionability-frames.html", far("cut"))
	s.Page(t, "inside an object element", "actionability-frames.html", func(c *suite.Case) { c.Clicked(suite.Selector("#far-object"), "far-object") })
	s.Page(t, "iframe element as the target", "actionability-frames.html", func(c *suite.Case) {
		c.Click(suite.Selector("#whole"), nil)
		c.Await("mousedown", "in whole")
	})
	s.Page(t, "iframe element with nested frames as the target", "actionability-frames.html", func(c *suite.Case) {
		c.SnapWith(`"At the bottom of it all"`)
		c.Click(suite.Selector("#deep"), nil)
	})
	s.Page(t, "frame with large padding", "actionability-frames.html", func(c *suite.Case) {
		c.Click(suite.Selector("#padded"), nil)
	})
	s.Page(t, "covered in its own and in the parent document", "actionability-frames.html", func(c *suite.Case) {
		snap := c.SnapWith(`"Far in whole"`)
		ref := suite.ByRef(c.RefIn(snap, "button", "Far in whole"))
		c.Eval(`document.body.insertAdjacentHTML("beforeend", '<div id="veil" role="alert" aria-label="Veil" style="position: fixed; inset: 0; background: white"></div>')`, nil)
		_, err := c.Page().Click(c.Ctx, ref, nil)
		c.WantCode(err, executor.ErrNotActionable, "Far in whole", "covered", "Veil", "[ref=")
		c.Eval(`veil.remove(); whole.contentDocument.body.insertAdjacentHTML("beforeend", '<div role="alert" aria-label="Film" style="position: fixed; inset: 0; background: white"></div>')`, nil)
		_, err = c.Page().Click(c.Ctx, ref, nil)
		c.WantCode(err, executor.ErrNotActionable, "Far in whole", "covered", "Film", "[ref=")
	})
	s.Page(t, "moving frame", "actionability-frames.html", func(c *suite.Case) {
		snap := c.SnapWith(`"Far in whole"`)
		ref := suite.ByRef(c.RefIn(snap, "button", "Far in whole"))
		c.Click(ref, nil)
		c.Await("click", "far-whole")
		c.Await("mousedown", "in whole")
		c.Eval(`log.length = 0; whole.animate([{ translate: "600px" }, { translate: "0" }], 500).finished.then(() => report("still", "whole"))`, nil)
		c.Click(ref, nil)
		c.WantReported("still whole", "mousedown in whole")
	})
	s.Page(t, "frame moved by a script", "actionability-frames.html", func(c *suite.Case) {
		snap := c.SnapWith(`"Far in whole"`)
		ref := suite.ByRef(c.RefIn(snap, "button", "Far in whole"))
		c.Click(ref, nil)
		c.Await("click", "far-whole")
		c.Await("mousedown", "in whole")
		c.Eval(`log.length = 0; const from = performance.now(); requestAnimationFrame(function step(now) {
			const left = 400 - (now - from);
			whole.style.marginLeft = Math.max(0, left) + "px";
			if (left > 0) requestAnimationFrame(step); else report("still", "whole");
		})`, nil)
		c.Click(ref, nil)
		c.WantReported("still whole", "mousedown in whole")
	})
}
