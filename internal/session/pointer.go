package session

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/page"
)

// Drag drags one element onto another.
func (s *Session) Drag(ctx context.Context, id executor.TabID, from, to executor.Target, opts *executor.ActionOptions) (*executor.Drag, error) {
	return onTab(ctx, s, "drag", id, 0, func(v *page.View) (*executor.Drag, error) { return v.Drag(ctx, from, to, opts) })
}

// Mouse sends one input event at a position in the viewport.
func (s *Session) Mouse(ctx context.Context, id executor.TabID, opts executor.MouseOptions) (*executor.Action, error) {
	return onTab(ctx, s, "mouse", id, 0, func(v *page.View) (*executor.Action, error) { return v.Mouse(ctx, opts) })
}
