package session

import (
	"bytes"
	"cmp"
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/page"
	"github.com/chrome-mcp/chrome-mcp/internal/upload"
)

// Upload uploads files of the session's directory to a page. It reads them after the wait in the
// call queue, so that waiting calls keep no files in memory.
func (p *tabPage) Upload(ctx context.Context, target executor.Target, paths []string, opts *executor.ActionOptions) (*executor.Upload, error) {
	return onTab(ctx, p, "upload", 0, func(v *page.View) (*executor.Upload, error) {
		files, err := upload.Read(p.session.opts.UploadsDir, paths)
		if err != nil {
			return nil, err
		}
		return v.Upload(ctx, target, files, opts)
	})
}

// SavePDF prints a page to a file in the download directory.
func (p *tabPage) SavePDF(ctx context.Context, opts *executor.PDFOptions) (*executor.PDF, error) {
	o := *cmp.Or(opts, new(executor.PDFOptions))
	s, id := p.session, p.tab
	b, t, err := s.locate(ctx, id)
	if err != nil {
		return nil, executor.Wrap("save pdf", id, asExecutorError(err))
	}
	id = s.ids.of(b, t)
	dir, err := b.Downloads()
	if err != nil {
		return nil, executor.Wrap("save pdf", id, asExecutorError(err))
	}
	return onTab(ctx, &tabPage{s, id}, "save pdf", 0, func(v *page.View) (*executor.PDF, error) {
		if err := v.Check(ctx, executor.OpDownload, ""); err != nil {
			return nil, err
		}
		printed, err := v.PDF(ctx, o)
		if err != nil {
			return nil, err
		}
		file, err := dir.SaveGenerated(cmp.Or(o.Name, printed.Title), ".pdf", bytes.NewReader(printed.Data))
		if err != nil {
			return nil, err
		}
		return &executor.PDF{Path: file.Path, Backend: s.provider.Kind(), Bytes: file.Bytes, Pages: printed.Pages}, nil
	})
}
