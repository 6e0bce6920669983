package policy

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// Screenshot passes where some site is allowed. A picture does not tell what
// it is of, so that the Gate alone keeps denied pages and frames out of it.
func (x *guarded) Screenshot(ctx context.Context, tab executor.TabID, opts *executor.ScreenshotOptions) (*executor.Screenshot, error) {
	if err := x.enter(ctx, "screenshot", tab); err != nil {
		return nil, err
	}
	return x.next.Screenshot(ctx, tab, opts)
}

// Download needs its own grant, and an allowed URL where one is given. Its
// result has no origin: which hops led to the file is the Gate's affair.
func (x *guarded) Download(ctx context.Context, tab executor.TabID, opts executor.DownloadOptions) (*executor.Download, error) {
	if opts.URL != "" {
		u, err := x.url(ctx, "download_file", tab, opts.URL)
		if err != nil {
			return nil, err
		}
		opts.URL = u
	}
	if err := x.enter(ctx, "download_file", tab, grantDownloads); err != nil {
		return nil, err
	}
	return x.next.Download(ctx, tab, opts)
}
