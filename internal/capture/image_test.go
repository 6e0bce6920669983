package capture

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// TestPaintOn checks that masks and labels are painted at their positions in the image, in all
// formats.
func TestPaintOn(t *testing.T) {
	var b bytes.Buffer
	if err := png.Encode(&b, canvas(200, 100)); err != nil {
		t.Fatal(err)
	}
	paint := func(format executor.ImageFormat, shown box, scale float64) *executor.Screenshot {
		t.Helper()
		shot := &executor.Screenshot{Data: b.Bytes()}
		err := paintOn(shot, executor.ScreenshotOptions{Format: format, Quality: 90}, shown, scale,
			[]box{{1050.5, 520.5, 20, 10}}, []refLabel{{text: "e1", box: box{1100, 550, 40, 20}}})
		if err != nil {
			t.Fatal(err)
		}
		if width, height, err := imageSize(shot.Data); err != nil || width != shot.Width || height != shot.Height {
			t.Errorf("%s is %d x %d (%v), want %d x %d", format, width, height, err, shot.Width, shot.Height)
		}
		return shot
	}
	mask := color.RGBA{R: 64, G: 64, B: 64, A: 255}
	for _, c := range []struct {
		shown box
		scale float64
		mask  image.Rectangle
		label image.Point // lower left corner
	}{
		// Complete pixels, even if the box covers only a part of one.
		{box{1000, 500, 200, 100}, 1, image.Rect(50, 20, 71, 31), image.Pt(100, 70)},
		{box{1000, 500, 400, 200}, 0.5, image.Rect(25, 10, 36, 16), image.Pt(50, 35)},
	} {
		img, err := png.Decode(bytes.NewReader(paint(executor.FormatPNG, c.shown, c.scale).Data))
		if err != nil {
			t.Fatal(err)
		}
		if got := painted(img, mask); got != c.mask {
			t.Errorf("scale %v: masked %v, want %v", c.scale, got, c.mask)
		}
		if got := painted(img, labelColor); got.Min.X != c.label.X || got.Max.Y != c.label.Y {
			t.Errorf("scale %v: position of the label: %v, want the lower left corner at %v", c.scale, got, c.label)
		}
	}
	img, err := jpeg.Decode(bytes.NewReader(paint(executor.FormatJPEG, box{1000, 500, 200, 100}, 1).Data))
	if err != nil {
		t.Fatal(err)
	}
	if r, _, _, _ := img.At(60, 25).RGBA(); r>>8 < 60 || r>>8 > 68 {
		t.Errorf("jpeg: color of the mask: %v", img.At(60, 25))
	}
	shot := &executor.Screenshot{Data: []byte("not an image")}
	if err := paintOn(shot, executor.ScreenshotOptions{}, box{}, 1, nil, nil); executor.CodeOf(err) != executor.ErrInternal {
		t.Errorf("got %v, want ErrInternal", err)
	}
}
