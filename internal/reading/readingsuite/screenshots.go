package readingsuite

import (
	"image/color"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

func screenshotDetails(s *suite.Runner, t *testing.T) {
	red, green, blue, white := color.RGBA{R: 255}, color.RGBA{G: 255}, color.RGBA{B: 255}, color.RGBA{255, 255, 255, 255}
	s.Page(t, "full page shows a sticky header once", "navigation-picture.html", func(c *suite.Case) {
		shot, img := c.Shot(&executor.ScreenshotOptions{FullPage: true})
		if shot.Height != 3000 {
			c.Errorf("height %d", shot.Height)
		}
		c.WantColor(img, 700, 20, red)
		c.WantColor(img, 700, 740, white)
		c.WantColor(img, 700, 1460, white)
	})
	s.Page(t, "element deep in a scroller", "navigation-picture.html", func(c *suite.Case) {
		shot, img := c.Shot(&executor.ScreenshotOptions{Target: suite.Selector("#deep")})
		if shot.Width != 100 || shot.Height != 50 {
			c.Errorf("%d×%d, want 100×50", shot.Width, shot.Height)
		}
		c.WantColor(img, 50, 25, blue)
	})
	s.Page(t, "element wider than the viewport is complete", "navigation-picture.html", func(c *suite.Case) {
		shot, img := c.Shot(&executor.ScreenshotOptions{Target: suite.Selector("#wide")})
		if shot.Width != 2000 || shot.Height != 30 {
			c.Errorf("%d×%d, want 2000×30", shot.Width, shot.Height)
		}
		c.WantColor(img, 5, 15, green)
		c.WantColor(img, 1990, 15, green)
	})
	s.Page(t, "cross-site frame is visible, animations do not delay the screenshot", "navigation-picture.html", func(c *suite.Case) {
		c.Await("paint", "frame")
		_, img := c.Shot(nil)
		c.WantColor(img, 580, 480, color.RGBA{G: 200})
	})
	s.Page(t, "huge page is truncated, width first", "navigation-plane.html", func(c *suite.Case) {
		shot, img := c.Shot(&executor.ScreenshotOptions{FullPage: true})
		c.WantTruncated(shot, executor.MaxScreenshotWidth, executor.MaxScreenshotArea/executor.MaxScreenshotWidth, 16_000)
		c.WantColor(img, 16_000, 1500, green)
	})
	s.Page(t, "huge element is truncated", "navigation-plane.html", func(c *suite.Case) {
		shot, img := c.Shot(&executor.ScreenshotOptions{Target: suite.Selector("#band")})
		c.WantTruncated(shot, executor.MaxScreenshotWidth, 30, 30)
		c.WantColor(img, 16_000, 15, red)
		shot, _ = c.Shot(&executor.ScreenshotOptions{Target: suite.Selector("#block"), Format: executor.FormatJPEG, Quality: 10})
		c.WantTruncated(shot, 5000, 5000, 6000)
	})
}
