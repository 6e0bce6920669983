package policy

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

func (p *guardedPage) Drag(
	ctx context.Context, from, to executor.Target, opts *executor.ActionOptions,
) (*executor.Drag, error) {
	return act(ctx, p, "drag", func() (*executor.Drag, error) { return p.next.Drag(ctx, from, to, opts) },
		func(r *executor.Drag) *executor.Changes { return &r.Changes }, grantMutations)
}

func (p *guardedPage) Mouse(ctx context.Context, opts *executor.MouseOptions) (*executor.Action, error) {
	return p.action(ctx, "mouse", func() (*executor.Action, error) { return p.next.Mouse(ctx, opts) })
}
