package policy

import (
	"context"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// closeTimeout bounds closing a new tab whose page the policy denies.
const closeTimeout = 5 * time.Second

// Tabs redacts the tabs that the policy denies.
func (g *guarded) Tabs(ctx context.Context) ([]executor.Tab, error) {
	tabs, err := g.next.Tabs(ctx)
	return g.redactTabs(ctx, tabs), err
}

// redactTabs returns a copy of tabs without the URLs and titles of denied pages.
func (g *guarded) redactTabs(ctx context.Context, tabs []executor.Tab) []executor.Tab {
	if tabs == nil {
		return nil
	}
	out := make([]executor.Tab, len(tabs))
	for i, t := range tabs {
		if g.isHidden(ctx, t.URL) {
			t.URL, t.Title = executor.DeniedURL, ""
		}
		out[i] = t
	}
	return out
}

func (g *guarded) SelectTab(ctx context.Context, tab executor.TabID) (*executor.Tab, error) {
	if err := g.checkCall(ctx, "tab_select", tab); err != nil {
		return nil, err
	}
	t, err := g.next.SelectTab(ctx, tab)
	if t == nil {
		return nil, err
	}
	if denied := g.checkFinalURL(ctx, "tab_select", tab, t.URL); denied != nil {
		return nil, denied
	}
	return t, err
}

// Page needs no check: the methods of the page are checked.
func (g *guarded) Page(ctx context.Context, tab executor.TabID) (executor.Page, error) {
	next, err := g.next.Page(ctx, tab)
	if err != nil {
		return nil, err
	}
	return &guardedPage{x: g, next: next, tab: tab}, nil
}

// NewPage checks the URL before and after the load. It closes the tab if a redirect led to a denied
// page.
func (g *guarded) NewPage(ctx context.Context, opts *executor.NewPageOptions) (executor.Page, *executor.Tab, error) {
	var o executor.NewPageOptions
	if opts != nil {
		o = *opts
	}
	if o.URL != "" {
		var err error
		if o.URL, err = g.checkURL(ctx, "tab_new", "", o.URL); err != nil {
			return nil, nil, err
		}
	}
	if g.guard.policyForCall(ctx).allowsNoSite() { // even if the user can be prompted: a blank page has no site to grant
		return nil, nil, g.denialError(ctx, "tab_new", "", "", deniedEmpty())
	}
	next, t, err := g.next.NewPage(ctx, &o)
	if err != nil {
		return nil, nil, err
	}
	if denied := g.checkFinalURL(ctx, "tab_new", "", t.URL); denied != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		_, _ = next.Close(ctx) // the denial is more important to the caller
		return nil, nil, denied
	}
	return &guardedPage{x: g, next: next, tab: t.ID}, t, nil
}

func (p *guardedPage) ID() executor.TabID { return p.tab }

func (p *guardedPage) Close(ctx context.Context) (*executor.ClosedTab, error) {
	if err := p.x.checkCall(ctx, "tab_close", p.tab); err != nil {
		return nil, err
	}
	return p.next.Close(ctx)
}

// checkFinalURL checks the URL of the tab at the end of a call. It is empty for a tab that has
// loaded nothing.
func (g *guarded) checkFinalURL(ctx context.Context, op string, tab executor.TabID, url string) error {
	switch url {
	case "":
		return nil
	case executor.DeniedURL:
		return g.denialError(ctx, op, tab, url, deny(ruleFinalURL, "Load another URL with Page.Navigate, or use another tab.", "the page's URL is denied by policy"))
	}
	if err := g.guard.policyForCall(ctx).checkSerializedURL(url); err != nil {
		return g.denialError(ctx, op, tab, url, err)
	}
	return nil
}
