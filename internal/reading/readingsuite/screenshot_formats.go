package readingsuite

import (
	"image"
	"image/color"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

// wantSize checks the size of a screenshot.
func wantSize(c *suite.Case, what string, shot *executor.Screenshot, width, height int) {
	c.Helper()
	if shot.Width != width || shot.Height != height {
		c.Errorf("%s: %d×%d, want %d×%d", what, shot.Width, shot.Height, width, height)
	}
}

// screenshotFormats checks formats and sizes of screenshots of screenshot.html.
func screenshotFormats(s *suite.Runner, t *testing.T) {
	red, blue, white := color.RGBA{R: 255}, color.RGBA{B: 255}, color.RGBA{255, 255, 255, 255}
	s.Page(t, "webp", "screenshot.html", func(c *suite.Case) {
		shot, img := c.Shot(&executor.ScreenshotOptions{Format: executor.FormatWebP})
		wantSize(c, "viewport", shot, 1280, 720)
		c.WantColor(img, 200, 100, red)
		c.WantColor(img, 20, 20, white)
		shot, img = c.Shot(&executor.ScreenshotOptions{Format: executor.FormatWebP, FullPage: true, Quality: 30})
		wantSize(c, "full page", shot, 1280, 3000)
		c.WantColor(img, 100, 2060, blue)
		shot, img = c.Shot(&executor.ScreenshotOptions{Format: executor.FormatWebP, Target: suite.Selector("#below")})
		wantSize(c, "element", shot, 300, 120)
		c.WantColor(img, 295, 115, blue)
	})
	s.Page(t, "webp size depends on quality", "navigation-sheet.html", func(c *suite.Case) {
		var sizes []int
		for _, q := range []int{1, 0, 100} { // 0 means 80
			shot, _ := c.Shot(&executor.ScreenshotOptions{Format: executor.FormatWebP, Quality: q})
			sizes = append(sizes, len(shot.Data))
		}
		if sizes[0]*2 > sizes[1] || sizes[1] >= sizes[2] {
			c.Errorf("sizes %v", sizes)
		}
	})
	s.Page(t, "webp with labels", "screenshot.html", func(c *suite.Case) {
		_, err := c.Page().Screenshot(c.Ctx, &executor.ScreenshotOptions{Labels: true, Format: executor.FormatWebP})
		c.WantCode(err, executor.ErrBadArgs, "Use png or jpeg")
	})
	s.Page(t, "webp of an element that is too high", "screenshot.html", func(c *suite.Case) {
		c.Eval("below.style.cssText = 'left: 0; top: 0; width: 40px; height: 20000px'; 0", nil)
		shot, _ := c.Shot(&executor.ScreenshotOptions{Target: suite.Selector("#below"), Format: executor.FormatWebP})
		c.WantTruncated(shot, 40, 16_383, 20_000)
		shot, _ = c.Shot(&executor.ScreenshotOptions{Target: suite.Selector("#below"), MaxWidth: 20})
		c.WantTruncated(shot, 20, executor.MaxScreenshotHeight/2, 10_000)
	})
	s.Page(t, "maximum width", "screenshot.html", func(c *suite.Case) {
		for _, format := range []executor.ImageFormat{executor.FormatPNG, executor.FormatJPEG, executor.FormatWebP} {
			c.Eval("scrollTo(0, 0); 0", nil)
			shot, img := c.Shot(&executor.ScreenshotOptions{MaxWidth: 640, Format: format})
			wantSize(c, "viewport", shot, 640, 360)
			c.WantColor(img, 100, 50, red)
			c.WantColor(img, 10, 10, white)
			c.WantColor(img, 160, 50, white)
			shot, img = c.Shot(&executor.ScreenshotOptions{MaxWidth: 320, FullPage: true, Format: format})
			wantSize(c, "full page", shot, 320, 750)
			c.WantColor(img, 50, 25, red)
			c.WantColor(img, 25, 515, blue)
			shot, img = c.Shot(&executor.ScreenshotOptions{MaxWidth: 100, Target: suite.Selector("#below"), Format: format})
			wantSize(c, "element", shot, 100, 40)
			c.WantColor(img, 2, 2, blue)
			c.WantColor(img, 97, 37, blue)
		}
		shot, _ := c.Shot(&executor.ScreenshotOptions{MaxWidth: 5000})
		wantSize(c, "never scaled up", shot, 1280, 720)
	})
	s.Page(t, "maximum width leaves no trace", "screenshot.html", func(c *suite.Case) {
		c.Eval("addEventListener('resize', () => seen.push(innerWidth + 'x' + innerHeight + ' at ' + devicePixelRatio)); 0", nil)
		seen := func(opts executor.ScreenshotOptions) string {
			c.Eval("globalThis.seen = []; 0", nil)
			c.Shot(&opts)
			c.Eval("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))", nil)
			// While it captures more than the viewport, Chromium sets the size 1x1, which a
			// page on a busy machine notices (15 of 240 captures with plain Chromium 156).
			return c.EvalString("seen.filter((size) => size !== '1x1 at 1').join()")
		}
		for _, opts := range []executor.ScreenshotOptions{{}, {FullPage: true}, {Target: suite.Selector("#below")}} {
			plain := seen(opts)
			opts.MaxWidth = 100
			if got := seen(opts); got != plain {
				c.Errorf("%+v: the page saw %q, without a maximum width %q", opts, got, plain)
			}
		}
		c.WantValue("[innerWidth, innerHeight, devicePixelRatio, visualViewport.scale]", "1280,720,1,1")
	})
	s.Page(t, "maximum width, any size", "screenshot.html", func(c *suite.Case) {
		for _, width := range []int{1, 2, 3, 7, 333, 641, 777, 1000, 1279, 1280, 1281} {
			shot, _ := c.Shot(&executor.ScreenshotOptions{MaxWidth: width})
			want := min(width, 1280)
			if height := 720 * want / 1280; shot.Width > want || shot.Width < want-1 || shot.Height < height || shot.Height > height+1 {
				c.Errorf("maximum width %d: %d×%d", width, shot.Width, shot.Height)
			}
		}
		shot, _ := c.Shot(&executor.ScreenshotOptions{MaxWidth: 2, Target: suite.Selector("#below")})
		if shot.Width > 2 || shot.Height > 1 {
			c.Errorf("tiny: %d×%d", shot.Width, shot.Height)
		}
	})
	s.Page(t, "maximum width, whatever the device's scale", "screenshot.html", func(c *suite.Case) {
		_, err := c.Page().CDP(c.Ctx, "Emulation.setDeviceMetricsOverride", map[string]any{"width": 1280, "height": 720, "deviceScaleFactor": 2, "mobile": false})
		if err != nil {
			c.Fatal(err)
		}
		shot, img := c.Shot(&executor.ScreenshotOptions{MaxWidth: 640})
		wantSize(c, "viewport", shot, 640, 360)
		c.WantColor(img, 145, 70, red)
		c.WantColor(img, 155, 70, white)
	})
	s.Page(t, "labels with a maximum width", "screenshot.html", func(c *suite.Case) {
		snap := c.Snap(nil)
		ref := c.RefIn(snap, "button", "Label me")
		_, plain := c.Shot(&executor.ScreenshotOptions{MaxWidth: 640})
		_, labelled := c.Shot(&executor.ScreenshotOptions{MaxWidth: 640, Labels: true})
		if samePart(plain, labelled, image.Rect(245, 5, 310, 40)) {
			c.Errorf("no label %s at the button", ref)
		}
		if !samePart(plain, labelled, image.Rect(0, 50, 640, 360)) || !samePart(plain, labelled, image.Rect(400, 0, 640, 360)) {
			c.Error("something was drawn elsewhere")
		}
		if after := c.RefIn(c.Snap(nil), "button", "Label me"); after != ref {
			c.Errorf("the ref is now %s, was %s", after, ref)
		}
	})
	s.Page(t, "maximum width, bad arguments", "screenshot.html", func(c *suite.Case) {
		for _, opts := range []executor.ScreenshotOptions{{MaxWidth: -1}, {Format: executor.FormatWebP, Quality: 101}, {Format: "WEBP"}} {
			_, err := c.Page().Screenshot(c.Ctx, &opts)
			c.WantCode(err, executor.ErrBadArgs)
		}
	})
}
