package capture

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"math"

	_ "golang.org/x/image/webp" // for imageSize

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// roundedOut returns the smallest box of complete pixels that contains b, so that a screenshot
// includes the edges of an element.
func (b box) roundedOut() box {
	x, y := math.Floor(b.x), math.Floor(b.y)
	return box{x, y, math.Ceil(b.x+b.w) - x, math.Ceil(b.y+b.h) - y}
}

// within returns the part of b that is in page. It is empty if they do not overlap.
func (b box) within(page box) box {
	x, y := max(b.x, page.x), max(b.y, page.y)
	return box{x, y, max(0, min(b.x+b.w, page.x+page.w)-x), max(0, min(b.y+b.h, page.y+page.h)-y)}
}

// bounded returns b reduced to the maximum size of a screenshot. A larger one would take the
// browser too long, or all of its memory.
func (b box) bounded() box {
	b.w = min(b.w, executor.MaxScreenshotWidth)
	b.h = min(b.h, executor.MaxScreenshotHeight)
	if b.w*b.h > executor.MaxScreenshotArea {
		b.h = math.Floor(executor.MaxScreenshotArea / b.w)
	}
	return b
}

// cutAt returns b cut at the bottom, at a complete CSS pixel, so that its image of the given scale
// is at most maxHeight pixels high.
func (b box) cutAt(maxHeight int, scale float64) box {
	if limit := float64(maxHeight); maxHeight > 0 && math.Ceil(b.h*scale) > limit {
		// A scaled image may be one pixel higher, because the browser rounds up.
		if scale != 1 {
			limit -= 1
		}
		b.h = max(1, math.Floor(limit/scale))
	}
	return b
}

// scaleFor returns the factor, at most 1, by which b must be scaled to be at most maxWidth wide.
func (b box) scaleFor(maxWidth int) float64 {
	if maxWidth <= 0 || b.w <= float64(maxWidth) {
		return 1
	}
	return float64(maxWidth) / b.w
}

// in returns b relative to the upper left corner of the box shown, scaled.
func (b box) in(shown box, scale float64) box {
	return box{(b.x - shown.x) * scale, (b.y - shown.y) * scale, b.w * scale, b.h * scale}
}

// paintOn draws masks and labels on the screenshot, which is a PNG image, and encodes it as o says.
// shown is the part of the page that the screenshot shows, at the given scale.
func paintOn(shot *executor.Screenshot, o executor.ScreenshotOptions, shown box, scale float64, masks []box, labels []refLabel) error {
	decoded, err := png.Decode(bytes.NewReader(shot.Data))
	if err != nil {
		return executor.Errorf(executor.ErrInternal, "Take the screenshot again.", "decoding the screenshot: %w", err)
	}
	// Drop the partial pixels at the edge of a zoomed page.
	size := decoded.Bounds().Size()
	whole := shown.in(shown, scale)
	canvas := image.NewRGBA(image.Rect(0, 0, min(size.X, int(math.Ceil(whole.w))), min(size.Y, int(math.Ceil(whole.h)))))
	shot.Width, shot.Height = canvas.Bounds().Dx(), canvas.Bounds().Dy()
	draw.Draw(canvas, canvas.Bounds(), decoded, decoded.Bounds().Min, draw.Src)
	for _, m := range masks {
		m = m.in(shown, scale)
		r := image.Rect(int(math.Floor(m.x)), int(math.Floor(m.y)), int(math.Ceil(m.x+m.w)), int(math.Ceil(m.y+m.h)))
		draw.Draw(canvas, r, image.NewUniform(color.Gray{Y: 64}), image.Point{}, draw.Src)
	}
	for _, l := range labels {
		l.box = l.box.in(shown, scale)
		l.draw(canvas)
	}
	shot.Data, err = encode(canvas, o)
	return err
}

// encode encodes an image as PNG or JPEG.
func encode(img *image.RGBA, o executor.ScreenshotOptions) ([]byte, error) {
	var b bytes.Buffer
	var err error
	switch o.Format {
	case executor.FormatJPEG:
		err = jpeg.Encode(&b, img, &jpeg.Options{Quality: o.Quality})
	default:
		err = (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, img)
	}
	return b.Bytes(), err
}

// imageSize returns the width and height of an encoded screenshot.
func imageSize(data []byte) (width, height int, err error) {
	config, _, err := image.DecodeConfig(bytes.NewReader(data))
	return config.Width, config.Height, err
}
