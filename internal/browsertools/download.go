package browsertools

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
	"github.com/chrome-mcp/chrome-mcp/internal/toolschema"
)

type DownloadArgs struct {
	URL string `json:"url,omitempty"`
	optionalTarget
	SuggestedName string `json:"suggestedName,omitempty"`
	TabArg
}

func (a DownloadArgs) WaitDescription() string { return "the download" }

func (a DownloadArgs) Check() error {
	if (a.URL == "") == a.target().IsZero() {
		return toolschema.BadArgs("Give exactly one of url, selector and ref.", "exactly one of url and an element is needed")
	}
	return a.optionalTarget.Check()
}

func (a DownloadArgs) Run(ctx context.Context, p executor.Page) (DownloadResult, error) {
	d, err := p.Download(ctx, &executor.DownloadOptions{
		URL: a.URL, Target: a.target(), SuggestedName: a.SuggestedName,
	})
	return DownloadResult{d}, err
}

type DownloadResult struct{ *executor.DownloadedFiles }

func (r DownloadResult) Render(t *mcptext.Text) {
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
