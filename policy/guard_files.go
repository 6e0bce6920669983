package policy

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// Upload needs the uploads grant in addition to the mutations grant, because the files leave this
// machine.
func (p *guardedPage) Upload(
	ctx context.Context, target executor.Target, paths []string, opts *executor.ActionOptions,
) (*executor.Upload, error) {
	return act(ctx, p, "upload_file", func() (*executor.Upload, error) { return p.next.Upload(ctx, target, paths, opts) },
		func(r *executor.Upload) *executor.Changes { return &r.Changes }, grantUploads, grantMutations)
}

// SavePDF needs the downloads grant. As for screenshots, the Gate decides what the file shows.
func (p *guardedPage) SavePDF(ctx context.Context, opts *executor.PDFOptions) (*executor.PDF, error) {
	if err := p.x.checkCall(ctx, "save_pdf", p.tab, grantDownloads); err != nil {
		return nil, err
	}
	return p.next.SavePDF(ctx, opts)
}
