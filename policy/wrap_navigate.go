package policy

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

func (x *guarded) Navigate(ctx context.Context, tab executor.TabID, url string, opts *executor.NavigateOptions) (*executor.Navigation, error) {
	url, err := x.url(ctx, "navigate", tab, url) // before enter: its denial names the host
	if err != nil {
		return nil, err
	}
	if err := x.enter(ctx, "navigate", tab); err != nil {
		return nil, err
	}
	n, err := x.next.Navigate(ctx, tab, url, opts)
	return x.arrived(ctx, "navigate", tab, n, err)
}

func (x *guarded) Back(ctx context.Context, tab executor.TabID, opts *executor.NavigateOptions) (*executor.Navigation, error) {
	if err := x.enter(ctx, "back", tab); err != nil {
		return nil, err
	}
	n, err := x.next.Back(ctx, tab, opts)
	return x.arrived(ctx, "back", tab, n, err)
}

func (x *guarded) Forward(ctx context.Context, tab executor.TabID, opts *executor.NavigateOptions) (*executor.Navigation, error) {
	if err := x.enter(ctx, "forward", tab); err != nil {
		return nil, err
	}
	n, err := x.next.Forward(ctx, tab, opts)
	return x.arrived(ctx, "forward", tab, n, err)
}

func (x *guarded) Reload(ctx context.Context, tab executor.TabID, opts *executor.NavigateOptions) (*executor.Navigation, error) {
	if err := x.enter(ctx, "reload", tab); err != nil {
		return nil, err
	}
	n, err := x.next.Reload(ctx, tab, opts)
	return x.arrived(ctx, "reload", tab, n, err)
}

// arrived withholds a navigation that ended where the policy denies: nothing
// of the page is told, neither URL nor title nor status.
func (x *guarded) arrived(ctx context.Context, op string, tab executor.TabID, n *executor.Navigation, err error) (*executor.Navigation, error) {
	if n == nil {
		return nil, err
	}
	if denied := x.at(ctx, op, tab, n.URL); denied != nil {
		return nil, denied
	}
	return n, err
}

// WaitFor needs the eval grant for an expression. Its result says whether what
// the caller named is there, and no origin: the Gate alone decides on the page.
func (x *guarded) WaitFor(ctx context.Context, tab executor.TabID, cond executor.WaitCondition) (*executor.WaitResult, error) {
	var needs []grant
	if cond.Expression != "" {
		needs = append(needs, grantEval)
	}
	if err := x.enter(ctx, "wait_for", tab, needs...); err != nil {
		return nil, err
	}
	return x.next.WaitFor(ctx, tab, cond)
}
