package executortest

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

func (s *suite) aimFrames(t *testing.T) {
	far := func(name string) func(c *scene) {
		return func(c *scene) {
			snap := c.snapWith(`"Far in ` + name + `"`)
			c.clicked(byRef(c.refIn(snap, "button", "Far in "+name)), "far-"+name)
		}
	}
	s.page(t, "four frames deep, each of another site, all to be scrolled", "aimframes.html", func(c *scene) {
		snap := c.snapWith(`"At the bottom of it all"`)
		c.clicked(byRef(c.refIn(snap, "button", "At the bottom of it all")), "bottom")
	})
	s.page(t, "larger than what it scrolls in", "aimframes.html", far("long"))
	s.page(t, "zoomed, scaled and turned, of another site", "aimframes.html", far("zoomed"))
	s.page(t, "cut off by what it is in", "aimframes.html", far("cut"))
	s.page(t, "in an object element", "aimframes.html", func(c *scene) { c.clicked(css("#far-object"), "far-object") })
	s.page(t, "a frame itself", "aimframes.html", func(c *scene) {
		c.click(css("#whole"), nil)
		c.await("mousedown", "in whole")
	})
	s.page(t, "a frame of frames itself", "aimframes.html", func(c *scene) {
		c.snapWith(`"At the bottom of it all"`)
		c.click(css("#deep"), nil)
	})
	s.page(t, "a frame that is nearly all padding", "aimframes.html", func(c *scene) {
		c.click(css("#padded"), nil)
	})
	s.page(t, "covered in its own document and in the one around", "aimframes.html", func(c *scene) {
		snap := c.snapWith(`"Far in whole"`)
		ref := byRef(c.refIn(snap, "button", "Far in whole"))
		c.eval(`document.body.insertAdjacentHTML("beforeend", '<div id="veil" role="alert" aria-label="Veil" style="position: fixed; inset: 0; background: white"></div>')`, nil)
		_, err := c.exec.Click(c.ctx, c.tab, ref, nil)
		c.wantCode(err, executor.ErrNotActionable, "Far in whole", "covered", "Veil", "[ref=")
		c.eval(`veil.remove(); whole.contentDocument.body.insertAdjacentHTML("beforeend", '<div role="alert" aria-label="Film" style="position: fixed; inset: 0; background: white"></div>')`, nil)
		_, err = c.exec.Click(c.ctx, c.tab, ref, nil)
		c.wantCode(err, executor.ErrNotActionable, "Far in whole", "covered", "Film", "[ref=")
	})
	s.page(t, "a frame that moves", "aimframes.html", func(c *scene) {
		snap := c.snapWith(`"Far in whole"`)
		ref := byRef(c.refIn(snap, "button", "Far in whole"))
		c.click(ref, nil)
		c.await("click", "far-whole")
		c.await("mousedown", "in whole")
		c.eval(`log.length = 0; whole.animate([{ translate: "600px" }, { translate: "0" }], 500).finished.then(() => report("still", "whole"))`, nil)
		c.click(ref, nil)
		c.wantReported("still whole", "mousedown in whole")
	})
	s.page(t, "a frame that a script moves", "aimframes.html", func(c *scene) {
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
