package policy

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// SaveState and LoadState need their own grant, a folder. Which sites they are
// about is the Gate's affair.

func (x *guarded) SaveState(ctx context.Context, name string) (*executor.State, error) {
	if err := x.enter(ctx, "session_state", "", grantState); err != nil {
		return nil, err
	}
	return x.next.SaveState(ctx, name)
}

func (x *guarded) LoadState(ctx context.Context, name string) (*executor.State, error) {
	if err := x.enter(ctx, "session_state", "", grantState); err != nil {
		return nil, err
	}
	return x.next.LoadState(ctx, name)
}
