package policy

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

func (x *guarded) Drag(ctx context.Context, tab executor.TabID, from, to executor.Target, opts *executor.ActionOptions) (*executor.Drag, error) {
	if err := x.checkCall(ctx, "drag", tab, grantMutations); err != nil {
		return nil, err
	}
	d, err := x.next.Drag(ctx, tab, from, to, opts)
	if d != nil {
		c := *d
		c.Changes = x.redactChanges(ctx, c.Changes)
		d = &c
	}
	return d, err
}

func (x *guarded) Mouse(ctx context.Context, tab executor.TabID, opts executor.MouseOptions) (*executor.Action, error) {
	if err := x.checkCall(ctx, "mouse", tab, grantMutations); err != nil {
		return nil, err
	}
	a, err := x.next.Mouse(ctx, tab, opts)
	return x.redactAction(ctx, a), err
}
