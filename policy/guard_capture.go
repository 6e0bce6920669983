package policy

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// Screenshot is forwarded if at least one site is allowed. An image has no origin to check, so only
// the Gate keeps denied pages and frames out of it.
func (x *guarded) Screenshot(ctx context.Context, tab executor.TabID, opts *executor.ScreenshotOptions) (*executor.Screenshot, error) {
	if err := x.checkCall(ctx, "screenshot", tab); err != nil {
		return nil, err
	}
	return x.next.Screenshot(ctx, tab, opts)
}

// Download needs the downloads grant, and an allowed URL if one is passed. Its result has no
// origin: the Gate checks the redirect hops to the file.
func (x *guarded) Download(ctx context.Context, tab executor.TabID, opts executor.DownloadOptions) (*executor.Download, error) {
	if opts.URL != "" {
		u, err := x.url(ctx, "download_file", tab, opts.URL)
		if err != nil {
			return nil, err
		}
		opts.URL = u
	}
	if err := x.checkCall(ctx, "download_file", tab, grantDownloads); err != nil {
		return nil, err
	}
	return x.next.Download(ctx, tab, opts)
}
