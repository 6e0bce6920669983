package policy

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

func (x *guarded) Navigate(ctx context.Context, tab executor.TabID, url string, opts *executor.NavigateOptions) (*executor.Navigation, error) {
	url, err := x.url(ctx, "navigate", tab, url) // before checkCall, because this denial names the host
	if err != nil {
		return nil, err
	}
	if err := x.checkCall(ctx, "navigate", tab); err != nil {
		return nil, err
	}
	n, err := x.next.Navigate(ctx, tab, url, opts)
	return x.checkNavigation(ctx, "navigate", tab, n, err)
}

func (x *guarded) Back(ctx context.Context, tab executor.TabID, opts *executor.NavigateOptions) (*executor.Navigation, error) {
	if err := x.checkCall(ctx, "back", tab); err != nil {
		return nil, err
	}
	n, err := x.next.Back(ctx, tab, opts)
	return x.checkNavigation(ctx, "back", tab, n, err)
}

func (x *guarded) Forward(ctx context.Context, tab executor.TabID, opts *executor.NavigateOptions) (*executor.Navigation, error) {
	if err := x.checkCall(ctx, "forward", tab); err != nil {
		return nil, err
	}
	n, err := x.next.Forward(ctx, tab, opts)
	return x.checkNavigation(ctx, "forward", tab, n, err)
}

func (x *guarded) Reload(ctx context.Context, tab executor.TabID, opts *executor.NavigateOptions) (*executor.Navigation, error) {
	if err := x.checkCall(ctx, "reload", tab); err != nil {
		return nil, err
	}
	n, err := x.next.Reload(ctx, tab, opts)
	return x.checkNavigation(ctx, "reload", tab, n, err)
}

// checkNavigation returns a denial in place of a navigation that ended on a denied page, so that
// the caller receives neither its URL nor its title nor its status.
func (x *guarded) checkNavigation(ctx context.Context, op string, tab executor.TabID, n *executor.Navigation, err error) (*executor.Navigation, error) {
	if n == nil {
		return nil, err
	}
	if denied := x.checkFinalURL(ctx, op, tab, n.URL); denied != nil {
		return nil, denied
	}
	return n, err
}

// WaitFor needs the eval grant for an expression. Its result reports only which condition is met
// and has no origin, so the Gate's check of the page is sufficient.
func (x *guarded) WaitFor(ctx context.Context, tab executor.TabID, cond executor.WaitCondition) (*executor.WaitResult, error) {
	var needs []grant
	if cond.Expression != "" {
		needs = append(needs, grantEval)
	}
	if err := x.checkCall(ctx, "wait_for", tab, needs...); err != nil {
		return nil, err
	}
	return x.next.WaitFor(ctx, tab, cond)
}
