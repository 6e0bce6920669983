package mcp

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

func TestScreenshotReportsTruncation(t *testing.T) {
	for _, c := range []struct {
		name, args string
		shot       executor.Screenshot
		want       string
	}{
		{"complete page", `{"fullPage":true}`, executor.Screenshot{Width: 1280, Height: 3000}, "1280 x 3000 pixels"},
		{"high page", `{"fullPage":true}`, executor.Screenshot{Width: 1280, Height: 16384, Truncated: true, FullHeight: 20000},
			"1280 x 16384 pixels\ntruncated: the page is 20000 pixels high"},
		{"high element", `{"selector":"#a"}`, executor.Screenshot{Width: 1280, Height: 16384, Truncated: true, FullHeight: 20000, NextClip: &executor.Clip{X: 8, Y: 16784.5, Width: 1280, Height: 3616}},
			"1280 x 16384 pixels\ntruncated: the element is 20000 pixels high; for the next part, pass clip [8,16784.5,1280,3616]"},
		{"high viewport", `{}`, executor.Screenshot{Width: 1920, Height: 1920, Truncated: true, FullHeight: 3000, Scale: 0.75, NextClip: &executor.Clip{Y: 2560, Width: 2560, Height: 1440}},
			"1920 x 1920 pixels\nscaled to 0.75: it shows 2560 CSS pixels in width\ntruncated: the viewport is 3000 pixels high; for the next part, pass clip [0,2560,2560,1440]"},
		{"wide element", `{"ref":"e1"}`, executor.Screenshot{Width: 16384, Height: 30, Truncated: true, FullHeight: 30},
			"16384 x 30 pixels\ntruncated: the element is wider"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fake{screenshot: func(context.Context, executor.TabID, *executor.ScreenshotOptions) (*executor.Screenshot, error) {
				c.shot.MIMEType = "image/png"
				return &c.shot, nil
			}}
			cs := connect(t, NewServer(f, &Options{Nonce: "k7f3q2"}), nil)
			if got := textOf(callTool(t, cs, "screenshot", c.args)); got != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
}

// TestScreenshotFormatOfFile checks that the name of a file and the format of the image in it
// match.
func TestScreenshotFormatOfFile(t *testing.T) {
	var format executor.ImageFormat
	f := &fake{screenshot: func(_ context.Context, _ executor.TabID, o *executor.ScreenshotOptions) (*executor.Screenshot, error) {
		format = o.Format
		return &executor.Screenshot{MIMEType: "image/" + string(cmp.Or(o.Format, executor.FormatPNG)), Width: 1, Height: 1}, nil
	}}
	cs := connect(t, NewServer(f, &Options{OutputDir: filepath.Join(t.TempDir(), "out")}), nil)
	for args, want := range map[string]executor.ImageFormat{
		`{"file":"a"}`: "", `{"file":"a.png"}`: "png", `{"file":"a.JPG"}`: "jpeg", `{"file":"a.b/c","format":"webp"}`: "webp", `{"file":"a.jpeg","format":"jpeg"}`: "jpeg",
	} {
		format = "none"
		if res := callTool(t, cs, "screenshot", args); res.IsError || format != want {
			t.Errorf("%s: format %q, want %q: %s", args, format, want, textOf(res))
		}
	}
	for args, want := range map[string]string{
		`{"file":"a.gif"}`:                 `BAD_ARGS: file ends in ".gif", which is not an image format of screenshot. Let file end in .png`,
		`{"file":"a.gif","format":"png"}`:  `file ends in ".gif"`,
		`{"file":"a.png","format":"jpeg"}`: `BAD_ARGS: file ends in ".png", but format is jpeg. Omit format`,
	} {
		format = "none"
		if text := textOf(callTool(t, cs, "screenshot", args)); !strings.Contains(text, want) || format != "none" {
			t.Errorf("%s: %s", args, text)
		}
	}
}

// pageOfShots is a fake whose page has a size, and whose images have size bytes, by format and quality.
func pageOfShots(width, height float64, size func(o executor.ScreenshotOptions) int, calls *[]executor.ScreenshotOptions) *fake {
	return &fake{screenshot: func(_ context.Context, _ executor.TabID, o *executor.ScreenshotOptions) (*executor.Screenshot, error) {
		*calls = append(*calls, *o)
		clip := *cmp.Or(o.Clip, &executor.Clip{Width: width, Height: height})
		full := min(clip.Height, height-clip.Y)
		shown := full
		if o.MaxHeight > 0 {
			shown = min(full, float64(o.MaxHeight))
		}
		shot := &executor.Screenshot{MIMEType: "image/" + string(cmp.Or(o.Format, executor.FormatPNG)), Width: int(clip.Width), Height: int(shown)}
		if shown < full {
			shot.Truncated, shot.FullHeight = true, int(full)
			shot.NextClip = &executor.Clip{X: clip.X, Y: clip.Y + shown, Width: clip.Width, Height: full - shown}
		}
		shot.Data = make([]byte, size(*o))
		return shot, nil
	}}
}

// TestImageLimits checks the limits of an image in a result: of its sides, which files do not have, and
// of its size in base64.
func TestImageLimits(t *testing.T) {
	var calls []executor.ScreenshotOptions
	small := func(executor.ScreenshotOptions) int { return 10 }
	for _, c := range []struct {
		name, args    string
		maxImage      int
		width, height int // of the options that the executor gets
	}{
		{"default", `{"fullPage":true}`, 0, 1920, 1920},
		{"element", `{"ref":"e1"}`, 0, 1920, 1920},
		{"viewport", `{}`, 0, 1920, 1920},
		{"smaller argument", `{"maxWidth":800}`, 0, 800, 1920},
		{"larger argument", `{"maxWidth":5000}`, 0, 1920, 1920},
		{"raised", `{"fullPage":true}`, 4000, 4000, 4000},
		{"file", `{"fullPage":true,"file":"a.png"}`, 0, 0, 0},
		{"file with an argument", `{"maxWidth":5000,"file":"a.png"}`, 0, 5000, 0},
	} {
		calls = nil
		cs := connect(t, NewServer(pageOfShots(1280, 16384, small, &calls), &Options{MaxImage: c.maxImage, OutputDir: filepath.Join(t.TempDir(), "out")}), nil)
		res := callTool(t, cs, "screenshot", c.args)
		if res.IsError || len(calls) != 1 || calls[0].MaxWidth != c.width || calls[0].MaxHeight != c.height {
			t.Errorf("%s: %+v, want %d x %d: %s", c.name, calls, c.width, c.height, textOf(res))
		}
	}

	// size returns the size of an image of noise, times factor.
	size := func(o executor.ScreenshotOptions, factor float64) int {
		n := 10e6 * factor
		if o.Format == executor.FormatJPEG {
			n = 100e3 * factor * float64(cmp.Or(o.Quality, 80))
		}
		return int(n * min(1, float64(o.MaxHeight)/1920))
	}
	for _, c := range []struct {
		name, args string
		factor     float64 // of the sizes
		want       string
		mime       string
	}{
		{"fits", `{"fullPage":true,"format":"jpeg","quality":10}`, 1, "1280 x 1920 pixels\ntruncated: the page is 16384 pixels high; for the next part, pass clip [0,1920,1280,14464]", "image/jpeg"},
		{"PNG", `{"clip":[0,1920,1280,500]}`, 0.4, "1280 x 500 pixels\na JPEG of quality 80, because the image would exceed 5242880 bytes in base64", "image/jpeg"},
		{"WebP", `{"clip":[0,16000,1280,500],"format":"webp"}`, 0.7, "1280 x 384 pixels\na JPEG of quality 50, because the image would exceed 5242880 bytes in base64", "image/jpeg"},
		{"JPEG", `{"clip":[0,0,1280,500],"format":"jpeg"}`, 0.7, "1280 x 500 pixels\na JPEG of quality 50, because the image would exceed 5242880 bytes in base64", "image/jpeg"},
		{"noise", `{"fullPage":true}`, 1, "1280 x 960 pixels\na JPEG of quality 50, because the image would exceed 5242880 bytes in base64\ntruncated: the page is 16384 pixels high; for the next part, pass clip [0,960,1280,15424]", "image/jpeg"},
	} {
		calls = nil
		page := pageOfShots(1280, 16384, func(o executor.ScreenshotOptions) int { return size(o, c.factor) }, &calls)
		cs := connect(t, NewServer(page, &Options{Tools: Toolsets()}), nil)
		for tool, args := range map[string]string{
			"screenshot": c.args,
			"batch":      `{"calls":[{"tool":"screenshot","args":` + c.args + `}]}`,
			"run_script": `{"script":"screenshot(` + strings.ReplaceAll(c.args, `"`, `\"`) + `)"}`,
		} {
			if (tool != "screenshot" || c.name == "WebP") && c.name != "noise" && !tier.DeepEnabled() {
				continue // large images are slow with the race detector
			}
			res := callTool(t, cs, tool, args)
			img, ok := res.Content[len(res.Content)-1].(*sdk.ImageContent)
			if !ok || img.MIMEType != c.mime || base64.StdEncoding.EncodedLen(len(img.Data)) > 5_242_880 {
				t.Errorf("%s, %s: no image within the limit: %s", c.name, tool, textOf(res))
			}
			if tool == "screenshot" && textOf(res) != c.want {
				t.Errorf("%s: got:\n%s\nwant:\n%s", c.name, textOf(res), c.want)
			}
		}
	}
}

// TestScreenshotParts reads a page in parts: each result names the clip of the next.
func TestScreenshotParts(t *testing.T) {
	var calls []executor.ScreenshotOptions
	cs := connect(t, NewServer(pageOfShots(1280, 4000, func(executor.ScreenshotOptions) int { return 10 }, &calls), nil), nil)
	args, shown := `{"fullPage":true}`, 0
	for range 10 {
		text := textOf(callTool(t, cs, "screenshot", args))
		var width, height int
		if _, err := fmt.Sscanf(text, "%d x %d pixels", &width, &height); err != nil {
			t.Fatal(text)
		}
		shown += height
		_, next, ok := strings.Cut(text, "pass clip ")
		if !ok {
			break
		}
		args = `{"clip":` + next + `}`
	}
	if shown != 4000 || len(calls) != 3 {
		t.Errorf("%d pixels in %d parts, want 4000 in 3", shown, len(calls))
	}
}

func TestScreenshotClip(t *testing.T) {
	var calls []executor.ScreenshotOptions
	cs := connect(t, NewServer(pageOfShots(1280, 4000, func(executor.ScreenshotOptions) int { return 10 }, &calls), nil), nil)
	for args, want := range map[string]string{
		`{"clip":[1,2,3]}`:                   `BAD_ARGS: clip must be an array of x, y, width and height, got "[1,2,3]"`,
		`{"clip":[1,2,3,"4"]}`:               `BAD_ARGS: clip must be an array of x, y, width and height`,
		`{"clip":"0,0,10,10"}`:               `BAD_ARGS: clip must be an array of x, y, width and height, got a string`,
		`{"clip":[0,0,10,0]}`:                `BAD_ARGS: clip must have a positive width and height, got 10 x 0`,
		`{"clip":[0,0,10,10],"ref":"e1"}`:    `BAD_ARGS: clip and a selector or ref contradict each other`,
		`{"clip":[0,0.5,10,10]}`:             `10 x 10 pixels`,
		`{"clip":null,"selector":"#a"}`:      `1280 x 1920 pixels`,
		`{"clip":[0,0,9,9],"fullPage":true}`: `9 x 9 pixels`,
	} {
		if got := textOf(callTool(t, cs, "screenshot", args)); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
}
