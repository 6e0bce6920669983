package policy

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// Emulation does not change the page, so it needs no grant. The Gate is queried about the page.

func (x *guarded) Resize(ctx context.Context, tab executor.TabID, opts executor.ResizeOptions) (*executor.Viewport, error) {
	if err := x.checkCall(ctx, "resize", tab); err != nil {
		return nil, err
	}
	return x.next.Resize(ctx, tab, opts)
}

func (x *guarded) Emulate(ctx context.Context, tab executor.TabID, opts executor.EmulateOptions) (*executor.Emulation, error) {
	if err := x.checkCall(ctx, "emulate", tab); err != nil {
		return nil, err
	}
	return x.next.Emulate(ctx, tab, opts)
}
