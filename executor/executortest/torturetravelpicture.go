package executortest

import (
	"image/color"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

func (s *suite) travelPicture(t *testing.T) {
	red, green, blue, white := color.RGBA{R: 255}, color.RGBA{G: 255}, color.RGBA{B: 255}, color.RGBA{255, 255, 255, 255}
	s.page(t, "a whole page shows a sticky header once", "travelpicture.html", func(c *scene) {
		shot, img := c.shot(&executor.ScreenshotOptions{FullPage: true})
		if shot.Height != 3000 {
			c.Errorf("height %d", shot.Height)
		}
		c.wantColor(img, 700, 20, red)
		c.wantColor(img, 700, 740, white)
		c.wantColor(img, 700, 1460, white)
	})
	s.page(t, "an element deep in a scroller", "travelpicture.html", func(c *scene) {
		shot, img := c.shot(&executor.ScreenshotOptions{Target: css("#deep")})
		if shot.Width != 100 || shot.Height != 50 {
			c.Errorf("%d×%d, want 100×50", shot.Width, shot.Height)
		}
		c.wantColor(img, 50, 25, blue)
	})
	s.page(t, "an element wider than the viewport is whole", "travelpicture.html", func(c *scene) {
		shot, img := c.shot(&executor.ScreenshotOptions{Target: css("#wide")})
		if shot.Width != 2000 || shot.Height != 30 {
			c.Errorf("%d×%d, want 2000×30", shot.Width, shot.Height)
		}
		c.wantColor(img, 5, 15, green)
		c.wantColor(img, 1990, 15, green)
	})
	s.page(t, "a frame of another site is in the picture, and animations do not hold it up", "travelpicture.html", func(c *scene) {
		c.await("paint", "frame")
		start := time.Now()
		_, img := c.shot(nil)
		c.wantWithin(start, 15*time.Second, "the picture")
		c.wantColor(img, 580, 480, color.RGBA{G: 200})
	})
	s.page(t, "a huge page is cut to what a picture can hold, its width first", "travelplane.html", func(c *scene) {
		shot, img := c.shot(&executor.ScreenshotOptions{FullPage: true})
		c.wantCut(shot, executor.MaxScreenshotWidth, executor.MaxScreenshotArea/executor.MaxScreenshotWidth, 16_000)
		c.wantColor(img, 16_000, 1500, green)
	})
	s.page(t, "a huge element is cut as a page is", "travelplane.html", func(c *scene) {
		shot, img := c.shot(&executor.ScreenshotOptions{Target: css("#band")})
		c.wantCut(shot, executor.MaxScreenshotWidth, 30, 30)
		c.wantColor(img, 16_000, 15, red)
		shot, _ = c.shot(&executor.ScreenshotOptions{Target: css("#block"), Format: executor.FormatJPEG, Quality: 10})
		c.wantCut(shot, 5000, 5000, 6000)
	})
}

// wantCut checks the size of a picture, and that it tells that it is not all.
func (c *scene) wantCut(shot *executor.Screenshot, width, height, fullHeight int) {
	c.Helper()
	if shot.Width != width || shot.Height != height || !shot.Truncated || shot.FullHeight != fullHeight {
		c.Errorf("%d×%d, Truncated = %v, FullHeight = %d, want %d×%d of %d", shot.Width, shot.Height, shot.Truncated, shot.FullHeight, width, height, fullHeight)
	}
}
