package policy

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// Upload needs its own grant beside that for mutations: what a page is given
// leaves this machine.
func (x *guarded) Upload(ctx context.Context, tab executor.TabID, target executor.Target, paths []string, opts *executor.ActionOptions) (*executor.Upload, error) {
	if err := x.enter(ctx, "upload_file", tab, grantUploads, grantMutations); err != nil {
		return nil, err
	}
	u, err := x.next.Upload(ctx, tab, target, paths, opts)
	if u != nil {
		c := *u
		c.Changes = x.shown(ctx, c.Changes)
		u = &c
	}
	return u, err
}

// SavePDF needs the grant for downloads. What the file shows is the Gate's
// affair, as with pictures.
func (x *guarded) SavePDF(ctx context.Context, tab executor.TabID, opts *executor.PDFOptions) (*executor.PDF, error) {
	if err := x.enter(ctx, "save_pdf", tab, grantDownloads); err != nil {
		return nil, err
	}
	return x.next.SavePDF(ctx, tab, opts)
}
