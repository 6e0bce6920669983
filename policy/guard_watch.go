package policy

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

var _ executor.Watcher = (*guarded)(nil)

// WatchTabs redacts the tabs that the policy denies.
func (x *guarded) WatchTabs(ctx context.Context) []executor.Tab {
	return x.redactTabs(ctx, executor.AsWatcher(x.next).WatchTabs(ctx))
}

// Watch requires that at least one site is allowed. An image has no origin to check, so the Gate
// hides denied documents. It requires no grant, because the user watches and acts, not the client.
func (x *guarded) Watch(ctx context.Context, tab executor.TabID) (executor.LiveView, error) {
	if err := x.checkCall(ctx, "watch", tab); err != nil {
		return nil, err
	}
	return executor.AsWatcher(x.next).Watch(ctx, tab)
}
