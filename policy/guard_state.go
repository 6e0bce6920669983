package policy

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// SaveState and LoadState need the state grant, which is a configured directory. The Gate decides
// which sites they include.

func (x *guarded) SaveState(ctx context.Context, name string) (*executor.StateResult, error) {
	if err := x.checkCall(ctx, "session_state", "", grantState); err != nil {
		return nil, err
	}
	return x.next.SaveState(ctx, name)
}

func (x *guarded) LoadState(ctx context.Context, name string) (*executor.StateResult, error) {
	if err := x.checkCall(ctx, "session_state", "", grantState); err != nil {
		return nil, err
	}
	return x.next.LoadState(ctx, name)
}
