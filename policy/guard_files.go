package policy

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// Upload needs the uploads grant in addition to the mutations grant, because the files leave this
// machine.
func (x *guarded) Upload(ctx context.Context, tab executor.TabID, target executor.Target, paths []string, opts *executor.ActionOptions) (*executor.Upload, error) {
	if err := x.checkCall(ctx, "upload_file", tab, grantUploads, grantMutations); err != nil {
		return nil, err
	}
	u, err := x.next.Upload(ctx, tab, target, paths, opts)
	if u != nil {
		c := *u
		c.Changes = x.redactChanges(ctx, c.Changes)
		u = &c
	}
	return u, err
}

// SavePDF needs the downloads grant. As for screenshots, the Gate decides what the file shows.
func (x *guarded) SavePDF(ctx context.Context, tab executor.TabID, opts *executor.PDFOptions) (*executor.PDF, error) {
	if err := x.checkCall(ctx, "save_pdf", tab, grantDownloads); err != nil {
		return nil, err
	}
	return x.next.SavePDF(ctx, tab, opts)
}
