// Package pagetest shortens tests that call a page by the id of its tab.
package pagetest

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// Of returns the page of a tab of ex. It panics if ex does not return it.
func Of(ex executor.Executor, tab executor.TabID) executor.Page {
	p, err := ex.Page(context.Background(), tab)
	if err != nil {
		panic(err)
	}
	return p
}
