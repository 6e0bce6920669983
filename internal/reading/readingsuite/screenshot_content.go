package readingsuite

import (
	"image"
	"image/color"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

// screenshotContent checks the content of screenshots of navigation-sheet.html.
func screenshotContent(s *suite.Runner, t *testing.T) {
	red, blue, white, green := color.RGBA{R: 255}, color.RGBA{B: 255}, color.RGBA{255, 255, 255, 255}, color.RGBA{G: 200}
	s.Page(t, "labels are drawn on the screenshot only", "navigation-sheet.html", func(c *suite.Case) {
		c.Await("paint", "frame")
		c.Snap(nil)
		c.Eval("observe(); 0", nil)
		_, plain := c.Shot(nil)
		_, labelled := c.Shot(&executor.ScreenshotOptions{Labels: true})
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
		c.WantValue("new XMLSerializer().serializeToString(document) === before", "true")
		c.WantValue("JSON.stringify(seen)", "[]")
		_, again := c.Shot(nil)
		if !samePart(plain, again, image.Rect(0, 0, 1280, 720)) {
			c.Error("the next screenshot also has labels")
		}
	})
	s.Page(t, "JPEG size depends on quality", "navigation-sheet.html", func(c *suite.Case) {
		var sizes []int
		for _, q := range []int{1, 0, 100} { // 0 means 80
			shot, _ := c.Shot(&executor.ScreenshotOptions{Format: executor.FormatJPEG, Quality: q, Labels: q == 100})
			sizes = append(sizes, len(shot.Data))
		}
		if sizes[0]*2 > sizes[1] || sizes[1] > sizes[2] {
			c.Errorf("sizes %v", sizes)
		}
	})
	s.Page(t, "full page of a scrolled page does not change the scroll position", "navigation-sheet.html", func(c *suite.Case) {
		c.Await("paint", "frame")
		c.Eval("scrollTo(0, 200); 0", nil)
		shot, img := c.Shot(&executor.ScreenshotOptions{FullPage: true})
		if shot.Width != 1280 || shot.Height != 2000 || shot.Truncated {
			c.Errorf("%d×%d, Truncated = %v", shot.Width, shot.Height, shot.Truncated)
		}
		c.WantColor(img, 50, 120, blue)
		c.WantColor(img, 50, 1550, blue)
		c.WantColor(img, 590, 490, green)
		c.WantValue("scrollY", "200")
		_, img = c.Shot(nil)
		c.WantColor(img, 50, 120, white)
	})
	s.Page(t, "element partly outside of the page", "navigation-sheet.html", func(c *suite.Case) {
		shot, img := c.Shot(&executor.ScreenshotOptions{Target: suite.Selector("#edge")})
		if shot.Width != 100 || shot.Height != 50 { // 50 of its pixels are outside of the page
			c.Errorf("%d×%d, want 100×50", shot.Width, shot.Height)
		}
		c.WantColor(img, 1, 25, blue)
		c.WantColor(img, 98, 25, blue)
		c.Eval("edge.style.left = '-500px'; 0", nil)
		_, err := c.Page().Screenshot(c.Ctx, &executor.ScreenshotOptions{Target: suite.Selector("#edge")})
		c.WantCode(err, executor.ErrNotActionable, "outside")
	})
	s.Page(t, "element of a page that scrolls continuously", "navigation-sheet.html", func(c *suite.Case) {
		c.Eval(`{
			const { port1, port2 } = new MessageChannel();
			port1.onmessage = () => { scrollTo(0, scrollY ? 0 : 900); port2.postMessage(0); };
			port2.postMessage(0);
		}`, nil)
		for i := range 10 {
			shot, err := c.Page().Screenshot(c.Ctx, &executor.ScreenshotOptions{Target: suite.Selector("#edge")})
			if err != nil {
				c.Fatalf("screenshot %d: %v", i, err)
			}
			if shot.Width != 100 || shot.Height != 50 {
				c.Errorf("screenshot %d: %d×%d, want 100×50", i, shot.Width, shot.Height)
			}
		}
	})
	s.Page(t, "element partly below the viewport is complete", "navigation-sheet.html", func(c *suite.Case) {
		shot, img := c.Shot(&executor.ScreenshotOptions{Target: suite.Selector("#bottom")})
		if shot.Width != 100 || shot.Height != 60 {
			c.Errorf("%d×%d, want 100×60", shot.Width, shot.Height)
		}
		c.WantColor(img, 50, 10, red)
		c.WantColor(img, 50, 50, blue)
	})
	s.Page(t, "element in a cross-site frame", "navigation-sheet.html", func(c *suite.Case) {
		c.Await("paint", "frame")
		ref := c.Ref("button", "Alert in the frame")
		shot, img := c.Shot(&executor.ScreenshotOptions{Target: suite.ByRef(ref)})
		if shot.Width < 50 || shot.Width > 299 || shot.Height > 60 {
			c.Errorf("%d×%d", shot.Width, shot.Height)
		}
		c.WantColor(img, shot.Width/2, 3, color.RGBA{239, 239, 239, 255}) // color of a button
	})
	s.Gated(t, "view transition that may show a removed denied frame: denied", "navigation-sheet.html", func(c *suite.Case, k *suite.Keeper) {
		c.Await("paint", "frame")
		c.Eval("leave()", nil)
		c.Shot(nil) // with nothing denied
		k.DenyOrigin(c.OtherOrigin())
		_, err := c.Page().Screenshot(c.Ctx, nil)
		c.WantCode(err, executor.ErrPolicyDenied, "transition")
		c.Eval("transition.skipTransition(); transition.finished.then(() => 0)", nil)
		_, img := c.Shot(nil)
		c.WantColor(img, 590, 490, white)
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
