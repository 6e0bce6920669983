package mcp

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// findTab returns the tab with an id, or the one that a call without an id uses. It returns the zero
// Tab if there is none.
func (r *toolRunner) findTab(ctx context.Context, id executor.TabID) (executor.Tab, error) {
	tabs, err := r.ex.Tabs(ctx)
	for _, t := range tabs {
		if id == t.ID || id == "" && (t.Active || len(tabs) == 1) {
			return t, err
		}
	}
	return executor.Tab{}, err
}
