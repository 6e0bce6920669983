package session

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/page"
)

// Resize gives the viewport of a tab a size.
func (s *Session) Resize(ctx context.Context, id executor.TabID, opts executor.ResizeOptions) (*executor.Viewport, error) {
	return onTab(ctx, s, "resize", id, 0, func(v *page.View) (*executor.Viewport, error) { return v.Resize(ctx, opts) })
}

// Emulate changes what is emulated in a tab.
func (s *Session) Emulate(ctx context.Context, id executor.TabID, opts executor.EmulateOptions) (*executor.Emulation, error) {
	return onTab(ctx, s, "emulate", id, 0, func(v *page.View) (*executor.Emulation, error) { return v.Emulate(ctx, opts) })
}
