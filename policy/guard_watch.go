package policy

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

var _ executor.Watcher = (*guarded)(nil)

// WatchTabs redacts the tabs that the policy denies.
func (g *guarded) WatchTabs(ctx context.Context) []executor.Tab {
	return g.redactTabs(ctx, executor.AsWatcher(g.next).WatchTabs(ctx))
}

// Watch requires that at least one site is allowed. An image has no origin to check, so the Gate
// hides denied documents. It requires no grant, because the user watches and acts, not the client.
func (g *guarded) Watch(ctx context.Context, tab executor.TabID) (executor.LiveView, error) {
	if err := g.checkCall(ctx, "watch", tab); err != nil {
		return nil, err
	}
	return executor.AsWatcher(g.next).Watch(ctx, tab)
}
