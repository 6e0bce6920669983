package page

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

var background = color.RGBA{R: 1, G: 2, B: 3, A: 255}

func canvas(w, h int) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.Draw(img, img.Bounds(), image.NewUniform(background), image.Point{}, draw.Src)
	return img
}

// painted returns the smallest rectangle around the pixels that are c.
func painted(img image.Image, c color.RGBA) image.Rectangle {
	var r image.Rectangle
	for y := img.Bounds().Min.Y; y < img.Bounds().Max.Y; y++ {
		for x := img.Bounds().Min.X; x < img.Bounds().Max.X; x++ {
			if color.RGBAModel.Convert(img.At(x, y)) == c {
				r = r.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	return r
}

// TestLabelPlace looks at where a label is drawn: above its box, and inside
// the picture when there is no room.
func TestLabelPlace(t *testing.T) {
	const tagHeight = glyphHeight*glyphScale + 2*glyphMargin
	tagWidth := len("e12")*glyphWidth*glyphScale + 2*glyphMargin
	for _, test := range []struct {
		name string
		box  box
		want image.Rectangle // of tag and frame
	}{
		{"in the middle", box{50, 50, 100, 20}, image.Rect(50, 50-tagHeight, 150, 70)},
		{"smaller than its tag", box{50, 50, 10, 10}, image.Rect(50, 50-tagHeight, 50+tagWidth, 60)},
		{"at the top", box{50, 0, 100, 30}, image.Rect(50, 0, 150, 30)},
		{"at the left, cut", box{-20, 50, 100, 20}, image.Rect(0, 50-tagHeight, 80, 70)},
		{"at the right", box{190, 50, 10, 10}, image.Rect(200-tagWidth, 50-tagHeight, 200, 60)},
		{"at the bottom, cut", box{50, 90, 100, 40}, image.Rect(50, 90-tagHeight, 150, 100)},
	} {
		img := canvas(200, 100)
		drawnLabel{text: "e12", box: test.box}.draw(img)
		if got := painted(img, labelColor).Union(painted(img, inkColor)); got != test.want {
			t.Errorf("%s: painted %v, want %v", test.name, got, test.want)
		}
		if got, want := painted(img, inkColor).Size(), image.Pt(tagWidth-2*glyphMargin-glyphScale, glyphHeight*glyphScale); got.X < want.X-glyphScale || got.Y != want.Y {
			t.Errorf("%s: the ref is written %v large, want about %v", test.name, got, want)
		}
	}
}

// TestLabelFrame leaves the inside of the box as it is.
func TestLabelFrame(t *testing.T) {
	img := canvas(200, 100)
	drawnLabel{text: "e1", box: box{20, 40, 100, 30}}.draw(img)
	for y := 41; y < 69; y++ {
		for x := 21; x < 119; x++ {
			if img.RGBAAt(x, y) != background {
				t.Fatalf("the element is painted over at %d,%d", x, y)
			}
		}
	}
	for _, p := range []image.Point{{20, 40}, {119, 40}, {20, 69}, {119, 69}, {70, 40}, {70, 69}, {20, 55}, {119, 55}} {
		if img.RGBAAt(p.X, p.Y) != labelColor {
			t.Errorf("no frame at %v", p)
		}
	}
}

// TestGlyphsDiffer: each ref can be told from the others, and every character
// that a ref may have can be drawn.
func TestGlyphsDiffer(t *testing.T) {
	seen := make(map[string]string)
	for n := range 100 {
		ref := fmt.Sprint("e", n)
		img := canvas(100, 60)
		drawnLabel{text: ref, box: box{10, 30, 60, 20}}.draw(img)
		if other, same := seen[string(img.Pix)]; same {
			t.Errorf("%s looks like %s", ref, other)
		}
		seen[string(img.Pix)] = ref
		if _, ok := glyphs[rune(ref[len(ref)-1])]; !ok {
			t.Errorf("the last character of %s has no glyph", ref)
		}
	}
}

// TestLabelAnywhere draws labels on and far off pictures of any size: whatever
// the page says of its boxes, it does not panic.
func TestLabelAnywhere(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		img := canvas(1+random.IntN(60), 1+random.IntN(60))
		b := box{random.Float64()*200 - 100, random.Float64()*200 - 100, random.Float64() * 200, random.Float64() * 200}
		drawnLabel{text: "e" + fmt.Sprint(random.IntN(1e6)), box: b}.draw(img)
	}
	for _, b := range []box{{}, {0, 0, -5, -5}, {1e18, 1e18, 1e18, 1e18}, {-1e18, 5, 2e18, 5}} {
		drawnLabel{text: "e1", box: b}.draw(canvas(10, 10))
	}
}

// TestPaint hides what the gate denies and draws labels, at their places in
// the picture, in both formats.
func TestPaint(t *testing.T) {
	var b bytes.Buffer
	if err := png.Encode(&b, canvas(200, 100)); err != nil {
		t.Fatal(err)
	}
	mask := color.RGBA{R: 64, G: 64, B: 64, A: 255}
	for _, format := range []executor.ImageFormat{executor.FormatPNG, executor.FormatJPEG} {
		shot := &executor.Screenshot{Data: b.Bytes()}
		err := new(View).paint(shot, executor.ScreenshotOptions{Format: format}, 90, box{1000, 500, 200, 100},
			[]box{{1050.5, 520.5, 20, 10}}, []drawnLabel{{text: "e1", box: box{1100, 550, 40, 20}}})
		if err != nil {
			t.Fatal(err)
		}
		if format == executor.FormatJPEG {
			img, err := jpeg.Decode(bytes.NewReader(shot.Data))
			if err != nil {
				t.Fatal(err)
			}
			if r, _, _, _ := img.At(60, 25).RGBA(); r>>8 < 60 || r>>8 > 68 {
				t.Errorf("jpeg: what is denied is %v", img.At(60, 25))
			}
			continue
		}
		img, err := png.Decode(bytes.NewReader(shot.Data))
		if err != nil {
			t.Fatal(err)
		}
		// Whole pixels, also where the box covers only a part of one.
		if got, want := painted(img, mask), image.Rect(50, 20, 71, 31); got != want {
			t.Errorf("masked %v, want %v", got, want)
		}
		if got := painted(img, labelColor); got.Max != image.Pt(140, 70) || got.Min.X != 100 {
			t.Errorf("the label is at %v", got)
		}
	}
	shot := &executor.Screenshot{Data: []byte("no picture")}
	if err := new(View).paint(shot, executor.ScreenshotOptions{}, 90, box{}, nil, nil); executor.CodeOf(err) != executor.ErrInternal {
		t.Errorf("got %v, want ErrInternal", err)
	}
}
