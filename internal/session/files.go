package session

import (
	"bytes"
	"cmp"
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/page"
	"github.com/chrome-mcp/chrome-mcp/internal/upload"
)

// Upload gives files of the session's folder to a page. They are read first,
// when it is the call's turn: those that wait for theirs hold none in memory.
func (s *Session) Upload(ctx context.Context, id executor.TabID, target executor.Target, paths []string, opts *executor.ActionOptions) (*executor.Upload, error) {
	return onTab(ctx, s, "upload", id, 0, func(v *page.View) (*executor.Upload, error) {
		files, err := upload.Read(s.opts.UploadsDir, paths)
		if err != nil {
			return nil, err
		}
		return v.Upload(ctx, target, files, opts)
	})
}

// SavePDF prints a page into the folder of downloads.
func (s *Session) SavePDF(ctx context.Context, id executor.TabID, opts *executor.PDFOptions) (*executor.PDF, error) {
	var o executor.PDFOptions
	if opts != nil {
		o = *opts
	}
	b, _, err := s.locate(ctx, id)
	if err != nil {
		return nil, executor.Wrap("save pdf", id, explain(err))
	}
	dir, err := b.Downloads()
	if err != nil {
		return nil, executor.Wrap("save pdf", id, explain(err))
	}
	return onTab(ctx, s, "save pdf", id, 0, func(v *page.View) (*executor.PDF, error) {
		if err := v.Allows(ctx, executor.OpDownload, ""); err != nil {
			return nil, err
		}
		printed, err := v.PDF(ctx, o)
		if err != nil {
			return nil, err
		}
		file, err := dir.Keep(cmp.Or(o.Name, printed.Title), ".pdf", bytes.NewReader(printed.Data))
		if err != nil {
			return nil, err
		}
		return &executor.PDF{Path: file.Path, Backend: s.host.Kind(), Bytes: file.Bytes, Pages: printed.Pages}, nil
	})
}
