package executortest

import (
	"fmt"
	"image/color"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// zoomed adds a case on navigation-zoom.html with 125 % browser zoom. The browser stores the zoom
// per host, so the case has its own host.
func (s *suite) zoomed(t *testing.T, name string, f func(c *testCase, k *keeper)) {
	s.gated(t, name, "", func(c *testCase, k *keeper) {
		tab := c.openURL(fmt.Sprintf("http://zoom%s.localhost:%d/p/%[1]s/navigation-zoom.html", c.id, c.port))
		c.tab = tab.ID
		c.wantValue("devicePixelRatio", "1")
		level := unzoomed
		c.zoom(&level, "Control++")
		c.zoom(&level, "Control+=")
		c.met(executor.WaitCondition{Expression: "devicePixelRatio === 1.25 && innerWidth < 1280"})
		f(c, k)
	})
}

// zoomLevels are the zoom levels of the browser around 100 %.
var zoomLevels = []float64{0.5, 0.67, 0.75, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 1.75, 2}

const unzoomed = 5

// zoom presses a zoom key of the browser, or calls the harness.
func (c *testCase) zoom(level *int, key string) {
	c.Helper()
	switch key {
	case "Control+-":
		*level--
	case "Control+0":
		*level = unzoomed
	default:
		*level++
	}
	if c.h.Zoom == nil {
		c.key(key, nil)
		return
	}
	c.h.Zoom(c.T, fmt.Sprintf("http://zoom%s.localhost:%d/", c.id, c.port), zoomLevels[*level])
}

func (s *suite) zoomDetails(t *testing.T) {
	blue, green, white := color.RGBA{B: 255}, color.RGBA{G: 255}, color.RGBA{255, 255, 255, 255}
	grey := color.RGBA{64, 64, 64, 255} // the mask
	s.zoomed(t, "clicks and typing", func(c *testCase, _ *keeper) {
		c.clicked(css("#near"), "near")
		c.clicked(css("#far"), "far")
		if _, err := c.page().Type(c.ctx, css("#field"), "Bo", nil); err != nil {
			c.Error(err)
		}
		c.wantValue("field.value", "Bo")
	})
	s.zoomed(t, "click in a cross-site frame", func(c *testCase, _ *keeper) {
		snap := c.snapWith(`"Far in inner"`)
		c.clicked(byRef(c.refIn(snap, "button", "Far in inner")), "far-inner")
	})
	s.zoomed(t, "screenshot size in CSS pixels", func(c *testCase, _ *keeper) {
		shot, img := c.shot(nil)
		c.wantValue("[innerWidth, innerHeight]", fmt.Sprintf("%d,%d", shot.Width, shot.Height))
		c.wantColor(img, 705, 205, blue)
		c.wantColor(img, 795, 245, blue)
		c.wantColor(img, 690, 205, white)
		c.wantColor(img, 810, 245, white)
		shot, img = c.shot(&executor.ScreenshotOptions{MaxWidth: 512})
		if shot.Width != 512 || shot.Height < 287 || shot.Height > 289 {
			c.Errorf("%d×%d, want 512×288", shot.Width, shot.Height)
		}
		c.wantColor(img, 355, 105, blue)
		c.wantColor(img, 395, 120, blue)
		c.wantColor(img, 345, 102, white)
	})
	s.zoomed(t, "full-page screenshot, scrolled down", func(c *testCase, _ *keeper) {
		c.eval("scrollTo(0, 900)", nil)
		shot, img := c.shot(&executor.ScreenshotOptions{FullPage: true})
		if shot.Height != 3000 || shot.Width != 2000 {
			c.Errorf("%d×%d, want 2000×3000", shot.Width, shot.Height)
		}
		c.wantColor(img, 705, 205, blue)
		c.wantColor(img, 1990, 2025, green)
		c.wantColor(img, 1990, 2035, white)
	})
	s.zoomed(t, "element screenshot, inside and wider than the viewport", func(c *testCase, _ *keeper) {
		shot, img := c.shot(&executor.ScreenshotOptions{Target: css("#blue")})
		if shot.Width != 100 || shot.Height != 50 {
			c.Errorf("%d×%d, want 100×50", shot.Width, shot.Height)
		}
		c.wantColor(img, 2, 2, blue)
		c.wantColor(img, 97, 47, blue)
		shot, img = c.shot(&executor.ScreenshotOptions{Target: css("#wide")})
		// The edges are between two device pixels.
		if shot.Width < 2000 || shot.Width > 2001 || shot.Height < 30 || shot.Height > 31 {
			c.Errorf("%d×%d, want 2000×30", shot.Width, shot.Height)
		}
		c.wantColor(img, 1995, 27, green)
	})
	s.zoomed(t, "denied frame is masked in a screenshot", func(c *testCase, k *keeper) {
		c.await("load", "frame")
		k.denyOrigin(c.otherOrigin())
		level := unzoomed + 2
		for _, key := range []string{"Control+-", "Control++", "Control++", "Control+0", "Control+-", "Control+-"} {
			c.eval("scrollTo(0, 1450)", nil)
			_, img := c.shot(nil)
			if c.wantColor(img, 100, 100, grey); c.Failed() {
				return
			}
			for y := range 250 {
				for x := range 500 {
					if r, g, b, _ := img.At(x, y).RGBA(); g>>8 > max(r>>8, b>>8)+10 {
						c.Fatalf("at %s: pixel %d,%d is %d,%d,%d", c.evalString("devicePixelRatio"), x, y, r>>8, g>>8, b>>8)
					}
				}
			}
			c.zoom(&level, key)
		}
	})
}
