package executortest

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"testing"

	"golang.org/x/image/webp"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// decodeWebP has the page decode a WebP image, and checks the size in the file. golang.org/x/image does
// not convert the colors of lossy images as browsers do.
func (c *testCase) decodeWebP(data []byte) (image.Image, error) {
	c.Helper()
	config, err := webp.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	var size int
	c.eval(`(async (data) => {
		const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
		const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/webp' }));
		const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
		canvas.getContext('2d').drawImage(bitmap, 0, 0);
		const png = new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer());
		let text = '';
		for (let i = 0; i < png.length; i += 1 << 13) text += String.fromCharCode(...png.subarray(i, i + (1 << 13)));
		globalThis.decodedImage = btoa(text);
		return decodedImage.length;
	})("`+base64.StdEncoding.EncodeToString(data)+`")`, &size)
	var text string
	for len(text) < size {
		const part = 200_000 // less than executor.MaxEvalBytes
		text += c.evalString(fmt.Sprintf("decodedImage.slice(%d, %d)", len(text), len(text)+part))
	}
	c.eval("delete globalThis.decodedImage; 0", nil)
	decoded, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	img, err := png.Decode(bytes.NewReader(decoded))
	if err == nil && img.Bounds().Size() != image.Pt(config.Width, config.Height) {
		err = fmt.Errorf("the file has the size %d×%d, the image %v", config.Width, config.Height, img.Bounds().Size())
	}
	return img, err
}

// wantSize checks the size of a screenshot.
func (c *testCase) wantSize(what string, shot *executor.Screenshot, width, height int) {
	c.Helper()
	if shot.Width != width || shot.Height != height {
		c.Errorf("%s: %d×%d, want %d×%d", what, shot.Width, shot.Height, width, height)
	}
}

// screenshotFormats checks formats and sizes of screenshots of screenshot.html.
func (s *suite) screenshotFormats(t *testing.T) {
	red, blue, white := color.RGBA{R: 255}, color.RGBA{B: 255}, color.RGBA{255, 255, 255, 255}
	s.page(t, "webp", "screenshot.html", func(c *testCase) {
		shot, img := c.shot(&executor.ScreenshotOptions{Format: executor.FormatWebP})
		c.wantSize("viewport", shot, 1280, 720)
		c.wantColor(img, 200, 100, red)
		c.wantColor(img, 20, 20, white)
		shot, img = c.shot(&executor.ScreenshotOptions{Format: executor.FormatWebP, FullPage: true, Quality: 30})
		c.wantSize("full page", shot, 1280, 3000)
		c.wantColor(img, 100, 2060, blue)
		shot, img = c.shot(&executor.ScreenshotOptions{Format: executor.FormatWebP, Target: css("#below")})
		c.wantSize("element", shot, 300, 120)
		c.wantColor(img, 295, 115, blue)
	})
	s.page(t, "webp size depends on quality", "navigation-sheet.html", func(c *testCase) {
		var sizes []int
		for _, q := range []int{1, 0, 100} { // 0 means 80
			shot, _ := c.shot(&executor.ScreenshotOptions{Format: executor.FormatWebP, Quality: q})
			sizes = append(sizes, len(shot.Data))
		}
		if sizes[0]*2 > sizes[1] || sizes[1] >= sizes[2] {
			c.Errorf("sizes %v", sizes)
		}
	})
	s.page(t, "webp with labels", "screenshot.html", func(c *testCase) {
		_, err := c.page().Screenshot(c.ctx, &executor.ScreenshotOptions{Labels: true, Format: executor.FormatWebP})
		c.wantCode(err, executor.ErrBadArgs, "Use png or jpeg")
	})
	s.page(t, "webp of an element that is too high", "screenshot.html", func(c *testCase) {
		c.eval("below.style.cssText = 'left: 0; top: 0; width: 40px; height: 20000px'; 0", nil)
		shot, _ := c.shot(&executor.ScreenshotOptions{Target: css("#below"), Format: executor.FormatWebP})
		c.wantTruncated(shot, 40, 16_383, 20_000)
		shot, _ = c.shot(&executor.ScreenshotOptions{Target: css("#below"), MaxWidth: 20})
		c.wantTruncated(shot, 20, executor.MaxScreenshotHeight/2, 10_000)
	})
	s.page(t, "maximum width", "screenshot.html", func(c *testCase) {
		for _, format := range []executor.ImageFormat{executor.FormatPNG, executor.FormatJPEG, executor.FormatWebP} {
			c.eval("scrollTo(0, 0); 0", nil)
			shot, img := c.shot(&executor.ScreenshotOptions{MaxWidth: 640, Format: format})
			c.wantSize("viewport", shot, 640, 360)
			c.wantColor(img, 100, 50, red)
			c.wantColor(img, 10, 10, white)
			c.wantColor(img, 160, 50, white)
			shot, img = c.shot(&executor.ScreenshotOptions{MaxWidth: 320, FullPage: true, Format: format})
			c.wantSize("full page", shot, 320, 750)
			c.wantColor(img, 50, 25, red)
			c.wantColor(img, 25, 515, blue)
			shot, img = c.shot(&executor.ScreenshotOptions{MaxWidth: 100, Target: css("#below"), Format: format})
			c.wantSize("element", shot, 100, 40)
			c.wantColor(img, 2, 2, blue)
			c.wantColor(img, 97, 37, blue)
		}
		shot, _ := c.shot(&executor.ScreenshotOptions{MaxWidth: 5000})
		c.wantSize("never scaled up", shot, 1280, 720)
	})
	s.page(t, "maximum width leaves no trace", "screenshot.html", func(c *testCase) {
		c.eval("addEventListener('resize', () => seen.push(innerWidth + 'x' + innerHeight + ' at ' + devicePixelRatio)); 0", nil)
		seen := func(opts executor.ScreenshotOptions) string {
			c.eval("globalThis.seen = []; 0", nil)
			c.shot(&opts)
			c.eval("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))", nil)
			// While it captures more than the viewport, Chromium sets the size 1x1, which a
			// page on a busy machine notices (15 of 240 captures with plain Chromium 156).
			return c.evalString("seen.filter((size) => size !== '1x1 at 1').join()")
		}
		for _, opts := range []executor.ScreenshotOptions{{}, {FullPage: true}, {Target: css("#below")}} {
			plain := seen(opts)
			opts.MaxWidth = 100
			if got := seen(opts); got != plain {
				c.Errorf("%+v: the page saw %q, without a maximum width %q", opts, got, plain)
			}
		}
		c.wantValue("[innerWidth, innerHeight, devicePixelRatio, visualViewport.scale]", "1280,720,1,1")
	})
	s.page(t, "maximum width, any size", "screenshot.html", func(c *testCase) {
		for _, width := range []int{1, 2, 3, 7, 333, 641, 777, 1000, 1279, 1280, 1281} {
			shot, _ := c.shot(&executor.ScreenshotOptions{MaxWidth: width})
			want := min(width, 1280)
			if height := 720 * want / 1280; shot.Width > want || shot.Width < want-1 || shot.Height < height || shot.Height > height+1 {
				c.Errorf("maximum width %d: %d×%d", width, shot.Width, shot.Height)
			}
		}
		shot, _ := c.shot(&executor.ScreenshotOptions{MaxWidth: 2, Target: css("#below")})
		if shot.Width > 2 || shot.Height > 1 {
			c.Errorf("tiny: %d×%d", shot.Width, shot.Height)
		}
	})
	s.page(t, "maximum width, whatever the device's scale", "screenshot.html", func(c *testCase) {
		_, err := c.page().CDP(c.ctx, "Emulation.setDeviceMetricsOverride", map[string]any{"width": 1280, "height": 720, "deviceScaleFactor": 2, "mobile": false})
		if err != nil {
			c.Fatal(err)
		}
		shot, img := c.shot(&executor.ScreenshotOptions{MaxWidth: 640})
		c.wantSize("viewport", shot, 640, 360)
		c.wantColor(img, 145, 70, red)
		c.wantColor(img, 155, 70, white)
	})
	s.page(t, "labels with a maximum width", "screenshot.html", func(c *testCase) {
		snap := c.snap(nil)
		ref := c.refIn(snap, "button", "Label me")
		_, plain := c.shot(&executor.ScreenshotOptions{MaxWidth: 640})
		_, labelled := c.shot(&executor.ScreenshotOptions{MaxWidth: 640, Labels: true})
		if samePart(plain, labelled, image.Rect(245, 5, 310, 40)) {
			c.Errorf("no label %s at the button", ref)
		}
		if !samePart(plain, labelled, image.Rect(0, 50, 640, 360)) || !samePart(plain, labelled, image.Rect(400, 0, 640, 360)) {
			c.Error("something was drawn elsewhere")
		}
		if after := c.refIn(c.snap(nil), "button", "Label me"); after != ref {
			c.Errorf("the ref is now %s, was %s", after, ref)
		}
	})
	s.page(t, "maximum width, bad arguments", "screenshot.html", func(c *testCase) {
		for _, opts := range []executor.ScreenshotOptions{{MaxWidth: -1}, {Format: executor.FormatWebP, Quality: 101}, {Format: "WEBP"}} {
			_, err := c.page().Screenshot(c.ctx, &opts)
			c.wantCode(err, executor.ErrBadArgs)
		}
	})
}
