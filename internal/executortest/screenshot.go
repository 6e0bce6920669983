package executortest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

// shot takes a screenshot, decodes it and checks that its size matches the result.
func (c *testCase) shot(opts *executor.ScreenshotOptions) (*executor.Screenshot, image.Image) {
	c.Helper()
	s, err := c.page().Screenshot(c.ctx, opts)
	if err != nil {
		c.Fatalf("screenshot: %v", err)
	}
	mime := "image/png"
	if opts != nil && opts.Format != "" {
		mime = "image/" + string(opts.Format)
	}
	if s.MIMEType != mime {
		c.Errorf("MIMEType = %q, want %q", s.MIMEType, mime)
	}
	return s, c.decode(s)
}

// decode decodes a screenshot and checks its size.
func (c *testCase) decode(s *executor.Screenshot) image.Image {
	c.Helper()
	var img image.Image
	var err error
	switch s.MIMEType {
	case "image/webp":
		img, err = c.decodeWebP(s.Data)
	case "image/jpeg":
		img, err = jpeg.Decode(bytes.NewReader(s.Data))
	default:
		img, err = png.Decode(bytes.NewReader(s.Data))
	}
	if err != nil {
		c.Errorf("the screenshot cannot be decoded: %v", err)
		return image.NewRGBA(image.Rect(0, 0, s.Width, s.Height))
	}
	if size := img.Bounds().Size(); size.X != s.Width || size.Y != s.Height {
		c.Errorf("the screenshot is %v, the result reports %d×%d", size, s.Width, s.Height)
	}
	return img
}

// wantColor checks one pixel, with a tolerance for JPEG compression.
func (c *testCase) wantColor(img image.Image, x, y int, want color.RGBA) {
	c.Helper()
	r, g, b, _ := img.At(x, y).RGBA()
	near := func(a uint32, b uint8) bool { d := int(a>>8) - int(b); return -20 < d && d < 20 }
	if !near(r, want.R) || !near(g, want.G) || !near(b, want.B) {
		c.Errorf("pixel %d,%d is %d,%d,%d, want %v", x, y, r>>8, g>>8, b>>8, want)
	}
}

func (s *suite) screenshot(t *testing.T) {
	red, blue, white := color.RGBA{R: 255}, color.RGBA{B: 255}, color.RGBA{255, 255, 255, 255}
	s.page(t, "viewport", "screenshot.html", func(c *testCase) {
		shot, img := c.shot(nil)
		if shot.Width != 1280 || shot.Height != 720 || shot.Truncated {
			c.Errorf("%d×%d, Truncated = %v, want 1280×720", shot.Width, shot.Height, shot.Truncated)
		}
		c.wantColor(img, 200, 100, red)
		c.wantColor(img, 20, 20, white)
		c.wantValue("innerWidth + 'x' + innerHeight", "1280x720")
	})
	s.page(t, "any device scale factor", "screenshot.html", func(c *testCase) {
		_, err := c.page().CDP(c.ctx, "Emulation.setDeviceMetricsOverride", map[string]any{"width": 1280, "height": 720, "deviceScaleFactor": 2, "mobile": false})
		if err != nil {
			c.Fatal(err)
		}
		shot, img := c.shot(nil)
		if shot.Width != 1280 || shot.Height != 720 {
			c.Errorf("%d×%d, want 1280×720", shot.Width, shot.Height)
		}
		c.wantColor(img, 290, 140, red)
	})
	s.page(t, "jpeg", "screenshot.html", func(c *testCase) {
		_, img := c.shot(&executor.ScreenshotOptions{Format: executor.FormatJPEG, Quality: 60})
		c.wantColor(img, 200, 100, red)
	})
	s.page(t, "element", "screenshot.html", func(c *testCase) {
		shot, img := c.shot(&executor.ScreenshotOptions{Target: css("#below")})
		if shot.Width != 300 || shot.Height != 120 {
			c.Errorf("%d×%d, want 300×120", shot.Width, shot.Height)
		}
		c.wantColor(img, 5, 5, blue)
		c.wantColor(img, 295, 115, blue)
	})
	s.page(t, "hung page does not delay full pages of others", "tall.html", func(c *testCase) {
		hung := c.tab
		other := c.openURL(c.otherURL("tall.html")).ID // in another process
		c.tab = hung
		c.eval("addEventListener('resize', () => { report('resize', 'page'); for (;;); }); 0", nil)
		ctx, cancel := context.WithCancel(c.ctx)
		defer cancel()
		blocked := make(chan error, 1)
		go func() {
			_, err := pagetest.Of(c.exec, hung).Screenshot(ctx, &executor.ScreenshotOptions{FullPage: true})
			blocked <- err
		}()
		c.await("resize", "page")
		c.must(pagetest.Of(c.exec, other).Screenshot(c.ctx, &executor.ScreenshotOptions{FullPage: true}))
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
	s.page(t, "full page of a page that is replaced by one that is hung", "tall.html", func(c *testCase) {
		c.eval("addEventListener('resize', () => location.assign('navigation-spin.html?in=parse')); 0", nil)
		_, err := c.page().Screenshot(c.ctx, &executor.ScreenshotOptions{FullPage: true})
		c.wantCode(err, executor.ErrTargetGone) // the hung page is not waited for
	})
	for what, resize := range sorted(map[string]string{
		"frame": "frame.src = denied",
		"page":  "location.assign(denied)",
	}) {
		s.gated(t, "denied "+what+" that commits during the screenshot", "tall.html", func(c *testCase, k *keeper) {
			k.deny(func(a executor.Access) bool { return a.Origin != c.origin() && a.Origin != executor.OriginInternal })
			c.eval(fmt.Sprintf(`const frame = document.createElement("iframe"), denied = %q;
				document.body.prepend(frame);
				addEventListener("resize", () => { %s }, { once: true }); 0`, c.otherURL("deniedinner.html"), resize), nil)
			shot, err := c.page().Screenshot(c.ctx, &executor.ScreenshotOptions{FullPage: true})
			if err != nil {
				if code := executor.CodeOf(err); code != executor.ErrPolicyDenied && code != executor.ErrTargetGone {
					c.Error(err)
				}
				return
			}
			if n := deniedFramePixels(c.decode(shot)); n > 0 {
				c.Errorf("%d pixels of a denied document are visible", n)
			}
		})
	}
	s.page(t, "full page", "screenshot.html", func(c *testCase) {
		shot, img := c.shot(&executor.ScreenshotOptions{FullPage: true})
		if shot.Width != 1280 || shot.Height != 3000 || shot.Truncated {
			c.Errorf("%d×%d, Truncated = %v, want 1280×3000", shot.Width, shot.Height, shot.Truncated)
		}
		c.wantColor(img, 200, 100, red)
		c.wantColor(img, 100, 2060, blue)
		c.wantValue("innerWidth + 'x' + innerHeight", "1280x720") // unchanged
	})
	s.page(t, "too tall", "tall.html", func(c *testCase) {
		shot, _ := c.shot(&executor.ScreenshotOptions{FullPage: true, Format: executor.FormatJPEG, Quality: 10})
		if shot.Height != executor.MaxScreenshotHeight || !shot.Truncated || shot.FullHeight != 20000 {
			c.Errorf("height %d, Truncated = %v, FullHeight = %d", shot.Height, shot.Truncated, shot.FullHeight)
		}
	})
	s.page(t, "part of the page", "screenshot.html", func(c *testCase) {
		c.eval("scrollTo(0, 700); 0", nil)
		shot, img := c.shot(&executor.ScreenshotOptions{Clip: &executor.Clip{X: 90.5, Y: 40, Width: 220, Height: 120}})
		if shot.Width != 221 || shot.Height != 120 || shot.Truncated {
			c.Errorf("%d×%d, Truncated = %v, want 221×120", shot.Width, shot.Height, shot.Truncated)
		}
		c.wantColor(img, 5, 5, white)
		c.wantColor(img, 12, 12, red)
		shot, _ = c.shot(&executor.ScreenshotOptions{Clip: &executor.Clip{X: -50, Y: 2900, Width: 5000, Height: 5000}})
		if shot.Width != 1280 || shot.Height != 100 || shot.Truncated || shot.NextClip != nil {
			c.Errorf("%d×%d, Truncated = %v, NextClip = %v, want 1280×100", shot.Width, shot.Height, shot.Truncated, shot.NextClip)
		}
		c.wantValue("innerWidth + 'x' + innerHeight + ' ' + scrollY", "1280x720 700")
	})
	s.page(t, "maximum height", "screenshot.html", func(c *testCase) {
		shot, img := c.shot(&executor.ScreenshotOptions{FullPage: true, MaxHeight: 1920})
		c.wantTruncated(shot, 1280, 1920, 3000)
		c.wantColor(img, 200, 100, red)
		if want := (executor.Clip{Y: 1920, Width: 1280, Height: 1080}); shot.NextClip == nil || *shot.NextClip != want {
			c.Fatalf("NextClip is %v, want %v", shot.NextClip, want)
		}
		next, img := c.shot(&executor.ScreenshotOptions{Clip: shot.NextClip, MaxHeight: 1920})
		if next.Width != 1280 || next.Height != 1080 || next.Truncated || next.NextClip != nil {
			c.Errorf("the next part: %d×%d, Truncated = %v, NextClip = %v, want 1280×1080", next.Width, next.Height, next.Truncated, next.NextClip)
		}
		c.wantColor(img, 100, 140, blue)
		c.wantColor(img, 100, 70, white)
		shot, img = c.shot(&executor.ScreenshotOptions{Target: css("#below"), MaxWidth: 150, MaxHeight: 31}) // scaled to a half
		c.wantTruncated(shot, 150, 30, 60)
		c.wantColor(img, 145, 25, blue)
		if want := (executor.Clip{Y: 2060, Width: 300, Height: 60}); shot.NextClip == nil || *shot.NextClip != want || shot.Scale != 0.5 {
			c.Errorf("element: Scale = %v, NextClip = %v, want 0.5 and %v", shot.Scale, shot.NextClip, want)
		}
		shot, _ = c.shot(&executor.ScreenshotOptions{MaxHeight: 720})
		if shot.Height != 720 || shot.Truncated || shot.Scale != 0 {
			c.Errorf("viewport: height %d, Truncated = %v, Scale = %v", shot.Height, shot.Truncated, shot.Scale)
		}
	})
	s.page(t, "below the maximum height of the complete page", "tall.html", func(c *testCase) {
		shot, img := c.shot(&executor.ScreenshotOptions{Clip: &executor.Clip{Y: 19_000, Width: 1280, Height: 5000}})
		if shot.Width != 1280 || shot.Height != 1000 || shot.Truncated {
			c.Errorf("%d×%d, Truncated = %v, want 1280×1000", shot.Width, shot.Height, shot.Truncated)
		}
		c.wantColor(img, 600, 990, blue)
	})
	s.page(t, "labels are not visible to the page", "screenshot.html", func(c *testCase) {
		c.snap(nil)
		before := c.evalString("document.documentElement.outerHTML")
		_, plain := c.shot(nil)
		_, labelled := c.shot(&executor.ScreenshotOptions{Labels: true})
		same := true
		for y := 30; y < 90 && same; y++ {
			for x := 480; x < 620 && same; x++ {
				same = plain.At(x, y) == labelled.At(x, y)
			}
		}
		if same {
			c.Error("no label at the button")
		}
		if after := c.evalString("document.documentElement.outerHTML"); after != before {
			c.Errorf("the document was\n%s\nand is now\n%s", before, after)
		}
		_, again := c.shot(nil)
		c.wantColor(again, 20, 20, white)
	})
	s.page(t, "background tab", "screenshot.html", func(c *testCase) {
		front := c.open("second.html")
		shot, img := c.shot(nil)
		if shot.Width != 1280 || shot.Height != 720 {
			c.Errorf("%d×%d, want 1280×720", shot.Width, shot.Height)
		}
		c.wantColor(img, 200, 100, red)
		if !c.listed(front).Active {
			c.Error("a screenshot of a tab made it active")
		}
	})
	s.page(t, "bad arguments", "screenshot.html", func(c *testCase) {
		for _, opts := range []executor.ScreenshotOptions{
			{Target: css("#red"), FullPage: true}, {Format: "gif"}, {Format: executor.FormatJPEG, Quality: 101}, {Quality: -1, Format: executor.FormatJPEG},
			{MaxHeight: -1}, {Target: css("#red"), Clip: &executor.Clip{Width: 10, Height: 10}}, {Clip: &executor.Clip{}},
			{Clip: &executor.Clip{X: 1280, Width: 10, Height: 10}}, {Clip: &executor.Clip{Y: 3000, Width: 10, Height: 10}}, {Clip: &executor.Clip{Y: math.NaN(), Width: 10, Height: 10}},
		} {
			_, err := c.page().Screenshot(c.ctx, &opts)
			c.wantCode(err, executor.ErrBadArgs)
		}
		_, err := c.page().Screenshot(c.ctx, &executor.ScreenshotOptions{Target: css("#nosuch")})
		c.wantCode(err, executor.ErrSelectorNotFound)
		_, err = c.page().Screenshot(c.ctx, &executor.ScreenshotOptions{Target: css("#none")})
		c.wantCode(err, executor.ErrNotActionable)
	})
}
