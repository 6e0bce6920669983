package policy

import (
	"cmp"
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// Screenshot is forwarded if at least one site is allowed. An image has no origin to check, so only
// the Gate keeps denied pages and frames out of it.
func (p *guardedPage) Screenshot(ctx context.Context, opts *executor.ScreenshotOptions) (*executor.Screenshot, error) {
	if err := p.x.checkCall(ctx, "screenshot", p.tab); err != nil {
		return nil, err
	}
	return p.next.Screenshot(ctx, opts)
}

// Download needs the downloads grant, and an allowed URL if one is passed. Its result has no
// origin: the Gate checks the redirect hops to the file.
func (p *guardedPage) Download(ctx context.Context, opts *executor.DownloadOptions) (*executor.DownloadedFiles, error) {
	o := *cmp.Or(opts, new(executor.DownloadOptions))
	if o.URL != "" {
		var err error
		if o.URL, err = p.x.checkURL(ctx, "download_file", p.tab, o.URL); err != nil {
			return nil, err
		}
	}
	if err := p.x.checkCall(ctx, "download_file", p.tab, grantDownloads); err != nil {
		return nil, err
	}
	return p.next.Download(ctx, &o)
}
