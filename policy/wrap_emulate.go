package policy

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// What a tab's pages are shown is no change of theirs: it needs no grant, and
// the Gate is asked about the page.

func (x *guarded) Resize(ctx context.Context, tab executor.TabID, opts executor.ResizeOptions) (*executor.Viewport, error) {
	if err := x.enter(ctx, "resize", tab); err != nil {
		return nil, err
	}
	return x.next.Resize(ctx, tab, opts)
}

func (x *guarded) Emulate(ctx context.Context, tab executor.TabID, opts executor.EmulateOptions) (*executor.Emulation, error) {
	if err := x.enter(ctx, "emulate", tab); err != nil {
		return nil, err
	}
	return x.next.Emulate(ctx, tab, opts)
}
