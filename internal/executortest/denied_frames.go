package executortest

import (
	"fmt"
	"image"
	"image/draw"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

// deniedFrames tests frames of denied origins in an allowed page: a cross-site frame, and a
// same-site frame, which is in the page's process.
func deniedFrames(s *suite.Runner, t *testing.T) {
	around := func(s *suite.Runner, name string, f func(c *suite.Case)) {
		s.Gated(t, name, "", func(c *suite.Case, k *suite.Keeper) {
			origin := fmt.Sprintf("http://zoom%s.localhost:%d", c.ID, c.Port)
			c.Tab = c.OpenURL(origin + "/p/" + c.ID + "/deniedframes.html").ID
			_, img := c.Shot(nil)
			if snap := c.Snap(nil); strings.Count(snap, "SECRET heading") < 6 || deniedFramePixels(img) < 10_000 {
				c.Fatalf("without denial, %d pixels are visible, text:\n%s", deniedFramePixels(img), snap)
			}
			k.Deny(func(a executor.Access) bool { return a.Origin != origin && a.Origin != executor.OriginInternal })
			f(c)
		})
	}
	around(s, "denied frames are not readable", func(c *suite.Case) {
		for name, read := range map[string]func() (string, error){
			"snapshot": func() (string, error) { return asText(c.Page().Snapshot(c.Ctx, nil)) },
			"find": func() (string, error) {
				return asText(c.Page().Snapshot(c.Ctx, &executor.SnapshotOptions{Find: "/words|heading|link|field/"}))
			},
			"text":     func() (string, error) { return asText(c.Page().Text(c.Ctx, nil)) },
			"html":     func() (string, error) { return asText(c.Page().HTML(c.Ctx, nil)) },
			"markdown": func() (string, error) { return asText(c.Page().Markdown(c.Ctx, nil)) },
			"links":    func() (string, error) { return asText(c.Page().Links(c.Ctx, nil)) },
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
			_, err := c.Page().Text(c.Ctx, &executor.TextOptions{Target: suite.Selector(sel)})
			c.WantCode(err, executor.ErrSelectorNotFound)
		}
		c.Met(executor.WaitCondition{Text: "Words of the page"})
		res, err := c.Page().WaitFor(c.Ctx, &executor.WaitCondition{Text: "SECRET words", Timeout: 10 * await.Soon})
		if err == nil && res.Matched {
			c.Errorf("a denied frame was searched: %+v", res)
		}
		if _, img := c.Shot(nil); deniedFramePixels(img) > 0 {
			c.Errorf("a screenshot shows %d pixels of a denied frame", deniedFramePixels(img))
		}
	})
	around(s.Shared(), "denied frames are masked", func(c *suite.Case) {
		for name, opts := range map[string]*executor.ScreenshotOptions{
			"viewport": nil, "jpeg": {Format: executor.FormatJPEG, Quality: 90}, "full page": {FullPage: true},
			"labels": {Labels: true}, "around one": {Target: suite.Selector("#around")}, "in a scroller": {Target: suite.Selector("#clip")},
			"a frame": {Target: suite.Selector("#turned")}, "far down": {Target: suite.Selector("#below")},
			"scaled": {MaxWidth: 640}, "full page scaled": {FullPage: true, MaxWidth: 1000, Format: executor.FormatJPEG},
		} {
			shot, _ := c.Shot(opts)
			if n := deniedFramePixels(c.Decode(shot)); n > 0 {
				c.Errorf("%s shows %d pixels of a denied frame", name, n)
			}
		}
		_, err := c.Page().Screenshot(c.Ctx, &executor.ScreenshotOptions{Format: executor.FormatWebP})
		c.WantCode(err, executor.ErrBadArgs, "Use png or jpeg")
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

// hostileFrame tests a frame of a denied origin that tries to send text to the client.
func hostileFrame(s *suite.Runner, t *testing.T) {
	quiet := func(c *suite.Case, what string, changes executor.Changes) {
		c.Helper()
		reported := strings.Join(changes.Errors, " ") + changes.Diff + changes.Snapshot + changes.Note
		if changes.Dialog != nil {
			reported += changes.Dialog.Message
		}
		for _, d := range changes.Downloads {
			reported += d.SuggestedName + d.Path + d.Reason
		}
		if strings.Contains(reported, "SECRET") {
			c.Errorf("%s contains %q", what, reported)
		}
	}
	s.Shared().Gated(t, "dialog", "frame-embedder.html", func(c *suite.Case, k *suite.Keeper) {
		k.DenyOrigin(c.OtherOrigin())
		a := c.Click(suite.Selector("#alert"), nil)
		quiet(c, "the click", a.Changes)
		var err error
		for err == nil { // the frame has its own process and opens the dialog with a delay
			_, err = c.Page().Text(c.Ctx, nil)
		}
		if c.WantCode(err, executor.ErrDialogOpen); strings.Contains(err.Error(), "SECRET") {
			c.Errorf("while it is open: %v", err)
		}
		res, err := c.Page().HandleDialog(c.Ctx, &executor.DialogAnswer{})
		if err != nil {
			c.Fatal(err)
		}
		if res.Type != executor.DialogAlert || res.Message != "" {
			c.Errorf("answered %+v", *res)
		}
	})
	s.Shared().Gated(t, "error", "frame-embedder.html", func(c *suite.Case, k *suite.Keeper) {
		k.DenyOrigin(c.OtherOrigin())
		quiet(c, "the click", c.Click(suite.Selector("#throw"), nil).Changes)
		c.Await("thrown", "frame")
		quiet(c, "the next one", c.Click(suite.Selector("h1"), nil).Changes)
	})
	s.Gated(t, "download", "frame-embedder.html", func(c *suite.Case, k *suite.Keeper) {
		k.DenyOrigin(c.OtherOrigin())
		quiet(c, "the click", c.Click(suite.Selector("#download"), nil).Changes)
		c.Await("downloaded", "frame")
		quiet(c, "the next one", c.Click(suite.Selector("h1"), nil).Changes)
	})
}

// nestedFrames tests frames that are not in the page's own document.
func nestedFrames(s *suite.Runner, t *testing.T) {
	s.Page(t, "frame of the page's site in a frame of another site", "snapshot_nest.html?plan=oo", func(c *suite.Case) {
		c.Click(suite.ByRef(c.RefIn(c.SnapWith("Words of level 2"), "button", "Button 2")), nil)
		c.Await("click", "deep2")
	})
}
