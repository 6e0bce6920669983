package mcp

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

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
		t.line("and %s", plural(r.More, "more download"))
	}
}
