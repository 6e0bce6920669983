package mcp

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

type screenshotArgs struct {
	optionalTarget
	FullPage bool                 `json:"fullPage,omitempty"`
	Format   executor.ImageFormat `json:"format,omitempty" enum:"png|jpeg"`
	Quality  int                  `json:"quality,omitempty" min:"1" max:"100" jsonschema:"of jpeg"`
	Labels   bool                 `json:"labels,omitempty" jsonschema:"draw refs on elements"`
	tabArg
}

func (a screenshotArgs) check() error {
	switch {
	case a.FullPage && !a.target().IsZero():
		return badArgs("Give one or the other.", "fullPage and a selector or ref contradict each other")
	case a.Quality != 0 && a.Format != executor.FormatJPEG:
		return badArgs("Leave quality out, or give format jpeg.", "quality needs format to be jpeg")
	}
	return a.optionalTarget.check()
}

func (s *session) screenshot(ctx context.Context, a screenshotArgs) (pictured, error) {
	shot, err := s.ex.Screenshot(ctx, a.Tab, &executor.ScreenshotOptions{
		Target: a.target(), FullPage: a.FullPage, Format: a.Format, Quality: a.Quality, Labels: a.Labels,
	})
	return pictured{shot, a}, err
}

// pictured is a picture and what was asked for.
type pictured struct {
	*executor.Screenshot
	asked screenshotArgs
}

func (r pictured) images() []sdk.Content {
	return []sdk.Content{&sdk.ImageContent{Data: r.Data, MIMEType: r.MIMEType}}
}

func (r pictured) render(t *text) {
	t.line("%d x %d pixels", r.Width, r.Height)
	if !r.Truncated {
		return
	}
	what := own("page")
	if !r.asked.target().IsZero() {
		what = "element"
	}
	if r.FullHeight > r.Height {
		t.line("cut: the %s is %d pixels high", what, r.FullHeight)
	} else {
		t.line("cut: the %s is wider", what)
	}
}

type downloadArgs struct {
	URL string `json:"url,omitempty"`
	optionalTarget
	SuggestedName string `json:"suggestedName,omitempty"`
	tabArg
}

func (a downloadArgs) waitsFor() string { return "the download" }

func (a downloadArgs) check() error {
	if (a.URL == "") == a.target().IsZero() {
		return badArgs("Give exactly one of url, selector and ref.", "url or an element is needed, and not both")
	}
	return a.optionalTarget.check()
}

func (s *session) downloadFile(ctx context.Context, a downloadArgs) (downloaded, error) {
	d, err := s.ex.Download(ctx, a.Tab, executor.DownloadOptions{
		URL: a.URL, Target: a.target(), SuggestedName: a.SuggestedName,
	})
	return downloaded{d}, err
}

type downloaded struct{ *executor.Download }

func (r downloaded) render(t *text) {
	t.line("saved %s", quote(r.Path, maxURL))
	if r.MIMEType != "" {
		t.line("%d bytes of %s", r.Bytes, quote(r.MIMEType, maxName))
	} else {
		t.line("%d bytes", r.Bytes)
	}
	if r.SuggestedName != "" {
		t.line("suggested name %s", quote(r.SuggestedName, maxTitle))
	}
}
