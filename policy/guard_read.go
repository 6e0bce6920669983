package policy

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// These methods are forwarded if at least one site is allowed. Their results are not returned if
// they were read from a denied origin.

func (p *guardedPage) Snapshot(ctx context.Context, opts *executor.SnapshotOptions) (*executor.Snapshot, error) {
	return read(ctx, p, "snapshot", func() (*executor.Snapshot, error) { return p.next.Snapshot(ctx, opts) },
		func(r *executor.Snapshot) string { return r.Origin })
}

func (p *guardedPage) Text(ctx context.Context, opts *executor.TextOptions) (*executor.Text, error) {
	return read(ctx, p, "get_text", func() (*executor.Text, error) { return p.next.Text(ctx, opts) },
		func(r *executor.Text) string { return r.Origin })
}

func (p *guardedPage) HTML(ctx context.Context, opts *executor.HTMLOptions) (*executor.HTML, error) {
	return read(ctx, p, "get_html", func() (*executor.HTML, error) { return p.next.HTML(ctx, opts) },
		func(r *executor.HTML) string { return r.Origin })
}

func (p *guardedPage) Markdown(ctx context.Context, opts *executor.MarkdownOptions) (*executor.Markdown, error) {
	return read(ctx, p, "read_as_markdown", func() (*executor.Markdown, error) { return p.next.Markdown(ctx, opts) },
		func(r *executor.Markdown) string { return r.Origin })
}

func (p *guardedPage) Links(ctx context.Context, opts *executor.LinksOptions) (*executor.Links, error) {
	return read(ctx, p, "extract_links", func() (*executor.Links, error) { return p.next.Links(ctx, opts) },
		func(r *executor.Links) string { return r.Origin })
}

func (p *guardedPage) Eval(
	ctx context.Context, expression string, opts *executor.EvalOptions,
) (*executor.EvalResult, error) {
	return read(ctx, p, "eval", func() (*executor.EvalResult, error) { return p.next.Eval(ctx, expression, opts) },
		func(r *executor.EvalResult) string { return r.Origin }, grantEval)
}

// read forwards one call that reads from a document, and checks the origin of its result.
func read[R any](ctx context.Context, p *guardedPage, op string,
	call func() (*R, error), origin func(*R) string, needs ...grant) (*R, error) {
	if err := p.x.checkCall(ctx, op, p.tab, needs...); err != nil {
		return nil, err
	}
	r, err := call()
	if r == nil {
		return nil, err
	}
	if denied := p.x.checkOrigin(ctx, op, p.tab, origin(r)); denied != nil {
		return nil, denied
	}
	return r, err
}
