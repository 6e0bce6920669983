package policy

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// These methods are forwarded if at least one site is allowed. Their results are not returned if
// they were read from a denied origin.

func (x *guarded) Snapshot(ctx context.Context, tab executor.TabID, opts *executor.SnapshotOptions) (*executor.Snapshot, error) {
	return read(ctx, x, "snapshot", tab, func() (*executor.Snapshot, error) { return x.next.Snapshot(ctx, tab, opts) },
		func(r *executor.Snapshot) string { return r.Origin })
}

func (x *guarded) Text(ctx context.Context, tab executor.TabID, opts *executor.TextOptions) (*executor.Text, error) {
	return read(ctx, x, "get_text", tab, func() (*executor.Text, error) { return x.next.Text(ctx, tab, opts) },
		func(r *executor.Text) string { return r.Origin })
}

func (x *guarded) HTML(ctx context.Context, tab executor.TabID, opts *executor.HTMLOptions) (*executor.HTML, error) {
	return read(ctx, x, "get_html", tab, func() (*executor.HTML, error) { return x.next.HTML(ctx, tab, opts) },
		func(r *executor.HTML) string { return r.Origin })
}

func (x *guarded) Markdown(ctx context.Context, tab executor.TabID, opts *executor.MarkdownOptions) (*executor.Markdown, error) {
	return read(ctx, x, "read_as_markdown", tab, func() (*executor.Markdown, error) { return x.next.Markdown(ctx, tab, opts) },
		func(r *executor.Markdown) string { return r.Origin })
}

func (x *guarded) Links(ctx context.Context, tab executor.TabID, opts *executor.LinksOptions) (*executor.Links, error) {
	return read(ctx, x, "extract_links", tab, func() (*executor.Links, error) { return x.next.Links(ctx, tab, opts) },
		func(r *executor.Links) string { return r.Origin })
}

func (x *guarded) Eval(ctx context.Context, tab executor.TabID, expression string, opts *executor.EvalOptions) (*executor.EvalResult, error) {
	return read(ctx, x, "eval", tab, func() (*executor.EvalResult, error) { return x.next.Eval(ctx, tab, expression, opts) },
		func(r *executor.EvalResult) string { return r.Origin }, grantEval)
}

// read forwards one call that reads from a document, and checks the origin of its result.
func read[R any](ctx context.Context, x *guarded, op string, tab executor.TabID,
	call func() (*R, error), origin func(*R) string, needs ...grant) (*R, error) {
	if err := x.checkCall(ctx, op, tab, needs...); err != nil {
		return nil, err
	}
	r, err := call()
	if r == nil {
		return nil, err
	}
	if denied := x.checkOrigin(ctx, op, tab, origin(r)); denied != nil {
		return nil, denied
	}
	return r, err
}
