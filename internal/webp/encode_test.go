package webp_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math/rand/v2"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
	"github.com/chrome-mcp/chrome-mcp/internal/webp"
)

// draws returns an image whose pixels are what at returns.
func drawn(width, height int, at func(x, y int) color.RGBA) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			img.SetRGBA(x, y, at(x, y))
		}
	}
	return img
}

// images returns images that together use all parts of the encoder.
func images() map[string]*image.RGBA {
	random := rand.New(rand.NewPCG(1, 2))
	any8 := func() uint8 { return uint8(random.Uint32()) }
	noise := func(int, int) color.RGBA { return color.RGBA{any8(), any8(), any8(), 255} }
	flat := func(int, int) color.RGBA { return color.RGBA{200, 10, 90, 255} }
	// Each green value is half as frequent as the one before, so the shortest code would have more
	// than 15 bits for the last ones.
	var greens []uint8
	for g := range 18 {
		for range 1 << g {
			greens = append(greens, uint8(g))
		}
	}
	random.Shuffle(len(greens), func(i, j int) { greens[i], greens[j] = greens[j], greens[i] })
	page := drawn(640, 400, func(x, y int) color.RGBA { return color.RGBA{255, 255, uint8(x / 160 * 60), 255} })
	for i := range 40 {
		r := image.Rect(0, 0, 5+i, 3).Add(image.Pt(i*13%600, i*9))
		draw.Draw(page, r, image.NewUniform(noise(0, 0)), image.Point{}, draw.Src)
	}
	return map[string]*image.RGBA{
		"one pixel":         drawn(1, 1, flat),
		"one color":         drawn(300, 200, flat),
		"two colors":        drawn(9, 9, func(x, y int) color.RGBA { return color.RGBA{0, uint8(x * y % 2), 0, 255} }),
		"noise":             drawn(257, 130, noise),
		"column":            drawn(1, 500, noise),
		"column of a color": drawn(1, 9000, flat),
		"widest":            drawn(webp.MaxSize, 2, func(x, _ int) color.RGBA { return color.RGBA{uint8(x), uint8(x >> 6), 7, 255} }),
		"gradient":          drawn(256, 256, func(x, y int) color.RGBA { return color.RGBA{uint8(x), uint8(y), uint8(x + y), 255} }),
		"rare values":       drawn(1<<9, 1<<9, func(x, y int) color.RGBA { return color.RGBA{any8(), greens[(x+y<<9)%len(greens)], any8(), 255} }),
		"page":              page,
		"part of an image":  page.SubImage(image.Rect(100, 50, 331, 200)).(*image.RGBA),
	}
}

// compare is a script that decodes two images and returns the first difference.
const compare = `(async (a, b) => {
	const pixels = async (type, data) => {
		const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
		const bitmap = await createImageBitmap(new Blob([bytes], { type }));
		const canvas = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d');
		canvas.drawImage(bitmap, 0, 0);
		return canvas.getImageData(0, 0, bitmap.width, bitmap.height);
	};
	const want = await pixels('image/png', a), got = await pixels('image/webp', b);
	if (want.width !== got.width || want.height !== got.height) return 'size ' + got.width + 'x' + got.height;
	const i = want.data.findIndex((v, i) => v !== got.data[i]);
	return i < 0 ? 'same' : 'byte ' + i + ' is ' + got.data[i] + ', want ' + want.data[i];
})`

// TestEncode has a browser decode images.
func TestEncode(t *testing.T) {
	tier.Browser(t)
	headless := true
	b := chromium.New(chromium.Options{Headless: &headless, Isolated: true, NoSandbox: true, DataDir: t.TempDir()})
	defer b.Close()
	session, err := b.NewSession(executor.SessionOptions{Gate: executor.AllowAll})
	if err != nil {
		t.Fatal(err)
	}
	page, _, err := session.NewPage(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, img := range images() {
		data, err := webp.Encode(img)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if width, height, ok := webp.Size(data); !ok || width != img.Rect.Dx() || height != img.Rect.Dy() {
			t.Errorf("%s: Size = %d x %d, %t, want %v", name, width, height, ok, img.Rect.Size())
		}
		var want bytes.Buffer
		if err := png.Encode(&want, img); err != nil {
			t.Fatal(err)
		}
		args, err := json.Marshal([]string{base64.StdEncoding.EncodeToString(want.Bytes()), base64.StdEncoding.EncodeToString(data)})
		if err != nil {
			t.Fatal(err)
		}
		res, err := page.Eval(t.Context(), compare+"(..."+string(args)+")", nil)
		if err != nil || string(res.Value) != `"same"` {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
		t.Logf("%s: %d bytes, as PNG %d", name, len(data), want.Len())
	}
}

func TestEncodeInvalidSize(t *testing.T) {
	for _, r := range []image.Rectangle{{}, image.Rect(0, 0, webp.MaxSize+1, 1), image.Rect(0, 0, 1, webp.MaxSize+1)} {
		if data, err := webp.Encode(image.NewRGBA(r)); err == nil {
			t.Errorf("%v: %d bytes", r, len(data))
		}
	}
}

// FuzzSize checks that Size accepts any data.
func FuzzSize(f *testing.F) {
	f.Add([]byte("RIFF\x00\x00\x00\x00WEBPVP8 \x00\x00\x00\x00\x00\x00\x00\x9d\x01\x2a\x20\x03\x58\x02\x00\x00\x00\x00"))
	f.Add([]byte("RIFF\x00\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\x1f\x03\x00\x57\x02\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if width, height, ok := webp.Size(data); ok != (width > 0 && height > 0) {
			t.Errorf("%d x %d, %t", width, height, ok)
		}
	})
}
