package mcp

import (
	"cmp"
	"context"
	"path"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

type screenshotArgs struct {
	optionalTarget
	FullPage bool                 `json:"fullPage,omitempty"`
	Format   executor.ImageFormat `json:"format,omitempty" enum:"png|jpeg|webp"`
	Quality  int                  `json:"quality,omitempty" min:"1" max:"100" jsonschema:"of jpeg, webp"`
	MaxWidth int                  `json:"maxWidth,omitempty" min:"1" unit:"pixels"`
	Labels   bool                 `json:"labels,omitempty" jsonschema:"draw refs on elements"`
	tabArg
	fileArg
}

func (a screenshotArgs) check() error {
	switch {
	case a.FullPage && !a.target().IsZero():
		return badArgs("Give one or the other.", "fullPage and a selector or ref contradict each other")
	case a.File != "" && a.extension() != "" && imageFormats[a.extension()] == "":
		return badArgs("Let file end in .png, .jpg, .jpeg or .webp, or omit the extension.", "file ends in %s, which is not an image format of screenshot", quoteShort(a.extension()))
	case a.Format != "" && a.extension() != "" && imageFormats[a.extension()] != a.Format:
		return badArgs("Omit format, or let file end in it.", "file ends in %s, but format is %s", quoteShort(a.extension()), a.Format)
	case a.Quality != 0 && (a.format() == "" || a.format() == executor.FormatPNG):
		return badArgs("Omit quality, or set format to jpeg or webp.", "quality needs format to be jpeg or webp")
	}
	return a.optionalTarget.check()
}

// format returns the format of the image. Its default is that of the file's extension.
func (a screenshotArgs) format() executor.ImageFormat {
	return cmp.Or(a.Format, imageFormats[a.extension()])
}

// imageFormats are the formats of image files, by extension.
var imageFormats = map[string]executor.ImageFormat{
	".png": executor.FormatPNG, ".jpg": executor.FormatJPEG, ".jpeg": executor.FormatJPEG, ".webp": executor.FormatWebP,
}

// extension returns the extension of the file in lower case, or "".
func (a screenshotArgs) extension() string { return strings.ToLower(path.Ext(string(a.File))) }

func (a screenshotArgs) run(ctx context.Context, p executor.Page) (screenshotResult, error) {
	shot, err := p.Screenshot(ctx, &executor.ScreenshotOptions{
		Target: a.target(), FullPage: a.FullPage, Format: a.format(), Quality: a.Quality, MaxWidth: a.MaxWidth, Labels: a.Labels,
	})
	return screenshotResult{shot, a}, err
}

// screenshotResult is a screenshot and the arguments of the call.
type screenshotResult struct {
	*executor.Screenshot
	args screenshotArgs
}

func (r screenshotResult) images() []sdk.Content {
	return []sdk.Content{&sdk.ImageContent{Data: r.Data, MIMEType: r.MIMEType}}
}

func (r screenshotResult) render(t *text) {
	t.line("%s", r.size())
	r.warnings(t)
}

func (r screenshotResult) size() own { return ownf("%d x %d pixels", r.Width, r.Height) }

func (r screenshotResult) file(outputPath) (fileContent, bool) {
	return fileContent{data: r.Data, ext: "." + path.Base(r.MIMEType), facts: r.size()}, true
}

func (r screenshotResult) warnings(t *text) {
	t.note(r.Note)
	if !r.Truncated {
		return
	}
	what := own("page")
	if !r.args.target().IsZero() {
		what = "element"
	}
	if r.FullHeight > r.Height {
		t.line("truncated: the %s is %d pixels high", what, r.FullHeight)
	} else {
		t.line("truncated: the %s is wider", what)
	}
}

type downloadArgs struct {
	URL string `json:"url,omitempty"`
	optionalTarget
	SuggestedName string `json:"suggestedName,omitempty"`
	tabArg
}

func (a downloadArgs) waitDescription() string { return "the download" }

func (a downloadArgs) check() error {
	if (a.URL == "") == a.target().IsZero() {
		return badArgs("Give exactly one of url, selector and ref.", "exactly one of url and an element is needed")
	}
	return a.optionalTarget.check()
}

func (a downloadArgs) run(ctx context.Context, p executor.Page) (downloadResult, error) {
	d, err := p.Download(ctx, executor.DownloadOptions{
		URL: a.URL, Target: a.target(), SuggestedName: a.SuggestedName,
	})
	return downloadResult{d}, err
}

type downloadResult struct{ *executor.DownloadedFiles }

func (r downloadResult) render(t *text) {
	t.line("saved %s", quote(r.Path, maxURL))
	if r.MIMEType != "" {
		t.line("%s of %s", byteCount(r.Bytes), quote(r.MIMEType, maxName))
	} else {
		t.line("%s", byteCount(r.Bytes))
	}
	if r.SuggestedName != "" {
		t.line("suggested name %s", quote(r.SuggestedName, maxTitle))
	}
	for _, d := range r.Others {
		t.download("also started: download", d)
	}
	if r.More > 0 {
		t.line("and %d more downloads", r.More)
	}
}
