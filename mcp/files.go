package mcp

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
	"github.com/chrome-mcp/chrome-mcp/internal/toolschema"
)

// filesTools are the tools of [ToolsFiles].
var filesTools = []tool{
	onPage("upload_file", uploads, uploadArgs.run, "Give files to a file input, to what clicking an element asks to choose, or to a drop zone. Only files in the directory of --uploads-dir."),
	onPage("save_pdf", downloads, savePDFArgs.run, "Save the page as a PDF file."),
}

type uploadArgs struct {
	requiredTarget
	Paths []string `json:"paths" jsonschema:"relative to the upload directory"`
	tabArg
}

func (a uploadArgs) Check() error {
	if len(a.Paths) == 0 || len(a.Paths) > executor.MaxUploadFiles {
		return toolschema.BadArgs("Name the files to upload.", "paths must have 1 to %d elements, got %d", executor.MaxUploadFiles, len(a.Paths))
	}
	return a.requiredTarget.Check()
}

func (a uploadArgs) run(ctx context.Context, p executor.Page) (uploadResult, error) {
	u, err := p.Upload(ctx, a.target(), a.Paths, nil)
	if err == nil {
		u.Files = nonNil(u.Files)
	}
	return uploadResult{u}, err
}

type uploadResult struct{ *executor.Upload }

func (r uploadResult) Render(t *mcptext.Text) {
	for _, f := range r.Files {
		t.Line("uploaded %s, %s", mcptext.Quote(f.Name, mcptext.MaxName), mcptext.ByteCount(f.Bytes))
	}
	t.Changes(&r.Changes)
}

type savePDFArgs struct {
	Landscape  bool   `json:"landscape,omitempty"`
	Background bool   `json:"background,omitempty" jsonschema:"with background colors and images"`
	Name       string `json:"name,omitempty" jsonschema:"of the file"`
	tabArg
}

func (a savePDFArgs) waitDescription() string { return "the PDF" }

func (a savePDFArgs) run(ctx context.Context, p executor.Page) (pdfResult, error) {
	pdf, err := p.SavePDF(ctx, &executor.PDFOptions{Landscape: a.Landscape, Background: a.Background, Name: a.Name})
	return pdfResult{pdf}, err
}

type pdfResult struct{ *executor.PDF }

func (r pdfResult) Render(t *mcptext.Text) {
	t.Line("saved %s", mcptext.Quote(r.Path, mcptext.MaxURL))
	if r.Pages > 0 {
		t.Line("%s, %s", mcptext.ByteCount(r.Bytes), mcptext.Plural(r.Pages, "page"))
	} else {
		t.Line("%s", mcptext.ByteCount(r.Bytes))
	}
}
