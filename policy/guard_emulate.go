package policy

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// Emulation does not change the page, so it needs no grant. The Gate is queried about the page.

func (p *guardedPage) Resize(ctx context.Context, opts executor.ResizeOptions) (*executor.Viewport, error) {
	if err := p.x.checkCall(ctx, "resize", p.tab); err != nil {
		return nil, err
	}
	return p.next.Resize(ctx, opts)
}

func (p *guardedPage) Emulate(ctx context.Context, opts executor.EmulateOptions) (*executor.Emulation, error) {
	if err := p.x.checkCall(ctx, "emulate", p.tab); err != nil {
		return nil, err
	}
	return p.next.Emulate(ctx, opts)
}
