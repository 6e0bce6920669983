package mcp

import (
	"context"
	"fmt"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
	"github.com/chrome-mcp/chrome-mcp/internal/toolschema"
	"github.com/chrome-mcp/chrome-mcp/internal/urlglob"
)

type tabsListArgs struct{}

type tabsResult struct {
	Tabs []executor.Tab `json:"tabs"`
}

func (s *toolSession) tabsList(ctx context.Context, _ tabsListArgs) (tabsResult, error) {
	tabs, err := s.ex.Tabs(ctx)
	return tabsResult{nonNil(tabs)}, err
}

func (r tabsResult) Render(t *mcptext.Text) {
	if len(r.Tabs) == 0 {
		t.Line("no tabs are open")
	}
	for _, tab := range r.Tabs {
		t.Tab(tab)
		t.Note(tab.Note)
	}
}

type tabResult struct{ *executor.Tab }

func (r tabResult) Render(t *mcptext.Text) {
	t.Tab(*r.Tab)
	t.Note(r.Note)
}

// findTab returns the tab with an id, or the one that a call without an id uses. It returns the zero
// Tab if there is none.
func (s *toolSession) findTab(ctx context.Context, id executor.TabID) (executor.Tab, error) {
	tabs, err := s.ex.Tabs(ctx)
	for _, t := range tabs {
		if id == t.ID || id == "" && (t.Active || len(tabs) == 1) {
			return t, err
		}
	}
	return executor.Tab{}, err
}

type tabSelectArgs struct {
	Tab executor.TabID `json:"tabId,omitempty" jsonschema:"this or url"`
	URL string         `json:"url,omitempty" jsonschema:"glob"`
}

func (a tabSelectArgs) Check() error {
	if (a.Tab == "") == (a.URL == "") {
		return toolschema.BadArgs("Give one of tabId and url.", "exactly one of tabId and url is needed")
	}
	return nil
}

func (s *toolSession) tabSelect(ctx context.Context, a tabSelectArgs) (tabResult, error) {
	id := a.Tab
	if a.URL != "" {
		var err error
		if id, err = s.tabWithURL(ctx, a.URL); err != nil {
			return tabResult{}, err
		}
	}
	tab, err := s.ex.SelectTab(ctx, id)
	return tabResult{tab}, err
}

// tabWithURL returns the only tab whose URL matches pattern. If there is none or several, the error
// lists the open or the matching tabs.
func (s *toolSession) tabWithURL(ctx context.Context, pattern string) (executor.TabID, error) {
	g, err := urlglob.Compile(pattern)
	if err != nil {
		return "", err
	}
	tabs, err := s.ex.Tabs(ctx)
	if err != nil {
		return "", err
	}
	var matching []executor.Tab
	for _, t := range tabs {
		if t.URL != executor.DeniedURL && g.Match(t.URL) {
			matching = append(matching, t)
		}
	}
	switch len(matching) {
	case 1:
		return matching[0].ID, nil
	case 0:
		return "", &executor.Error{Code: executor.ErrTabNotFound, Hint: "Give the tabId of an open tab, or open one with tab_new.",
			Err: &tabChoiceError{fmt.Sprintf("no tab has a URL that matches %q", pattern), openTabsHeading, tabs}}
	}
	return "", &executor.Error{Code: executor.ErrTabNotFound, Hint: "Give the tabId of one of them.",
		Err: &tabChoiceError{fmt.Sprintf("%d tabs have a URL that matches %q", len(matching), pattern), "Matching tabs", matching}}
}

// openTabsHeading is the heading of all tabs in an error.
const openTabsHeading = "Open tabs"

// A tabChoiceError reports that the arguments of a call do not determine a tab.
type tabChoiceError struct {
	reason  string
	heading string // of the list of tabs
	tabs    []executor.Tab
}

func (e *tabChoiceError) Error() string { return e.reason }

type tabNewArgs struct {
	URL     string `json:"url,omitempty" jsonschema:"default: a blank page"`
	Active  *bool  `json:"active,omitempty" jsonschema:"default true"`
	Browser string `json:"browser,omitempty" jsonschema:"a name from chrome_status"`
}

func (a tabNewArgs) waitDescription() string { return loadDescription(a.URL) }

func (s *toolSession) tabNew(ctx context.Context, a tabNewArgs) (tabResult, error) {
	_, tab, err := s.ex.NewPage(ctx, &executor.NewPageOptions{URL: a.URL, Inactive: a.Active != nil && !*a.Active, Browser: a.Browser})
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

func (r closedResult) Render(t *mcptext.Text) {
	if r.Released {
		t.Line("detached %s; it belongs to the user and stays open", r.Tab)
		return
	}
	t.Line("closed %s", r.Tab)
}
