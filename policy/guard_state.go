package policy

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// SaveState and LoadState need the state grant, which is a configured directory. The Gate decides
// which sites they include.

func (g *guarded) SaveState(ctx context.Context, name string) (*executor.StateResult, error) {
	if err := g.checkCall(ctx, "session_state", "", grantState); err != nil {
		return nil, err
	}
	return g.next.SaveState(ctx, name)
}

func (g *guarded) LoadState(ctx context.Context, name string) (*executor.StateResult, error) {
	if err := g.checkCall(ctx, "session_state", "", grantState); err != nil {
		return nil, err
	}
	return g.next.LoadState(ctx, name)
}
