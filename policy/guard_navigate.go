package policy

import (
	"cmp"
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// Navigate is checked like Navigate of a page.
func (g *guarded) Navigate(
	ctx context.Context, url string, opts *executor.NavigateOptions,
) (*executor.Navigation, error) {
	return g.navigate(ctx, "", url,
		func(url string) (*executor.Navigation, error) { return g.next.Navigate(ctx, url, opts) })
}

func (p *guardedPage) Navigate(
	ctx context.Context, url string, opts *executor.NavigateOptions,
) (*executor.Navigation, error) {
	return p.x.navigate(ctx, p.tab, url,
		func(url string) (*executor.Navigation, error) { return p.next.Navigate(ctx, url, opts) })
}

// navigate checks url, forwards the navigation, and checks where it ended.
func (g *guarded) navigate(
	ctx context.Context, tab executor.TabID, url string, load func(url string) (*executor.Navigation, error),
) (*executor.Navigation, error) {
	url, err := g.checkURL(ctx, "navigate", tab, url) // before checkCall, because this denial names the host
	if err != nil {
		return nil, err
	}
	return g.navigateTo(ctx, "navigate", tab, func() (*executor.Navigation, error) { return load(url) })
}

func (p *guardedPage) Back(ctx context.Context, opts *executor.NavigateOptions) (*executor.Navigation, error) {
	return p.loadAgain(ctx, "back", opts, p.next.Back)
}

func (p *guardedPage) Forward(ctx context.Context, opts *executor.NavigateOptions) (*executor.Navigation, error) {
	return p.loadAgain(ctx, "forward", opts, p.next.Forward)
}

func (p *guardedPage) Reload(ctx context.Context, opts *executor.NavigateOptions) (*executor.Navigation, error) {
	return p.loadAgain(ctx, "reload", opts, p.next.Reload)
}

// loadAgain forwards a navigation that may load a page again. It needs the mutations grant to send a
// form again.
func (p *guardedPage) loadAgain(
	ctx context.Context, op string, opts *executor.NavigateOptions, load func(context.Context, *executor.NavigateOptions) (*executor.Navigation, error),
) (*executor.Navigation, error) {
	if opts != nil && opts.Resubmit {
		if err := p.x.checkCall(ctx, op, p.tab, grantMutations); err != nil {
			return nil, err
		}
	}
	return p.x.navigateTo(ctx, op, p.tab, func() (*executor.Navigation, error) { return load(ctx, opts) })
}

// navigateTo forwards one navigation. It returns a denial in place of one that ended on a denied page,
// so that the caller receives neither its URL nor its title nor its status.
func (g *guarded) navigateTo(
	ctx context.Context, op string, tab executor.TabID, load func() (*executor.Navigation, error),
) (*executor.Navigation, error) {
	if err := g.checkCall(ctx, op, tab); err != nil {
		return nil, err
	}
	n, err := load()
	if n == nil {
		return nil, err
	}
	if denied := g.checkFinalURL(ctx, op, tab, n.URL); denied != nil {
		return nil, denied
	}
	return n, err
}

// WaitFor needs the eval grant for an expression. Its result reports only which condition is met
// and has no origin, so the Gate's check of the page is sufficient.
func (p *guardedPage) WaitFor(ctx context.Context, cond *executor.WaitCondition) (*executor.WaitResult, error) {
	c := *cmp.Or(cond, new(executor.WaitCondition)) // the caller cannot change it after the check
	var needs []grant
	if c.Expression != "" {
		needs = append(needs, grantEval)
	}
	if err := p.x.checkCall(ctx, "wait_for", p.tab, needs...); err != nil {
		return nil, err
	}
	return p.next.WaitFor(ctx, &c)
}
