package executortest

import (
	"image/color"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

func (s *suite) screenshotDetails(t *testing.T) {
	red, green, blue, white := color.RGBA{R: 255}, color.RGBA{G: 255}, color.RGBA{B: 255}, color.RGBA{255, 255, 255, 255}
	s.page(t, "full page shows a sticky header once", "navigation-picture.html", func(c *testCase) {
		shot, img := c.shot(&executor.ScreenshotOptions{FullPage: true})
		if shot.Height != 3000 {
			c.Errorf("height %d", shot.Height)
		}
		c.wantColor(img, 700, 20, red)
		c.wantColor(img, 700, 740, white)
		c.wantColor(img, 700, 1460, white)
	})
	s.page(t, "element deep in a scroller", "navigation-picture.html", func(c *testCase) {
		shot, img := c.shot(&executor.ScreenshotOptions{Target: css("#deep")})
		if shot.Width != 100 || shot.Height != 50 {
			c.Errorf("%d×%d, want 100×50", shot.Width, shot.Height)
		}
		c.wantColor(img, 50, 25, blue)
	})
	s.page(t, "element wider than the viewport is complete", "navigation-picture.html", func(c *testCase) {
		shot, img := c.shot(&executor.ScreenshotOptions{Target: css("#wide")})
		if shot.Width != 2000 || shot.Height != 30 {
			c.Errorf("%d×%d, want 2000×30", shot.Width, shot.Height)
		}
		c.wantColor(img, 5, 15, green)
		c.wantColor(img, 1990, 15, green)
	})
	s.page(t, "cross-site frame is visible, animations do not delay the screenshot", "navigation-picture.html", func(c *testCase) {
		c.await("paint", "frame")
		_, img := c.shot(nil)
		c.wantColor(img, 580, 480, color.RGBA{G: 200})
	})
	s.page(t, "huge page is truncated, width first", "navigation-plane.html", func(c *testCase) {
		shot, img := c.shot(&executor.ScreenshotOptions{FullPage: true})
		c.wantTruncated(shot, executor.MaxScreenshotWidth, executor.MaxScreenshotArea/executor.MaxScreenshotWidth, 16_000)
		c.wantColor(img, 16_000, 1500, green)
	})
	s.page(t, "huge element is truncated", "navigation-plane.html", func(c *testCase) {
		shot, img := c.shot(&executor.ScreenshotOptions{Target: css("#band")})
		c.wantTruncated(shot, executor.MaxScreenshotWidth, 30, 30)
		c.wantColor(img, 16_000, 15, red)
		shot, _ = c.shot(&executor.ScreenshotOptions{Target: css("#block"), Format: executor.FormatJPEG, Quality: 10})
		c.wantTruncated(shot, 5000, 5000, 6000)
	})
}

// wantTruncated checks the size of a screenshot, and that it is reported as truncated.
func (c *testCase) wantTruncated(shot *executor.Screenshot, width, height, fullHeight int) {
	c.Helper()
	if shot.Width != width || shot.Height != height || !shot.Truncated || shot.FullHeight != fullHeight {
		c.Errorf("%d×%d, Truncated = %v, FullHeight = %d, want %d×%d of %d", shot.Width, shot.Height, shot.Truncated, shot.FullHeight, width, height, fullHeight)
	}
}
