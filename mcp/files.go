package mcp

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// filesTools are the tools of [ToolsFiles].
var filesTools = []tool{
	def("upload_file", uploads, (*toolSession).uploadFile, "Give files to a file input, or to what clicking an element asks to choose. Only files of the folder that the user named with --uploads-dir."),
	def("save_pdf", downloads, (*toolSession).savePDF, "Save the page as a PDF file."),
}

type uploadArgs struct {
	requiredTarget
	Paths []string `json:"paths" jsonschema:"relative to the upload directory"`
	tabArg
}

func (a uploadArgs) check() error {
	if len(a.Paths) == 0 || len(a.Paths) > executor.MaxUploadFiles {
		return badArgs("Name the files to upload.", "paths must have 1 to %d elements, got %d", executor.MaxUploadFiles, len(a.Paths))
	}
	return a.requiredTarget.check()
}

func (s *toolSession) uploadFile(ctx context.Context, a uploadArgs) (uploadResult, error) {
	u, err := s.ex.Upload(ctx, a.Tab, a.target(), a.Paths, nil)
	if err == nil {
		u.Files = nonNil(u.Files)
	}
	return uploadResult{u}, err
}

type uploadResult struct{ *executor.Upload }

func (r uploadResult) render(t *text) {
	for _, f := range r.Files {
		t.line("uploaded %s, %d bytes", quote(f.Name, maxName), f.Bytes)
	}
	t.changes(&r.Changes)
}

type savePDFArgs struct {
	Landscape  bool   `json:"landscape,omitempty"`
	Background bool   `json:"background,omitempty" jsonschema:"with background colors and images"`
	Name       string `json:"name,omitempty" jsonschema:"of the file"`
	tabArg
}

func (a savePDFArgs) waitDescription() string { return "the PDF" }

func (s *toolSession) savePDF(ctx context.Context, a savePDFArgs) (pdfResult, error) {
	pdf, err := s.ex.SavePDF(ctx, a.Tab, &executor.PDFOptions{Landscape: a.Landscape, Background: a.Background, Name: a.Name})
	return pdfResult{pdf}, err
}

type pdfResult struct{ *executor.PDF }

func (r pdfResult) render(t *text) {
	t.line("saved %s", quote(r.Path, maxURL))
	if r.Pages > 0 {
		t.line("%d bytes, %s", r.Bytes, plural(r.Pages, "page"))
	} else {
		t.line("%d bytes", r.Bytes)
	}
}
