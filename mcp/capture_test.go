package mcp

import (
	"cmp"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
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
		{"high element", `{"selector":"#a"}`, executor.Screenshot{Width: 1280, Height: 16384, Truncated: true, FullHeight: 20000},
			"1280 x 16384 pixels\ntruncated: the element is 20000 pixels high"},
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
