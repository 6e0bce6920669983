package policy

import (
	"context"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// closeTimeout bounds closing a new tab whose page the policy denies.
const closeTimeout = 5 * time.Second

// ListTabs redacts the tabs that the policy denies.
func (x *guarded) ListTabs(ctx context.Context) ([]executor.Tab, error) {
	tabs, err := x.next.ListTabs(ctx)
	return x.redactTabs(ctx, tabs), err
}

// redactTabs returns a copy of tabs without the URLs and titles of denied pages.
func (x *guarded) redactTabs(ctx context.Context, tabs []executor.Tab) []executor.Tab {
	if tabs == nil {
		return nil
	}
	out := make([]executor.Tab, len(tabs))
	for i, t := range tabs {
		if x.isHidden(ctx, t.URL) {
			t.URL, t.Title = executor.DeniedURL, ""
		}
		out[i] = t
	}
	return out
}

func (x *guarded) SelectTab(ctx context.Context, tab executor.TabID) (*executor.Tab, error) {
	if err := x.checkCall(ctx, "tab_select", tab); err != nil {
		return nil, err
	}
	t, err := x.next.SelectTab(ctx, tab)
	if t == nil {
		return nil, err
	}
	if denied := x.checkFinalURL(ctx, "tab_select", tab, t.URL); denied != nil {
		return nil, denied
	}
	return t, err
}

// NewTab checks the URL before and after the load. It closes the tab if a redirect led to a denied
// page.
func (x *guarded) NewTab(ctx context.Context, url string, opts *executor.NewTabOptions) (*executor.Tab, error) {
	if url != "" {
		var err error
		if url, err = x.url(ctx, "tab_new", "", url); err != nil {
			return nil, err
		}
	}
	if x.guard.policyForCall(ctx).deniesAll() { // even if the user can be prompted: a blank page has no site to grant
		return nil, x.denialError(ctx, "tab_new", "", "", deniedEmpty())
	}
	t, err := x.next.NewTab(ctx, url, opts)
	if t == nil {
		return nil, err
	}
	if denied := x.checkFinalURL(ctx, "tab_new", "", t.URL); denied != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		_, _ = x.next.CloseTab(ctx, t.ID) // the denial is more important to the caller
		return nil, denied
	}
	return t, err
}

func (x *guarded) CloseTab(ctx context.Context, tab executor.TabID) (*executor.ClosedTab, error) {
	if err := x.checkCall(ctx, "tab_close", tab); err != nil {
		return nil, err
	}
	return x.next.CloseTab(ctx, tab)
}

// checkFinalURL checks the URL of the tab at the end of a call. It is empty for a tab that has
// loaded nothing.
func (x *guarded) checkFinalURL(ctx context.Context, op string, tab executor.TabID, url string) error {
	switch url {
	case "":
		return nil
	case executor.DeniedURL:
		return x.denialError(ctx, op, tab, url, deny(ruleFinalURL, "", "the page's URL is denied by policy"))
	}
	if err := x.guard.policyForCall(ctx).checkSerializedURL(url); err != nil {
		return x.denialError(ctx, op, tab, url, err)
	}
	return nil
}
