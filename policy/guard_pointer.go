package policy

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

func (p *guardedPage) Drag(ctx context.Context, from, to executor.Target, opts *executor.ActionOptions) (*executor.Drag, error) {
	if err := p.x.checkCall(ctx, "drag", p.tab, grantMutations); err != nil {
		return nil, err
	}
	d, err := p.next.Drag(ctx, from, to, opts)
	if d != nil {
		c := *d
		c.Changes = p.x.redactChanges(ctx, c.Changes)
		d = &c
	}
	return d, err
}

func (p *guardedPage) Mouse(ctx context.Context, opts executor.MouseOptions) (*executor.Action, error) {
	if err := p.x.checkCall(ctx, "mouse", p.tab, grantMutations); err != nil {
		return nil, err
	}
	a, err := p.next.Mouse(ctx, opts)
	return p.x.redactAction(ctx, a), err
}
