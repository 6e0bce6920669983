package session

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/page"
)

// Resize sets the viewport size of a tab.
func (s *Session) Resize(ctx context.Context, id executor.TabID, opts executor.ResizeOptions) (*executor.Viewport, error) {
	return onTab(ctx, s, "resize", id, 0, func(v *page.View) (*executor.Viewport, error) { return v.Resize(ctx, opts) })
}

// Emulate changes the emulation settings of a tab.
func (s *Session) Emulate(ctx context.Context, id executor.TabID, opts executor.EmulateOptions) (*executor.Emulation, error) {
	return onTab(ctx, s, "emulate", id, 0, func(v *page.View) (*executor.Emulation, error) { return v.Emulate(ctx, opts) })
}
