package suite

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"golang.org/x/image/webp"
	"image"
	"image/jpeg"
	"image/png"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// Shot takes a screenshot, decodes it and checks that its size matches the result.
func (c *Case) Shot(opts *executor.ScreenshotOptions) (*executor.Screenshot, image.Image) {
	c.Helper()
	s, err := c.Page().Screenshot(c.Ctx, opts)
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
	return s, c.Decode(s)
}

// Decode decodes a screenshot and checks its size.
func (c *Case) Decode(s *executor.Screenshot) image.Image {
	c.Helper()
	var img image.Image
	var err error
	switch s.MIMEType {
	case "image/webp":
		img, err = decodeWebP(c, s.Data)
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

// decodeWebP has the page decode a WebP image, and checks the size in the file. golang.org/x/image does
// not convert the colors of lossy images as browsers do.
func decodeWebP(c *Case, data []byte) (image.Image, error) {
	c.Helper()
	config, err := webp.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	var size int
	c.Eval(`(async (data) => {
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
		text += c.EvalString(fmt.Sprintf("decodedImage.slice(%d, %d)", len(text), len(text)+part))
	}
	c.Eval("delete globalThis.decodedImage; 0", nil)
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
