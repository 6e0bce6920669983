package readingsuite

import (
	"fmt"
	"image/color"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

// zoomed adds a case on navigation-zoom.html with 125 % browser zoom. The browser stores the zoom
// per host, so the case has its own host.
func zoomed(s *suite.Runner, t *testing.T, name string, f func(c *suite.Case, k *suite.Keeper)) {
	s.Gated(t, name, "", func(c *suite.Case, k *suite.Keeper) {
		tab := c.OpenURL(fmt.Sprintf("http://zoom%s.localhost:%d/p/%[1]s/navigation-zoom.html", c.ID, c.Port))
		c.Tab = tab.ID
		c.WantValue("devicePixelRatio", "1")
		level := unzoomed
		zoom(c, &level, "Control++")
		zoom(c, &level, "Control+=")
		c.Met(executor.WaitCondition{Expression: "devicePixelRatio === 1.25 && innerWidth < 1280"})
		f(c, k)
	})
}

// zoomLevels are the zoom levels of the browser around 100 %.
var zoomLevels = []float64{0.5, 0.67, 0.75, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 1.75, 2}

const unzoomed = 5

// zoom presses a zoom key of the browser, or calls the harness.
func zoom(c *suite.Case, level *int, key string) {
	c.Helper()
	switch key {
	case "Control+-":
		*level--
	case "Control+0":
		*level = unzoomed
	default:
		*level++
	}
	if c.H.Zoom == nil {
		c.Key(key, nil)
		return
	}
	c.H.Zoom(c.T, fmt.Sprintf("http://zoom%s.localhost:%d/", c.ID, c.Port), zoomLevels[*level])
}

func zoomDetails(s *suite.Runner, t *testing.T) {
	blue, green, white := color.RGBA{B: 255}, color.RGBA{G: 255}, color.RGBA{255, 255, 255, 255}
	grey := color.RGBA{64, 64, 64, 255} // the mask
	zoomed(s, t, "clicks and typing", func(c *suite.Case, _ *suite.Keeper) {
		c.Clicked(suite.Selector("#near"), "near")
		c.Clicked(suite.Selector("#far"), "far")
		if _, err := c.Page().Type(c.Ctx, suite.Selector("#field"), "Bo", nil); err != nil {
			c.Error(err)
		}
		c.WantValue("field.value", "Bo")
	})
	zoomed(s, t, "click in a cross-site frame", func(c *suite.Case, _ *suite.Keeper) {
		snap := c.SnapWith(`"Far in inner"`)
		c.Clicked(suite.ByRef(c.RefIn(snap, "button", "Far in inner")), "far-inner")
	})
	zoomed(s, t, "screenshot size in CSS pixels", func(c *suite.Case, _ *suite.Keeper) {
		shot, img := c.Shot(nil)
		c.WantValue("[innerWidth, innerHeight]", fmt.Sprintf("%d,%d", shot.Width, shot.Height))
		c.WantColor(img, 705, 205, blue)
		c.WantColor(img, 795, 245, blue)
		c.WantColor(img, 690, 205, white)
		c.WantColor(img, 810, 245, white)
		shot, img = c.Shot(&executor.ScreenshotOptions{MaxWidth: 512})
		if shot.Width != 512 || shot.Height < 287 || shot.Height > 289 {
			c.Errorf("%d×%d, want 512×288", shot.Width, shot.Height)
		}
		c.WantColor(img, 355, 105, blue)
		c.WantColor(img, 395, 120, blue)
		c.WantColor(img, 345, 102, white)
	})
	zoomed(s, t, "full-page screenshot, scrolled down", func(c *suite.Case, _ *suite.Keeper) {
		c.Eval("scrollTo(0, 900)", nil)
		shot, img := c.Shot(&executor.ScreenshotOptions{FullPage: true})
		if shot.Height != 3000 || shot.Width != 2000 {
			c.Errorf("%d×%d, want 2000×3000", shot.Width, shot.Height)
		}
		c.WantColor(img, 705, 205, blue)
		c.WantColor(img, 1990, 2025, green)
		c.WantColor(img, 1990, 2035, white)
	})
	zoomed(s, t, "element screenshot, inside and wider than the viewport", func(c *suite.Case, _ *suite.Keeper) {
		shot, img := c.Shot(&executor.ScreenshotOptions{Target: suite.Selector("#blue")})
		if shot.Width != 100 || shot.Height != 50 {
			c.Errorf("%d×%d, want 100×50", shot.Width, shot.Height)
		}
		c.WantColor(img, 2, 2, blue)
		c.WantColor(img, 97, 47, blue)
		shot, img = c.Shot(&executor.ScreenshotOptions{Target: suite.Selector("#wide")})
		// The edges are between two device pixels.
		if shot.Width < 2000 || shot.Width > 2001 || shot.Height < 30 || shot.Height > 31 {
			c.Errorf("%d×%d, want 2000×30", shot.Width, shot.Height)
		}
		c.WantColor(img, 1995, 27, green)
	})
	zoomed(s, t, "denied frame is masked in a screenshot", func(c *suite.Case, k *suite.Keeper) {
		c.Await("load", "frame")
		k.DenyOrigin(c.OtherOrigin())
		level := unzoomed + 2
		for _, key := range []string{"Control+-", "Control++", "Control++", "Control+0", "Control+-", "Control+-"} {
			c.Eval("scrollTo(0, 1450)", nil)
			_, img := c.Shot(nil)
			if c.WantColor(img, 100, 100, grey); c.Failed() {
				return
			}
			for y := range 250 {
				for x := range 500 {
					if r, g, b, _ := img.At(x, y).RGBA(); g>>8 > max(r>>8, b>>8)+10 {
						c.Fatalf("at %s: pixel %d,%d is %d,%d,%d", c.EvalString("devicePixelRatio"), x, y, r>>8, g>>8, b>>8)
					}
				}
			}
			zoom(c, &level, key)
		}
	})
}
