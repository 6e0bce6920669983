package policy

import (
	"cmp"
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

func (p *guardedPage) Click(
	ctx context.Context, target executor.Target, opts *executor.ClickOptions,
) (*executor.Action, error) {
	return p.action(ctx, "click", func() (*executor.Action, error) { return p.next.Click(ctx, target, opts) })
}

func (p *guardedPage) Type(
	ctx context.Context, target executor.Target, text string, opts *executor.TypeOptions,
) (*executor.Action, error) {
	return p.action(ctx, "type", func() (*executor.Action, error) { return p.next.Type(ctx, target, text, opts) })
}

func (p *guardedPage) Press(ctx context.Context, key string, opts *executor.PressOptions) (*executor.Action, error) {
	return p.action(ctx, "press", func() (*executor.Action, error) { return p.next.Press(ctx, key, opts) })
}

func (p *guardedPage) Hover(
	ctx context.Context, target executor.Target, opts *executor.ActionOptions,
) (*executor.Action, error) {
	return p.action(ctx, "hover", func() (*executor.Action, error) { return p.next.Hover(ctx, target, opts) })
}

// Scroll needs no grant: it changes what is visible, not the page. Its result contains only
// positions, so the Gate's check of the page is sufficient.
func (p *guardedPage) Scroll(ctx context.Context, opts *executor.ScrollOptions) (*executor.ScrollResult, error) {
	if err := p.x.checkCall(ctx, "scroll", p.tab); err != nil {
		return nil, err
	}
	return p.next.Scroll(ctx, opts)
}

func (p *guardedPage) SelectOption(
	ctx context.Context, target executor.Target, values []string, opts *executor.ActionOptions,
) (*executor.Selection, error) {
	return act(ctx, p, "select_option",
		func() (*executor.Selection, error) { return p.next.SelectOption(ctx, target, values, opts) },
		func(r *executor.Selection) *executor.Changes { return &r.Changes }, grantMutations)
}

func (p *guardedPage) FillForm(
	ctx context.Context, fields []executor.Field, opts *executor.FillOptions,
) (*executor.FillResult, error) {
	return act(ctx, p, "fill_form", func() (*executor.FillResult, error) { return p.next.FillForm(ctx, fields, opts) },
		func(r *executor.FillResult) *executor.Changes { return &r.Changes }, grantMutations)
}

// HandleDialog needs the mutations grant to accept a dialog, and no grant to dismiss it.
func (p *guardedPage) HandleDialog(ctx context.Context, answer *executor.DialogAnswer) (*executor.DialogResult, error) {
	a := *cmp.Or(answer, new(executor.DialogAnswer))
	var needs []grant
	if a.Accept {
		needs = append(needs, grantMutations)
	}
	d, err := act(ctx, p, "handle_dialog",
		func() (*executor.DialogResult, error) { return p.next.HandleDialog(ctx, &a) },
		func(r *executor.DialogResult) *executor.Changes { return &r.Changes }, needs...)
	if d != nil && d.URL == executor.DeniedURL {
		d.Message = "" // the session may dismiss a denied page's dialog, but not read it
	}
	return d, err
}

// act forwards one call that acts in a page, and redacts the changes in a copy of its result.
func act[R any](ctx context.Context, p *guardedPage, op string,
	call func() (*R, error), changes func(*R) *executor.Changes, needs ...grant) (*R, error) {
	if err := p.x.checkCall(ctx, op, p.tab, needs...); err != nil {
		return nil, err
	}
	r, err := call()
	if r == nil {
		return nil, err
	}
	c := *r
	*changes(&c) = p.x.redactChanges(ctx, *changes(&c))
	return &c, err
}

// action is act for the calls whose result has only changes.
func (p *guardedPage) action(
	ctx context.Context, op string, call func() (*executor.Action, error),
) (*executor.Action, error) {
	return act(ctx, p, op, call, func(r *executor.Action) *executor.Changes { return &r.Changes }, grantMutations)
}

// redactChanges returns c without what the policy denies. If the action navigated the tab to a
// denied page, c reports only that.
func (g *guarded) redactChanges(ctx context.Context, c executor.Changes) executor.Changes {
	c.NewTabs = g.redactTabs(ctx, c.NewTabs)
	movedOut := c.URL != "" && g.isHidden(ctx, c.URL)
	if movedOut || g.guard.policyForCall(ctx).checkOriginOnly(c.Origin) != nil {
		c.URL, c.Title, c.Origin = executor.DeniedURL, "", ""
		c.Diff, c.Snapshot, c.Errors, c.Unchanged, c.Focused = "", "", nil, false, nil
		c.Downloads = withoutNames(c.Downloads)
		if c.Dialog != nil {
			c.Dialog = &executor.Dialog{Type: c.Dialog.Type}
		}
	}
	return c
}

// withoutNames returns downloads without the fields that a page or a server controls.
func withoutNames(downloads []executor.Download) []executor.Download {
	var out []executor.Download
	for _, d := range downloads {
		out = append(out, executor.Download{Backend: d.Backend, Bytes: d.Bytes, State: d.State})
	}
	return out
}
