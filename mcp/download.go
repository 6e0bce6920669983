package mcp

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
	"github.com/chrome-mcp/chrome-mcp/internal/toolschema"
)

type downloadArgs struct {
	URL string `json:"url,omitempty"`
	optionalTarget
	SuggestedName string `json:"suggestedName,omitempty"`
	tabArg
}

func (a downloadArgs) waitDescription() string { return "the download" }

func (a downloadArgs) Check() error {
	if (a.URL == "") == a.target().IsZero() {
		return toolschema.BadArgs("Give exactly one of url, selector and ref.", "exactly one of url and an element is needed")
	}
	return a.optionalTarget.Check()
}

func (a downloadArgs) run(ctx context.Context, p executor.Page) (downloadResult, error) {
	d, err := p.Download(ctx, executor.DownloadOptions{
		URL: a.URL, Target: a.target(), SuggestedName: a.SuggestedName,
	})
	return downloadResult{d}, err
}

type downloadResult struct{ *executor.DownloadedFiles }

func (r downloadResult) Render(t *mcptext.Text) {
	t.Line("saved %s", mcptext.Quote(r.Path, mcptext.MaxURL))
	if r.MIMEType != "" {
		t.Line("%s of %s", mcptext.ByteCount(r.Bytes), mcptext.Quote(r.MIMEType, mcptext.MaxName))
	} else {
		t.Line("%s", mcptext.ByteCount(r.Bytes))
	}
	if r.SuggestedName != "" {
		t.Line("suggested name %s", mcptext.Quote(r.SuggestedName, mcptext.MaxTitle))
	}
	for _, d := range r.Others {
		t.Download("also started: download", d)
	}
	if r.More > 0 {
		t.Line("and %s", mcptext.Plural(r.More, "more download"))
	}
}
