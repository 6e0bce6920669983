package capture

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"math/rand/v2"
	"testing"
)

var background = color.RGBA{R: 1, G: 2, B: 3, A: 255}

func canvas(w, h int) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.Draw(img, img.Bounds(), image.NewUniform(background), image.Point{}, draw.Src)
	return img
}

// painted returns the smallest rectangle around the pixels with color c.
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

// TestLabelPosition checks where a label is drawn: above its box, and inside the image if there is
// no space above.
func TestLabelPosition(t *testing.T) {
	const labelHeight = glyphHeight*glyphScale + 2*glyphMargin
	labelWidth := len("e12")*glyphWidth*glyphScale + 2*glyphMargin
	for _, test := range []struct {
		name string
		box  box
		want image.Rectangle // of label and frame
	}{
		{"in the middle", box{50, 50, 100, 20}, image.Rect(50, 50-labelHeight, 150, 70)},
		{"smaller than its label", box{50, 50, 10, 10}, image.Rect(50, 50-labelHeight, 50+labelWidth, 60)},
		{"at the top", box{50, 0, 100, 30}, image.Rect(50, 0, 150, 30)},
		{"clipped at the left", box{-20, 50, 100, 20}, image.Rect(0, 50-labelHeight, 80, 70)},
		{"at the right", box{190, 50, 10, 10}, image.Rect(200-labelWidth, 50-labelHeight, 200, 60)},
		{"clipped at the bottom", box{50, 90, 100, 40}, image.Rect(50, 90-labelHeight, 150, 100)},
	} {
		img := canvas(200, 100)
		refLabel{text: "e12", box: test.box}.draw(img)
		if got := painted(img, labelColor).Union(painted(img, inkColor)); got != test.want {
			t.Errorf("%s: painted %v, want %v", test.name, got, test.want)
		}
		if got, want := painted(img, inkColor).Size(), image.Pt(labelWidth-2*glyphMargin-glyphScale, glyphHeight*glyphScale); got.X < want.X-glyphScale || got.Y != want.Y {
			t.Errorf("%s: size of the text: %v, want about %v", test.name, got, want)
		}
	}
}

// TestLabelFrame checks that only the frame of the box is painted, not its inside.
func TestLabelFrame(t *testing.T) {
	img := canvas(200, 100)
	refLabel{text: "e1", box: box{20, 40, 100, 30}}.draw(img)
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

// TestGlyphsDiffer checks that different refs are drawn differently, and that each character of a
// ref has a glyph.
func TestGlyphsDiffer(t *testing.T) {
	seen := make(map[string]string)
	for n := range 100 {
		ref := fmt.Sprint("e", n)
		img := canvas(100, 60)
		refLabel{text: ref, box: box{10, 30, 60, 20}}.draw(img)
		if other, same := seen[string(img.Pix)]; same {
			t.Errorf("%s looks like %s", ref, other)
		}
		seen[string(img.Pix)] = ref
		if _, ok := glyphs[rune(ref[len(ref)-1])]; !ok {
			t.Errorf("the last character of %s has no glyph", ref)
		}
	}
}

// TestLabelAnywhere checks that drawing labels on or far outside images of any size does not panic,
// for any boxes that a page reports.
func TestLabelAnywhere(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		img := canvas(1+random.IntN(60), 1+random.IntN(60))
		b := box{random.Float64()*200 - 100, random.Float64()*200 - 100, random.Float64() * 200, random.Float64() * 200}
		refLabel{text: "e" + fmt.Sprint(random.IntN(1e6)), box: b}.draw(img)
	}
	for _, b := range []box{{}, {0, 0, -5, -5}, {1e18, 1e18, 1e18, 1e18}, {-1e18, 5, 2e18, 5}} {
		refLabel{text: "e1", box: b}.draw(canvas(10, 10))
	}
}
