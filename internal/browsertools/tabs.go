package browsertools

import (
	"context"
	"fmt"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
	"github.com/chrome-mcp/chrome-mcp/internal/toolschema"
	"github.com/chrome-mcp/chrome-mcp/internal/urlglob"
)

type TabsListArgs struct{}

type TabsResult struct {
	Tabs []executor.Tab `json:"tabs"`
}

func (TabsListArgs) Run(ctx context.Context, ex executor.Executor) (TabsResult, error) {
	tabs, err := ex.Tabs(ctx)
	return TabsResult{NonNil(tabs)}, err
}

func (r TabsResult) Render(t *mcptext.Text) {
	if len(r.Tabs) == 0 {
		t.Line("no tabs are open")
	}
	for _, tab := range r.Tabs {
		t.Tab(tab)
		t.Note(tab.Note)
	}
}

type TabResult struct{ *executor.Tab }

func (r TabResult) Render(t *mcptext.Text) {
	t.Tab(*r.Tab)
	t.Note(r.Note)
}

type TabSelectArgs struct {
	Tab executor.TabID `json:"tabId,omitempty" jsonschema:"this or url"`
	URL string         `json:"url,omitempty" jsonschema:"glob"`
}

func (a TabSelectArgs) Check() error {
	if (a.Tab == "") == (a.URL == "") {
		return toolschema.BadArgs("Give one of tabId and url.", "exactly one of tabId and url is needed")
	}
	return nil
}

func (a TabSelectArgs) Run(ctx context.Context, ex executor.Executor) (TabResult, error) {
	id := a.Tab
	if a.URL != "" {
		var err error
		if id, err = tabWithURL(ctx, ex, a.URL); err != nil {
			return TabResult{}, err
		}
	}
	tab, err := ex.SelectTab(ctx, id)
	return TabResult{tab}, err
}

// tabWithURL returns the only tab whose URL matches pattern. If there is none or several, the error
// lists the open or the matching tabs.
func tabWithURL(ctx context.Context, ex executor.Executor, pattern string) (executor.TabID, error) {
	g, err := urlglob.Compile(pattern)
	if err != nil {
		return "", err
	}
	tabs, err := ex.Tabs(ctx)
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
			Err: &TabChoiceError{fmt.Sprintf("no tab has a URL that matches %q", pattern), OpenTabsHeading, tabs}}
	}
	return "", &executor.Error{Code: executor.ErrTabNotFound, Hint: "Give the tabId of one of them.",
		Err: &TabChoiceError{fmt.Sprintf("%d tabs have a URL that matches %q", len(matching), pattern), "Matching tabs", matching}}
}

// OpenTabsHeading is the heading of all tabs in an error.
const OpenTabsHeading = "Open tabs"

// A TabChoiceError reports that the arguments of a call do not determine a tab.
type TabChoiceError struct {
	reason  string
	Heading string // of the list of tabs
	Tabs    []executor.Tab
}

func (e *TabChoiceError) Error() string { return e.reason }

type TabNewArgs struct {
	URL     string `json:"url,omitempty" jsonschema:"default: a blank page"`
	Active  *bool  `json:"active,omitempty" jsonschema:"default true"`
	Browser string `json:"browser,omitempty" jsonschema:"a name from chrome_status"`
}

func (a TabNewArgs) WaitDescription() string { return loadDescription(a.URL) }

func (a TabNewArgs) Run(ctx context.Context, ex executor.Executor) (TabResult, error) {
	_, tab, err := ex.NewPage(ctx, &executor.NewPageOptions{URL: a.URL, Inactive: a.Active != nil && !*a.Active, Browser: a.Browser})
	return TabResult{tab}, err
}

type TabCloseArgs struct {
	Tab executor.TabID `json:"tabId"`
}

func (a TabCloseArgs) TabID() executor.TabID { return a.Tab }

type closedResult struct{ *executor.ClosedTab }

func (a TabCloseArgs) Run(ctx context.Context, p executor.Page) (closedResult, error) {
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
