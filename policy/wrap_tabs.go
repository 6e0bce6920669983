package policy

import (
	"context"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// closeTimeout bounds the closing of a tab that ended where it may not be.
const closeTimeout = 5 * time.Second

// ListTabs passes and blanks what the policy hides.
func (x *guarded) ListTabs(ctx context.Context) ([]executor.Tab, error) {
	tabs, err := x.next.ListTabs(ctx)
	return x.shownTabs(ctx, tabs), err
}

// shownTabs returns a copy of tabs in which hidden ones tell only that they
// are there.
func (x *guarded) shownTabs(ctx context.Context, tabs []executor.Tab) []executor.Tab {
	if tabs == nil {
		return nil
	}
	out := make([]executor.Tab, len(tabs))
	for i, t := range tabs {
		if x.hides(ctx, t.URL) {
			t.URL, t.Title = executor.DeniedURL, ""
		}
		out[i] = t
	}
	return out
}

func (x *guarded) SelectTab(ctx context.Context, tab executor.TabID) (*executor.Tab, error) {
	if err := x.enter(ctx, "tab_select", tab); err != nil {
		return nil, err
	}
	t, err := x.next.SelectTab(ctx, tab)
	if t == nil {
		return nil, err
	}
	if denied := x.at(ctx, "tab_select", tab, t.URL); denied != nil {
		return nil, denied
	}
	return t, err
}

// NewTab checks the URL before and after: a tab that a redirect led to a
// denied place is closed again.
func (x *guarded) NewTab(ctx context.Context, url string, opts *executor.NewTabOptions) (*executor.Tab, error) {
	if url != "" {
		var err error
		if url, err = x.url(ctx, "tab_new", "", url); err != nil {
			return nil, err
		}
	}
	if x.guard.policyOf(ctx).deniesAll() { // asked or not: a blank page is of no site
		return nil, x.denied(ctx, "tab_new", "", "", deniedEmpty())
	}
	t, err := x.next.NewTab(ctx, url, opts)
	if t == nil {
		return nil, err
	}
	if denied := x.at(ctx, "tab_new", "", t.URL); denied != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		_, _ = x.next.CloseTab(ctx, t.ID) // the denial is what the caller must hear of
		return nil, denied
	}
	return t, err
}

func (x *guarded) CloseTab(ctx context.Context, tab executor.TabID) (*executor.ClosedTab, error) {
	if err := x.enter(ctx, "tab_close", tab); err != nil {
		return nil, err
	}
	return x.next.CloseTab(ctx, tab)
}

// at decides on the URL at which a call ended. A tab that has loaded nothing
// has none.
func (x *guarded) at(ctx context.Context, op string, tab executor.TabID, url string) error {
	switch url {
	case "":
		return nil
	case executor.DeniedURL:
		return x.denied(ctx, op, tab, url, deny(ruleWhere, "", "the page is at a place that the policy denies"))
	}
	if err := x.guard.policyOf(ctx).checkShown(url); err != nil {
		return x.denied(ctx, op, tab, url, err)
	}
	return nil
}
