package browsertools

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
	"github.com/chrome-mcp/chrome-mcp/internal/toolschema"
)

type UploadArgs struct {
	requiredTarget
	Paths []string `json:"paths" jsonschema:"relative to the upload directory"`
	TabArg
}

func (a UploadArgs) Check() error {
	if len(a.Paths) == 0 || len(a.Paths) > executor.MaxUploadFiles {
		return toolschema.BadArgs("Name the files to upload.", "paths must have 1 to %d elements, got %d", executor.MaxUploadFiles, len(a.Paths))
	}
	return a.requiredTarget.Check()
}

func (a UploadArgs) Run(ctx context.Context, p executor.Page) (UploadResult, error) {
	u, err := p.Upload(ctx, a.target(), a.Paths, nil)
	if err == nil {
		u.Files = NonNil(u.Files)
	}
	return UploadResult{u}, err
}

type UploadResult struct{ *executor.Upload }

func (r UploadResult) Render(t *mcptext.Text) {
	for _, f := range r.Files {
		t.Line("uploaded %s, %s", mcptext.Quote(f.Name, mcptext.MaxName), mcptext.ByteCount(f.Bytes))
	}
	t.Changes(&r.Changes)
}

type SavePDFArgs struct {
	Landscape  bool   `json:"landscape,omitempty"`
	Background bool   `json:"background,omitempty" jsonschema:"with background colors and images"`
	Name       string `json:"name,omitempty" jsonschema:"of the file"`
	TabArg
}

func (a SavePDFArgs) WaitDescription() string { return "the PDF" }

func (a SavePDFArgs) Run(ctx context.Context, p executor.Page) (PDFResult, error) {
	pdf, err := p.SavePDF(ctx, &executor.PDFOptions{Landscape: a.Landscape, Background: a.Background, Name: a.Name})
	return PDFResult{pdf}, err
}

type PDFResult struct{ *executor.PDF }

func (r PDFResult) Render(t *mcptext.Text) {
	t.Line("saved %s", mcptext.Quote(r.Path, mcptext.MaxURL))
	if r.Pages > 0 {
		t.Line("%s, %s", mcptext.ByteCount(r.Bytes), mcptext.Plural(r.Pages, "page"))
	} else {
		t.Line("%s", mcptext.ByteCount(r.Bytes))
	}
}
