package mcp

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

type tabsListArgs struct{}

type tabsResult struct {
	Tabs []executor.Tab `json:"tabs"`
}

func (s *toolSession) tabsList(ctx context.Context, _ tabsListArgs) (tabsResult, error) {
	tabs, err := s.ex.Tabs(ctx)
	return tabsResult{nonNil(tabs)}, err
}

func (r tabsResult) render(t *text) {
	if len(r.Tabs) == 0 {
		t.line("no tabs are open")
	}
	for _, tab := range r.Tabs {
		t.tab(tab)
		t.note(tab.Note)
	}
}

type tabResult struct{ *executor.Tab }

func (r tabResult) render(t *text) {
	t.tab(*r.Tab)
	t.note(r.Note)
}

type tabSelectArgs struct {
	Tab executor.TabID `json:"tabId"`
}

func (s *toolSession) tabSelect(ctx context.Context, a tabSelectArgs) (tabResult, error) {
	tab, err := s.ex.SelectTab(ctx, a.Tab)
	return tabResult{tab}, err
}

type tabNewArgs struct {
	URL    string `json:"url,omitempty" jsonschema:"default: a blank page"`
	Active *bool  `json:"active,omitempty" jsonschema:"default true"`
}

func (a tabNewArgs) waitDescription() string { return loadDescription(a.URL) }

func (s *toolSession) tabNew(ctx context.Context, a tabNewArgs) (tabResult, error) {
	_, tab, err := s.ex.NewPage(ctx, &executor.NewPageOptions{URL: a.URL, Inactive: a.Active != nil && !*a.Active})
	return tabResult{tab}, err
}

type tabCloseArgs struct {
	Tab executor.TabID `json:"tabId"`
}

func (a tabCloseArgs) tabID() executor.TabID { return a.Tab }

type closedResult struct{ *executor.ClosedTab }

func (a tabCloseArgs) run(ctx context.Context, p executor.Page) (closedResult, error) {
	closed, err := p.Close(ctx)
	return closedResult{closed}, err
}

func (r closedResult) render(t *text) {
	if r.Released {
		t.line("detached %s; it belongs to the user and stays open", r.Tab)
		return
	}
	t.line("closed %s", r.Tab)
}
