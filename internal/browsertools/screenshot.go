package browsertools

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
	"github.com/chrome-mcp/chrome-mcp/internal/toolschema"
)

type ScreenshotArgs struct {
	optionalTarget
	FullPage bool                 `json:"fullPage,omitempty"`
	Clip     *clipArg             `json:"clip,omitempty" jsonschema:"page x,y,width,height"`
	Format   executor.ImageFormat `json:"format,omitempty" enum:"png|jpeg|webp"`
	Quality  int                  `json:"quality,omitempty" min:"1" max:"100" jsonschema:"of jpeg, webp"`
	MaxWidth int                  `json:"maxWidth,omitempty" min:"1" unit:"pixels"`
	Labels   bool                 `json:"labels,omitempty" jsonschema:"draw refs on elements"`
	TabArg
	fileArg
}

// A clipArg is a part of the page, as in executor.ScreenshotOptions.
type clipArg executor.Clip

func (*clipArg) ArgSchema() string { return `"type":"array","items":{"type":"number"}` }
func (*clipArg) Expected() string  { return "an array of x, y, width and height" }

func (c *clipArg) DecodeArg(raw json.RawMessage) error {
	var n []float64
	if toolschema.JSONKind(raw) != "an array" {
		return fmt.Errorf("must be %s, got %s", c.Expected(), toolschema.JSONKind(raw))
	}
	if json.Unmarshal(raw, &n) != nil || len(n) != 4 {
		return fmt.Errorf("must be %s, got %s", c.Expected(), mcptext.QuoteShort(string(raw)))
	}
	if n[2] <= 0 || n[3] <= 0 {
		return fmt.Errorf("must have a positive width and height, got %v x %v", n[2], n[3])
	}
	*c = clipArg{n[0], n[1], n[2], n[3]}
	return nil
}

func (a ScreenshotArgs) Check() error {
	switch {
	case a.FullPage && !a.target().IsZero():
		return toolschema.BadArgs("Give one or the other.", "fullPage and a selector or ref contradict each other")
	case a.Clip != nil && !a.target().IsZero():
		return toolschema.BadArgs("Omit the selector or ref: clip counts from the upper left corner of the page.", "clip and a selector or ref contradict each other")
	case a.File != "" && a.extension() != "" && imageFormats[a.extension()] == "":
		return toolschema.BadArgs("Let file end in .png, .jpg, .jpeg or .webp, or omit the extension.", "file ends in %s, which is not an image format of screenshot", mcptext.QuoteShort(a.extension()))
	case a.Format != "" && a.extension() != "" && imageFormats[a.extension()] != a.Format:
		return toolschema.BadArgs("Omit format, or let file end in it.", "file ends in %s, but format is %s", mcptext.QuoteShort(a.extension()), a.Format)
	case a.Quality != 0 && (a.format() == "" || a.format() == executor.FormatPNG):
		return toolschema.BadArgs("Omit quality, or set format to jpeg or webp.", "quality needs format to be jpeg or webp")
	}
	return a.optionalTarget.Check()
}

// format returns the format of the image. Its default is that of the file's extension.
func (a ScreenshotArgs) format() executor.ImageFormat {
	return cmp.Or(a.Format, imageFormats[a.extension()])
}

// imageFormats are the formats of image files, by extension.
var imageFormats = map[string]executor.ImageFormat{
	".png": executor.FormatPNG, ".jpg": executor.FormatJPEG, ".jpeg": executor.FormatJPEG, ".webp": executor.FormatWebP,
}

// extension returns the extension of the file in lower case, or "".
func (a ScreenshotArgs) extension() string { return strings.ToLower(path.Ext(string(a.File))) }

// what names what the screenshot shows.
func (a ScreenshotArgs) what() mcptext.Own {
	switch {
	case !a.target().IsZero():
		return "element"
	case a.Clip != nil:
		return "clip"
	case a.FullPage:
		return "page"
	}
	return "viewport"
}

// Run takes a screenshot. Unless it is saved in a file, neither side of it is longer than maxSide,
// in pixels.
func (a ScreenshotArgs) Run(ctx context.Context, p executor.Page, maxSide int) (res ScreenshotResult, err error) {
	opts := executor.ScreenshotOptions{
		Target: a.target(), FullPage: a.FullPage, Clip: (*executor.Clip)(a.Clip),
		Format: a.format(), Quality: a.Quality, MaxWidth: a.MaxWidth, Labels: a.Labels,
	}
	res.args = a
	if a.File != "" {
		res.Screenshot, err = p.Screenshot(ctx, &opts)
		return res, err
	}
	opts.MaxWidth, opts.MaxHeight = min(cmp.Or(a.MaxWidth, maxSide), maxSide), maxSide
	res.Screenshot, err = p.Screenshot(ctx, &opts)
	for err == nil && Base64Size(res.Data) > maxImageBytes && res.Height > 1 {
		reduceImage(&opts, res.Height)
		res.replaced = opts.Quality
		res.Screenshot, err = p.Screenshot(ctx, &opts)
	}
	return res, err
}

// maxImageBytes is the maximum size of an image in a result, in base64. The interfaces of models reject
// a larger one.
const maxImageBytes = 5 << 20

// fallbackQualities are the qualities of the JPEG images that replace an image that is too large.
var fallbackQualities = []int{80, 50}

// reduceImage changes the options of an image of the given height that is too large: first to those of
// a JPEG image of lower quality, then to those of the upper half.
func reduceImage(o *executor.ScreenshotOptions, height int) {
	for _, q := range fallbackQualities {
		if o.Format != executor.FormatJPEG || cmp.Or(o.Quality, fallbackQualities[0]) > q {
			o.Format, o.Quality = executor.FormatJPEG, q
			return
		}
	}
	o.MaxHeight = height / 2
}

// Base64Size returns the size of data in base64.
func Base64Size(data []byte) int64 { return int64(len(data)+2) / 3 * 4 }

// ScreenshotResult is a screenshot and the arguments of the call.
type ScreenshotResult struct {
	*executor.Screenshot
	args     ScreenshotArgs
	replaced int // quality of the JPEG image that replaces the requested one, which was too large; or 0
}

func (r ScreenshotResult) Render(t *mcptext.Text) {
	t.Line("%s", r.size())
	r.Warnings(t)
}

func (r ScreenshotResult) size() mcptext.Own {
	return mcptext.Ownf("%d x %d pixels", r.Width, r.Height)
}

func (r ScreenshotResult) File(OutputPath) (FileContent, bool) {
	return FileContent{Data: r.Data, Ext: "." + path.Base(r.MIMEType), Facts: r.size()}, true
}

func (r ScreenshotResult) Warnings(t *mcptext.Text) {
	t.Note(r.Note)
	if r.Scale > 0 {
		t.Line("scaled to %.3g: it shows %.0f CSS pixels in width", r.Scale, float64(r.Width)/r.Scale)
	}
	if r.replaced > 0 {
		t.Line("a JPEG of quality %d, because the image would exceed %s in base64", r.replaced, mcptext.ByteCount(maxImageBytes))
	}
	if !r.Truncated {
		return
	}
	if r.FullHeight <= r.Height {
		t.Line("truncated: the %s is wider", r.args.what())
		return
	}
	next := mcptext.Own("")
	if c := r.NextClip; c != nil {
		next = mcptext.Ownf("; for the next part, pass clip [%v,%v,%v,%v]", c.X, c.Y, c.Width, c.Height)
	}
	t.Line("truncated: the %s is %d pixels high%s", r.args.what(), r.FullHeight, next)
}
