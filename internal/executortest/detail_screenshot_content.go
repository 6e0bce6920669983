package executortest

import (
	"image"
	"image/color"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// screenshotContent checks the content of screenshots of navigation-sheet.html.
func (s *suite) screenshotContent(t *testing.T) {
	red, blue, white, green := color.RGBA{R: 255}, color.RGBA{B: 255}, color.RGBA{255, 255, 255, 255}, color.RGBA{G: 200}
	s.page(t, "labels are drawn on the screenshot only", "navigation-sheet.html", func(c *testCase) {
		c.await("paint", "frame")
		c.snap(nil)
		c.eval("observe(); 0", nil)
		_, plain := c.shot(nil)
		_, labelled := c.shot(&executor.ScreenshotOptions{Labels: true})
		for what, part := range map[string]image.Rectangle{
			"the button": image.Rect(480, 30, 620, 90), "what is in the frame": image.Rect(300, 300, 460, 340),
		} {
			if samePart(plain, labelled, part) {
				c.Errorf("label not found at %s", what)
			}
		}
		if !samePart(plain, labelled, image.Rect(700, 420, 1280, 720)) {
			c.Error("something was drawn outside of the labels")
		}
		c.wantValue("new XMLSerializer().serializeToString(document) === before", "true")
		c.wantValue("JSON.stringify(seen)", "[]")
		_, again := c.shot(nil)
		if !samePart(plain, again, image.Rect(0, 0, 1280, 720)) {
			c.Error("the next screenshot also has labels")
		}
	})
	s.page(t, "JPEG size depends on quality", "navigation-sheet.html", func(c *testCase) {
		var sizes []int
		for _, q := range []int{1, 0, 100} { // 0 means 80
			shot, _ := c.shot(&executor.ScreenshotOptions{Format: executor.FormatJPEG, Quality: q, Labels: q == 100})
			sizes = append(sizes, len(shot.Data))
		}
		if sizes[0]*2 > sizes[1] || sizes[1] > sizes[2] {
			c.Errorf("sizes %v", sizes)
		}
	})
	s.page(t, "full page of a scrolled page does not change the scroll position", "navigation-sheet.html", func(c *testCase) {
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
	s.page(t, "element partly outside of the page", "navigation-sheet.html", func(c *testCase) {
		shot, img := c.shot(&executor.ScreenshotOptions{Target: css("#edge")})
		if shot.Width != 100 || shot.Height != 50 { // 50 of its pixels are outside of the page
			c.Errorf("%d×%d, want 100×50", shot.Width, shot.Height)
		}
		c.wantColor(img, 1, 25, blue)
		c.wantColor(img, 98, 25, blue)
		c.eval("edge.style.left = '-500px'; 0", nil)
		_, err := c.page().Screenshot(c.ctx, &executor.ScreenshotOptions{Target: css("#edge")})
		c.wantCode(err, executor.ErrNotActionable, "outside")
	})
	s.page(t, "element of a page that scrolls continuously", "navigation-sheet.html", func(c *testCase) {
		c.eval(`{
			const { port1, port2 } = new MessageChannel();
			port1.onmessage = () => { scrollTo(0, scrollY ? 0 : 900); port2.postMessage(0); };
			port2.postMessage(0);
		}`, nil)
		for i := range 10 {
			shot, err := c.page().Screenshot(c.ctx, &executor.ScreenshotOptions{Target: css("#edge")})
			if err != nil {
				c.Fatalf("screenshot %d: %v", i, err)
			}
			if shot.Width != 100 || shot.Height != 50 {
				c.Errorf("screenshot %d: %d×%d, want 100×50", i, shot.Width, shot.Height)
			}
		}
	})
	s.page(t, "element partly below the viewport is complete", "navigation-sheet.html", func(c *testCase) {
		shot, img := c.shot(&executor.ScreenshotOptions{Target: css("#bottom")})
		if shot.Width != 100 || shot.Height != 60 {
			c.Errorf("%d×%d, want 100×60", shot.Width, shot.Height)
		}
		c.wantColor(img, 50, 10, red)
		c.wantColor(img, 50, 50, blue)
	})
	s.page(t, "element in a cross-site frame", "navigation-sheet.html", func(c *testCase) {
		c.await("paint", "frame")
		ref := c.ref("button", "Alert in the frame")
		shot, img := c.shot(&executor.ScreenshotOptions{Target: byRef(ref)})
		if shot.Width < 50 || shot.Width > 299 || shot.Height > 60 {
			c.Errorf("%d×%d", shot.Width, shot.Height)
		}
		c.wantColor(img, shot.Width/2, 3, color.RGBA{239, 239, 239, 255}) // color of a button
	})
	s.gated(t, "view transition that may show a removed denied frame: denied", "navigation-sheet.html", func(c *testCase, k *keeper) {
		c.await("paint", "frame")
		c.eval("leave()", nil)
		c.shot(nil) // with nothing denied
		k.denyOrigin(c.otherOrigin())
		_, err := c.page().Screenshot(c.ctx, nil)
		c.wantCode(err, executor.ErrPolicyDenied, "transition")
		c.eval("transition.skipTransition(); transition.finished.then(() => 0)", nil)
		_, img := c.shot(nil)
		c.wantColor(img, 590, 490, white)
	})
}

// samePart reports whether two images are equal in a rectangle.
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
