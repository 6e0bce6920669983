package executortest

import (
	"image"
	"image/color"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// travelSheet is about what pictures of travelsheet.html show.
func (s *suite) travelSheet(t *testing.T) {
	red, blue, white, green := color.RGBA{R: 255}, color.RGBA{B: 255}, color.RGBA{255, 255, 255, 255}, color.RGBA{G: 200}
	s.page(t, "labels are drawn on the picture alone: the page sees nothing of them", "travelsheet.html", func(c *scene) {
		c.await("paint", "frame")
		c.snap(nil)
		c.eval("observe(); 0", nil)
		_, plain := c.shot(nil)
		_, labelled := c.shot(&executor.ScreenshotOptions{Labels: true})
		for what, part := range map[string]image.Rectangle{
			"the button": image.Rect(480, 30, 620, 90), "what is in the frame": image.Rect(300, 300, 460, 340),
		} {
			if samePart(plain, labelled, part) {
				c.Errorf("no label was drawn at %s", what)
			}
		}
		if !samePart(plain, labelled, image.Rect(700, 420, 1280, 720)) {
			c.Error("something was drawn where nothing is")
		}
		c.wantValue("new XMLSerializer().serializeToString(document) === before", "true")
		c.wantValue("JSON.stringify(seen)", "[]")
		_, again := c.shot(nil)
		if !samePart(plain, again, image.Rect(0, 0, 1280, 720)) {
			c.Error("the labels are on the next picture too")
		}
	})
	s.page(t, "the lower the quality of a jpeg, the smaller it is", "travelsheet.html", func(c *scene) {
		var sizes []int
		for _, q := range []int{1, 0, 100} { // 0 is 80
			shot, _ := c.shot(&executor.ScreenshotOptions{Format: executor.FormatJPEG, Quality: q, Labels: q == 100})
			sizes = append(sizes, len(shot.Data))
		}
		if sizes[0]*2 > sizes[1] || sizes[1] > sizes[2] {
			c.Errorf("sizes %v", sizes)
		}
	})
	s.page(t, "a whole page, scrolled down: from its top, and it stays where it was", "travelsheet.html", func(c *scene) {
		c.await("paint", "frame")
		c.eval("scrollTo(0, 200); 0", nil)
		shot, img := c.shot(&executor.ScreenshotOptions{FullPage: true})
		if shot.Width != 1280 || shot.Height != 2000 || shot.Truncated {
			c.Errorf("%d×%d, Truncated = %v", shot.Width, shot.Height, shot.Truncated)
		}
		c.wantColor(img, 50, 120, blue)
		c.wantColor(img, 50, 1550, blue)
		c.wantColor(img, 590, 490, green)
		c.wantValue("scrollY", "200")
		_, img = c.shot(nil)
		c.wantColor(img, 50, 120, white)
	})
	s.page(t, "an element that is partly outside of the page", "travelsheet.html", func(c *scene) {
		shot, img := c.shot(&executor.ScreenshotOptions{Target: css("#edge")})
		if shot.Width != 100 || shot.Height != 50 { // 50 of its pixels nobody can see
			c.Errorf("%d×%d, want 100×50", shot.Width, shot.Height)
		}
		c.wantColor(img, 1, 25, blue)
		c.wantColor(img, 98, 25, blue)
		c.eval("edge.style.left = '-500px'; 0", nil)
		_, err := c.exec.Screenshot(c.ctx, c.tab, &executor.ScreenshotOptions{Target: css("#edge")})
		c.wantCode(err, executor.ErrNotActionable, "outside")
	})
	s.page(t, "an element of a page that scrolls all the time", "travelsheet.html", func(c *scene) {
		c.eval(`{
			const { port1, port2 } = new MessageChannel();
			port1.onmessage = () => { scrollTo(0, scrollY ? 0 : 900); port2.postMessage(0); };
			port2.postMessage(0);
		}`, nil)
		for i := range 10 {
			shot, err := c.exec.Screenshot(c.ctx, c.tab, &executor.ScreenshotOptions{Target: css("#edge")})
			if err != nil {
				c.Fatalf("screenshot %d: %v", i, err)
			}
			if shot.Width != 100 || shot.Height != 50 {
				c.Errorf("screenshot %d: %d×%d, want 100×50", i, shot.Width, shot.Height)
			}
		}
	})
	s.page(t, "an element that is partly below the viewport is whole", "travelsheet.html", func(c *scene) {
		shot, img := c.shot(&executor.ScreenshotOptions{Target: css("#bottom")})
		if shot.Width != 100 || shot.Height != 60 {
			c.Errorf("%d×%d, want 100×60", shot.Width, shot.Height)
		}
		c.wantColor(img, 50, 10, red)
		c.wantColor(img, 50, 50, blue)
	})
	s.page(t, "an element in a frame of another site", "travelsheet.html", func(c *scene) {
		c.await("paint", "frame")
		ref := c.ref("button", "Alert in the frame")
		shot, img := c.shot(&executor.ScreenshotOptions{Target: byRef(ref)})
		if shot.Width < 50 || shot.Width > 299 || shot.Height > 60 {
			c.Errorf("%d×%d", shot.Width, shot.Height)
		}
		c.wantColor(img, shot.Width/2, 3, color.RGBA{239, 239, 239, 255}) // the face of a button
	})
	s.gated(t, "a transition of the page that may show a frame that is denied and gone: refused", "travelsheet.html", func(c *scene, k *keeper) {
		c.await("paint", "frame")
		c.eval("leave()", nil)
		c.shot(nil) // nothing is denied
		k.denyOrigin(c.otherOrigin())
		_, err := c.exec.Screenshot(c.ctx, c.tab, nil)
		c.wantCode(err, executor.ErrPolicyDenied, "transition")
		c.eval("transition.skipTransition(); transition.finished.then(() => 0)", nil)
		_, img := c.shot(nil)
		c.wantColor(img, 590, 490, white)
	})
}

// samePart reports whether two pictures show the same in a part of them.
func samePart(a, b image.Image, part image.Rectangle) bool {
	for y := part.Min.Y; y < part.Max.Y; y += 4 {
		for x := part.Min.X; x < part.Max.X; x += 4 {
			if a.At(x, y) != b.At(x, y) {
				return false
			}
		}
	}
	return true
}
