package policy

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// The activity log of a tab is read like its page: it is not returned while the policy denies the
// page. The Gate decides for each entry whether the document that it belongs to may be read.

func (p *guardedPage) Console(ctx context.Context, opts *executor.ConsoleOptions) (*executor.Console, error) {
	return read(ctx, p, "console_messages", func() (*executor.Console, error) { return p.next.Console(ctx, opts) },
		func(r *executor.Console) string { return r.Origin })
}

func (p *guardedPage) PageErrors(ctx context.Context, opts *executor.PageErrorsOptions) (*executor.PageErrors, error) {
	return read(ctx, p, "page_errors", func() (*executor.PageErrors, error) { return p.next.PageErrors(ctx, opts) },
		func(r *executor.PageErrors) string { return r.Origin })
}

func (p *guardedPage) Requests(ctx context.Context, opts *executor.RequestsOptions) (*executor.Requests, error) {
	return read(ctx, p, "network_requests", func() (*executor.Requests, error) { return p.next.Requests(ctx, opts) },
		func(r *executor.Requests) string { return r.Origin })
}
