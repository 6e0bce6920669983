package page

import (
	"context"

	cdppage "github.com/chromedp/cdproto/page"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// Back navigates to the previous entry of the tab's history. It does not send a form again, unless
// opts.Resubmit is set.
func (v *View) Back(ctx context.Context, opts *executor.NavigateOptions) (*executor.Navigation, error) {
	return v.history(ctx, -1, opts)
}

// Forward navigates to the next entry of the tab's history. It does not send a form again, unless
// opts.Resubmit is set.
func (v *View) Forward(ctx context.Context, opts *executor.NavigateOptions) (*executor.Navigation, error) {
	return v.history(ctx, 1, opts)
}

func (v *View) history(ctx context.Context, step int, opts *executor.NavigateOptions) (*executor.Navigation, error) {
	ctx, cancel := navigateContext(ctx, opts)
	defer cancel()
	var h cdppage.GetNavigationHistoryResult
	if err := v.tab.tree.Command(ctx, "Page.getNavigationHistory", nil, &h); err != nil {
		return nil, err
	}
	i := int(h.CurrentIndex) + step
	if i < 0 || i >= len(h.Entries) || (v.tab.own.Load() && i == 0 && h.Entries[0].URL == "about:blank") {
		direction := map[int]string{-1: "back", 1: "forward"}[step]
		return nil, executor.Errorf(executor.ErrNavigationFailed, "Use Page.Navigate with a URL.", "the tab's history has no entry to go %s to", direction)
	}
	destination := h.Entries[i].URL
	if err := v.Check(ctx, executor.OpNavigate, destination); err != nil {
		return nil, err
	}
	n := newNavigation(v, opts, hostOf(destination))
	return n.run(ctx, func(ctx context.Context) error {
		return n.loadAgain(ctx, opts != nil && opts.Resubmit, cdppage.CommandNavigateToHistoryEntry, map[string]any{"entryId": h.Entries[i].ID})
	})
}
