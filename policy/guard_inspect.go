package policy

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// The activity log of a tab is read like its page: it is not returned while the policy denies the
// page. The Gate decides for each entry whether the document that it belongs to may be read.

func (x *guarded) Console(ctx context.Context, tab executor.TabID, opts *executor.ConsoleOptions) (*executor.Console, error) {
	return read(ctx, x, "console_messages", tab, func() (*executor.Console, error) { return x.next.Console(ctx, tab, opts) },
		func(r *executor.Console) string { return r.Origin })
}

func (x *guarded) PageErrors(ctx context.Context, tab executor.TabID, opts *executor.PageErrorsOptions) (*executor.PageErrors, error) {
	return read(ctx, x, "page_errors", tab, func() (*executor.PageErrors, error) { return x.next.PageErrors(ctx, tab, opts) },
		func(r *executor.PageErrors) string { return r.Origin })
}

func (x *guarded) Requests(ctx context.Context, tab executor.TabID, opts *executor.RequestsOptions) (*executor.Requests, error) {
	return read(ctx, x, "network_requests", tab, func() (*executor.Requests, error) { return x.next.Requests(ctx, tab, opts) },
		func(r *executor.Requests) string { return r.Origin })
}
