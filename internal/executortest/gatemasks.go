package executortest

import (
	"fmt"
	"image"
	"image/draw"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// deniedFrames tests frames of denied origins in an allowed page: a cross-site frame, and a
// same-site frame, which is in the page's process.
func (s *suite) deniedFrames(t *testing.T) {
	around := func(t *testing.T, name string, f func(c *testCase)) {
		s.gated(t, name, "", func(c *testCase, k *keeper) {
			origin := fmt.Sprintf("http://zoom%s.localhost:%d", c.id, c.port)
			tab := c.openURL(origin + "/p/" + c.id + "/deniedframes.html")
			c.tab = tab.ID
			_, img := c.shot(nil)
			if snap := c.snap(nil); strings.Count(snap, "SECRET heading") < 6 || deniedFramePixels(img) < 10_000 {
				c.Fatalf("without denial, %d pixels are visible, text:\n%s", deniedFramePixels(img), snap)
			}
			k.deny(func(a executor.Access) bool { return a.Origin != origin && a.Origin != executor.OriginInternal })
			f(c)
		})
	}
	around(t, "denied frames are not readable", func(c *testCase) {
		for name, read := range map[string]func() (string, error){
			"snapshot": func() (string, error) { return asText(c.page().Snapshot(c.ctx, nil)) },
			"find": func() (string, error) {
				return asText(c.page().Snapshot(c.ctx, &executor.SnapshotOptions{Find: "/words|heading|link|field/"}))
			},
			"text":     func() (string, error) { return asText(c.page().Text(c.ctx, nil)) },
			"html":     func() (string, error) { return asText(c.page().HTML(c.ctx, nil)) },
			"markdown": func() (string, error) { return asText(c.page().Markdown(c.ctx, nil)) },
			"links":    func() (string, error) { return asText(c.page().Links(c.ctx, nil)) },
		} {
			text, err := read()
			if err != nil {
				c.Errorf("%s: %v", name, err)
			}
			if strings.Contains(text, "SECRET") {
				c.Errorf("%s contains %s", name, text)
			}
			if !strings.Contains(text, "f the page") {
				c.Errorf("%s omits text of the page: %s", name, text)
			}
		}
		for _, sel := range []string{"text=SECRET heading", "#sub h1", `role=button[name="SECRET button"]`} {
			_, err := c.page().Text(c.ctx, &executor.TextOptions{Target: css(sel)})
			c.wantCode(err, executor.ErrSelectorNotFound)
		}
		c.met(executor.WaitCondition{Text: "Words of the page"})
		res, err := c.page().WaitFor(c.ctx, executor.WaitCondition{Text: "SECRET words", Timeout: 2 * time.Second})
		if err == nil && res.Matched {
			c.Errorf("a denied frame was searched: %+v", res)
		}
	})
	around(t, "denied frames are masked", func(c *testCase) {
		for name, opts := range map[string]*executor.ScreenshotOptions{
			"viewport": nil, "jpeg": {Format: executor.FormatJPEG, Quality: 90}, "full page": {FullPage: true},
			"labels": {Labels: true}, "around one": {Target: css("#around")}, "in a scroller": {Target: css("#clip")},
			"a frame": {Target: css("#turned")}, "far down": {Target: css("#below")},
			"scaled": {MaxWidth: 640}, "full page scaled": {FullPage: true, MaxWidth: 1000, Format: executor.FormatJPEG},
		} {
			shot, _ := c.shot(opts)
			if n := deniedFramePixels(c.decode(shot)); n > 0 {
				c.Errorf("%s shows %d pixels of a denied frame", name, n)
			}
		}
		_, err := c.page().Screenshot(c.ctx, &executor.ScreenshotOptions{Format: executor.FormatWebP})
		c.wantCode(err, executor.ErrBadArgs, "Use png or jpeg")
	})
}

// asText returns all fields of the result of a read as text.
func asText(result any, err error) (string, error) { return fmt.Sprintf("%+v", result), err }

// deniedFramePixels counts the pixels that have approximately the color of the denied frames.
func deniedFramePixels(img image.Image) (n int) {
	pix := pixels(img)
	for i := 0; i+3 < len(pix); i += 4 {
		if pix[i] > 180 && pix[i+2] > 180 && pix[i+1] < 120 {
			n++
		}
	}
	return n
}

// pixels returns red, green, blue and alpha of each pixel of an opaque screenshot. Calling At for
// millions of pixels takes seconds.
func pixels(img image.Image) []byte {
	switch img := img.(type) {
	case *image.RGBA:
		return img.Pix
	case *image.NRGBA:
		return img.Pix
	}
	flat := image.NewRGBA(img.Bounds())
	draw.Draw(flat, flat.Rect, img, flat.Rect.Min, draw.Src)
	return flat.Pix
}
