package executortest

import (
	"context"
	"errors"
	"fmt"
	"image/color"
	"math"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

func screenshot(s *suite.Runner, t *testing.T) {
	red, blue, white := color.RGBA{R: 255}, color.RGBA{B: 255}, color.RGBA{255, 255, 255, 255}
	s.Shared().Page(t, "viewport", "screenshot.html", func(c *suite.Case) {
		shot, img := c.Shot(nil)
		if shot.Width != 1280 || shot.Height != 720 || shot.Truncated {
			c.Errorf("%d×%d, Truncated = %v, want 1280×720", shot.Width, shot.Height, shot.Truncated)
		}
		c.WantColor(img, 200, 100, red)
		c.WantColor(img, 20, 20, white)
		c.WantValue("innerWidth + 'x' + innerHeight", "1280x720")
	})
	s.Shared().Page(t, "any device scale factor", "screenshot.html", func(c *suite.Case) {
		_, err := c.Page().CDP(c.Ctx, "Emulation.setDeviceMetricsOverride", map[string]any{"width": 1280, "height": 720, "deviceScaleFactor": 2, "mobile": false})
		if err != nil {
			c.Fatal(err)
		}
		shot, img := c.Shot(nil)
		if shot.Width != 1280 || shot.Height != 720 {
			c.Errorf("%d×%d, want 1280×720", shot.Width, shot.Height)
		}
		c.WantColor(img, 290, 140, red)
	})
	s.Shared().Page(t, "jpeg", "screenshot.html", func(c *suite.Case) {
		_, img := c.Shot(&executor.ScreenshotOptions{Format: executor.FormatJPEG, Quality: 60})
		c.WantColor(img, 200, 100, red)
	})
	s.Shared().Page(t, "element", "screenshot.html", func(c *suite.Case) {
		shot, img := c.Shot(&executor.ScreenshotOptions{Target: suite.Selector("#below")})
		if shot.Width != 300 || shot.Height != 120 {
			c.Errorf("%d×%d, want 300×120", shot.Width, shot.Height)
		}
		c.WantColor(img, 5, 5, blue)
		c.WantColor(img, 295, 115, blue)
	})
	s.Shared().Page(t, "hung page does not delay full pages of others", "tall.html", func(c *suite.Case) {
		hung := c.Tab
		other := c.OpenURL(c.OtherURL("tall.html")).ID // in another process
		c.Tab = hung
		c.Eval("addEventListener('resize', () => { report('resize', 'page'); for (;;); }); 0", nil)
		ctx, cancel := context.WithCancel(c.Ctx)
		defer cancel()
		blocked := make(chan error, 1)
		go func() {
			_, err := pagetest.Of(c.Exec, hung).Screenshot(ctx, &executor.ScreenshotOptions{FullPage: true})
			blocked <- err
		}()
		c.Await("resize", "page")
		c.Must(pagetest.Of(c.Exec, other).Screenshot(c.Ctx, &executor.ScreenshotOptions{FullPage: true}))
		select {
		case err := <-blocked:
			c.Errorf("the screenshot of the other page returned after that of the hung page: %v", err)
		default:
		}
		cancel() // otherwise the page is busy until it times out
		if err := <-blocked; !errors.Is(err, context.Canceled) {
			c.Errorf("the screenshot of the hung page: %v", err)
		}
	})
	s.Shared().Page(t, "full page of a page that is replaced by one that is hung", "tall.html", func(c *suite.Case) {
		c.Eval("addEventListener('resize', () => location.assign('navigation-spin.html?in=parse')); 0", nil)
		_, err := c.Page().Screenshot(c.Ctx, &executor.ScreenshotOptions{FullPage: true})
		c.WantCode(err, executor.ErrTargetGone) // the hung page is not waited for
	})
	for what, resize := range suite.Sorted(map[string]string{
		"frame": "frame.src = denied",
		"page":  "location.assign(denied)",
	}) {
		map[string]*suite.Runner{"frame": s.Deep(), "page": s.Shared()}[what].Gated(t, "denied "+what+" that commits during the screenshot", "tall.html", func(c *suite.Case, k *suite.Keeper) {
			k.Deny(func(a executor.Access) bool { return a.Origin != c.Origin() && a.Origin != executor.OriginInternal })
			c.Eval(fmt.Sprintf(`const frame = document.createElement("iframe"), denied = %q;
				document.body.prepend(frame);
				addEventListener("resize", () => { %s }, { once: true }); 0`, c.OtherURL("deniedinner.html"), resize), nil)
			shot, err := c.Page().Screenshot(c.Ctx, &executor.ScreenshotOptions{FullPage: true})
			if err != nil {
				if code := executor.CodeOf(err); code != executor.ErrPolicyDenied && code != executor.ErrTargetGone {
					c.Error(err)
				}
				return
			}
			if n := deniedFramePixels(c.Decode(shot)); n > 0 {
				c.Errorf("%d pixels of a denied document are visible", n)
			}
		})
	}
	s.Shared().Page(t, "full page", "screenshot.html", func(c *suite.Case) {
		shot, img := c.Shot(&executor.ScreenshotOptions{FullPage: true})
		if shot.Width != 1280 || shot.Height != 3000 || shot.Truncated {
			c.Errorf("%d×%d, Truncated = %v, want 1280×3000", shot.Width, shot.Height, shot.Truncated)
		}
		c.WantColor(img, 200, 100, red)
		c.WantColor(img, 100, 2060, blue)
		c.WantValue("innerWidth + 'x' + innerHeight", "1280x720") // unchanged
	})
	s.Shared().Page(t, "too tall", "tall.html", func(c *suite.Case) {
		shot, _ := c.Shot(&executor.ScreenshotOptions{FullPage: true, Format: executor.FormatJPEG, Quality: 10})
		if shot.Height != executor.MaxScreenshotHeight || !shot.Truncated || shot.FullHeight != 20000 {
			c.Errorf("height %d, Truncated = %v, FullHeight = %d", shot.Height, shot.Truncated, shot.FullHeight)
		}
	})
	s.Shared().Page(t, "part of the page", "screenshot.html", func(c *suite.Case) {
		c.Eval("scrollTo(0, 700); 0", nil)
		shot, img := c.Shot(&executor.ScreenshotOptions{Clip: &executor.Clip{X: 90.5, Y: 40, Width: 220, Height: 120}})
		if shot.Width != 221 || shot.Height != 120 || shot.Truncated {
			c.Errorf("%d×%d, Truncated = %v, want 221×120", shot.Width, shot.Height, shot.Truncated)
		}
		c.WantColor(img, 5, 5, white)
		c.WantColor(img, 12, 12, red)
		shot, _ = c.Shot(&executor.ScreenshotOptions{Clip: &executor.Clip{X: -50, Y: 2900, Width: 5000, Height: 5000}})
		if shot.Width != 1280 || shot.Height != 100 || shot.Truncated || shot.NextClip != nil {
			c.Errorf("%d×%d, Truncated = %v, NextClip = %v, want 1280×100", shot.Width, shot.Height, shot.Truncated, shot.NextClip)
		}
		c.WantValue("innerWidth + 'x' + innerHeight + ' ' + scrollY", "1280x720 700")
	})
	s.Shared().Page(t, "maximum height", "screenshot.html", func(c *suite.Case) {
		shot, img := c.Shot(&executor.ScreenshotOptions{FullPage: true, MaxHeight: 1920})
		c.WantTruncated(shot, 1280, 1920, 3000)
		c.WantColor(img, 200, 100, red)
		if want := (executor.Clip{Y: 1920, Width: 1280, Height: 1080}); shot.NextClip == nil || *shot.NextClip != want {
			c.Fatalf("NextClip is %v, want %v", shot.NextClip, want)
		}
		next, img := c.Shot(&executor.ScreenshotOptions{Clip: shot.NextClip, MaxHeight: 1920})
		if next.Width != 1280 || next.Height != 1080 || next.Truncated || next.NextClip != nil {
			c.Errorf("the next part: %d×%d, Truncated = %v, NextClip = %v, want 1280×1080", next.Width, next.Height, next.Truncated, next.NextClip)
		}
		c.WantColor(img, 100, 140, blue)
		c.WantColor(img, 100, 70, white)
		shot, img = c.Shot(&executor.ScreenshotOptions{Target: suite.Selector("#below"), MaxWidth: 150, MaxHeight: 31}) // scaled to a half
		c.WantTruncated(shot, 150, 30, 60)
		c.WantColor(img, 145, 25, blue)
		if want := (executor.Clip{Y: 2060, Width: 300, Height: 60}); shot.NextClip == nil || *shot.NextClip != want || shot.Scale != 0.5 {
			c.Errorf("element: Scale = %v, NextClip = %v, want 0.5 and %v", shot.Scale, shot.NextClip, want)
		}
		shot, _ = c.Shot(&executor.ScreenshotOptions{MaxHeight: 720})
		if shot.Height != 720 || shot.Truncated || shot.Scale != 0 {
			c.Errorf("viewport: height %d, Truncated = %v, Scale = %v", shot.Height, shot.Truncated, shot.Scale)
		}
	})
	s.Shared().Page(t, "below the maximum height of the complete page", "tall.html", func(c *suite.Case) {
		shot, img := c.Shot(&executor.ScreenshotOptions{Clip: &executor.Clip{Y: 19_000, Width: 1280, Height: 5000}})
		if shot.Width != 1280 || shot.Height != 1000 || shot.Truncated {
			c.Errorf("%d×%d, Truncated = %v, want 1280×1000", shot.Width, shot.Height, shot.Truncated)
		}
		c.WantColor(img, 600, 990, blue)
	})
	s.Shared().Page(t, "labels are not visible to the page", "screenshot.html", func(c *suite.Case) {
		c.Snap(nil)
		before := c.EvalString("document.documentElement.outerHTML")
		_, plain := c.Shot(nil)
		_, labelled := c.Shot(&executor.ScreenshotOptions{Labels: true})
		same := true
		for y := 30; y < 90 && same; y++ {
			for x := 480; x < 620 && same; x++ {
				same = plain.At(x, y) == labelled.At(x, y)
			}
		}
		if same {
			c.Error("no label at the button")
		}
		if after := c.EvalString("document.documentElement.outerHTML"); after != before {
			c.Errorf("the document was\n%s\nand is now\n%s", before, after)
		}
		_, again := c.Shot(nil)
		c.WantColor(again, 20, 20, white)
	})
	s.Page(t, "background tab", "screenshot.html", func(c *suite.Case) {
		front := c.Open("second.html")
		shot, img := c.Shot(nil)
		if shot.Width != 1280 || shot.Height != 720 {
			c.Errorf("%d×%d, want 1280×720", shot.Width, shot.Height)
		}
		c.WantColor(img, 200, 100, red)
		if !c.Listed(front).Active {
			c.Error("a screenshot of a tab made it active")
		}
	})
	s.Shared().Page(t, "bad arguments", "screenshot.html", func(c *suite.Case) {
		for _, opts := range []executor.ScreenshotOptions{
			{Target: suite.Selector("#red"), FullPage: true}, {Format: "gif"}, {Format: executor.FormatJPEG, Quality: 101}, {Quality: -1, Format: executor.FormatJPEG},
			{MaxHeight: -1}, {Target: suite.Selector("#red"), Clip: &executor.Clip{Width: 10, Height: 10}}, {Clip: &executor.Clip{}},
			{Clip: &executor.Clip{X: 1280, Width: 10, Height: 10}}, {Clip: &executor.Clip{Y: 3000, Width: 10, Height: 10}}, {Clip: &executor.Clip{Y: math.NaN(), Width: 10, Height: 10}},
		} {
			_, err := c.Page().Screenshot(c.Ctx, &opts)
			c.WantCode(err, executor.ErrBadArgs)
		}
		_, err := c.Page().Screenshot(c.Ctx, &executor.ScreenshotOptions{Target: suite.Selector("#nosuch")})
		c.WantCode(err, executor.ErrSelectorNotFound)
		_, err = c.Page().Screenshot(c.Ctx, &executor.ScreenshotOptions{Target: suite.Selector("#none")})
		c.WantCode(err, executor.ErrNotActionable)
	})
}
