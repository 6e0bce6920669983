package policy

import (
	"cmp"
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// Emulation does not change the page, so it needs no grant, except for additional headers: they can
// make a server act on a request that only reads. The Gate is queried about the page, and about
// each origin that gets headers.

func (p *guardedPage) Resize(ctx context.Context, opts *executor.ResizeOptions) (*executor.Viewport, error) {
	if err := p.x.checkCall(ctx, "resize", p.tab); err != nil {
		return nil, err
	}
	return p.next.Resize(ctx, opts)
}

func (p *guardedPage) Emulate(ctx context.Context, opts *executor.EmulateOptions) (*executor.Emulation, error) {
	o := *cmp.Or(opts, new(executor.EmulateOptions))
	var needs []grant
	if len(o.Headers) > 0 {
		needs = append(needs, grantMutations)
	}
	if err := p.x.checkCall(ctx, "emulate", p.tab, needs...); err != nil {
		return nil, err
	}
	return p.next.Emulate(ctx, &o)
}
