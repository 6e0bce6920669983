package policy

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// Upload needs the uploads grant in addition to the mutations grant, because the files leave this
// machine.
func (p *guardedPage) Upload(ctx context.Context, target executor.Target, paths []string, opts *executor.ActionOptions) (*executor.Upload, error) {
	if err := p.x.checkCall(ctx, "upload_file", p.tab, grantUploads, grantMutations); err != nil {
		return nil, err
	}
	u, err := p.next.Upload(ctx, target, paths, opts)
	if u != nil {
		c := *u
		c.Changes = p.x.redactChanges(ctx, c.Changes)
		u = &c
	}
	return u, err
}

// SavePDF needs the downloads grant. As for screenshots, the Gate decides what the file shows.
func (p *guardedPage) SavePDF(ctx context.Context, opts *executor.PDFOptions) (*executor.PDF, error) {
	if err := p.x.checkCall(ctx, "save_pdf", p.tab, grantDownloads); err != nil {
		return nil, err
	}
	return p.next.SavePDF(ctx, opts)
}
