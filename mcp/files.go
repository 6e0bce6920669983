package mcp

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// filesTools are the tools of [ToolsFiles].
var filesTools = []tool{
	def("upload_file", uploads, (*session).uploadFile, "Give files to a file input, or to what clicking an element asks to choose. Only files of the folder that the user named with --uploads-dir."),
	def("save_pdf", downloads, (*session).savePDF, "Save the page as a PDF file."),
}

type uploadArgs struct {
	requiredTarget
	Paths []string `json:"paths" jsonschema:"relative to the folder of uploads"`
	tabArg
}

func (a uploadArgs) check() error {
	if len(a.Paths) == 0 || len(a.Paths) > executor.MaxUploadFiles {
		return badArgs("Name the files to upload.", "paths must have 1 to %d elements, got %d", executor.MaxUploadFiles, len(a.Paths))
	}
	return a.requiredTarget.check()
}

func (s *session) uploadFile(ctx context.Context, a uploadArgs) (uploaded, error) {
	u, err := s.ex.Upload(ctx, a.Tab, a.target(), a.Paths, nil)
	if err == nil {
		u.Files = some(u.Files)
	}
	return uploaded{u}, err
}

type uploaded struct{ *executor.Upload }

func (r uploaded) render(t *text) {
	for _, f := range r.Files {
		t.line("gave the page %s, %d bytes", quote(f.Name, maxName), f.Bytes)
	}
	t.changes(&r.Changes)
}

type savePDFArgs struct {
	Landscape  bool   `json:"landscape,omitempty"`
	Background bool   `json:"background,omitempty" jsonschema:"with background colours and pictures"`
	Name       string `json:"name,omitempty" jsonschema:"of the file"`
	tabArg
}

func (a savePDFArgs) waitsFor() string { return "the PDF" }

func (s *session) savePDF(ctx context.Context, a savePDFArgs) (printed, error) {
	pdf, err := s.ex.SavePDF(ctx, a.Tab, &executor.PDFOptions{Landscape: a.Landscape, Background: a.Background, Name: a.Name})
	return printed{pdf}, err
}

type printed struct{ *executor.PDF }

func (r printed) render(t *text) {
	t.line("saved %s", quote(r.Path, maxURL))
	if r.Pages > 0 {
		t.line("%d bytes, %s", r.Bytes, plural(r.Pages, "page"))
	} else {
		t.line("%d bytes", r.Bytes)
	}
}
