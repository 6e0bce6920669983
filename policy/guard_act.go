package policy

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

func (p *guardedPage) Click(ctx context.Context, target executor.Target, opts *executor.ClickOptions) (*executor.Action, error) {
	if err := p.x.checkCall(ctx, "click", p.tab, grantMutations); err != nil {
		return nil, err
	}
	a, err := p.next.Click(ctx, target, opts)
	return p.x.redactAction(ctx, a), err
}

func (p *guardedPage) Type(ctx context.Context, target executor.Target, text string, opts *executor.TypeOptions) (*executor.Action, error) {
	if err := p.x.checkCall(ctx, "type", p.tab, grantMutations); err != nil {
		return nil, err
	}
	a, err := p.next.Type(ctx, target, text, opts)
	return p.x.redactAction(ctx, a), err
}

func (p *guardedPage) Press(ctx context.Context, key string, opts *executor.PressOptions) (*executor.Action, error) {
	if err := p.x.checkCall(ctx, "press", p.tab, grantMutations); err != nil {
		return nil, err
	}
	a, err := p.next.Press(ctx, key, opts)
	return p.x.redactAction(ctx, a), err
}

func (p *guardedPage) Hover(ctx context.Context, target executor.Target, opts *executor.ActionOptions) (*executor.Action, error) {
	if err := p.x.checkCall(ctx, "hover", p.tab, grantMutations); err != nil {
		return nil, err
	}
	a, err := p.next.Hover(ctx, target, opts)
	return p.x.redactAction(ctx, a), err
}

// Scroll needs no grant: it changes what is visible, not the page. Its result contains only
// positions, so the Gate's check of the page is sufficient.
func (p *guardedPage) Scroll(ctx context.Context, opts executor.ScrollOptions) (*executor.ScrollResult, error) {
	if err := p.x.checkCall(ctx, "scroll", p.tab); err != nil {
		return nil, err
	}
	return p.next.Scroll(ctx, opts)
}

func (p *guardedPage) SelectOption(ctx context.Context, target executor.Target, values []string, opts *executor.ActionOptions) (*executor.Selection, error) {
	if err := p.x.checkCall(ctx, "select_option", p.tab, grantMutations); err != nil {
		return nil, err
	}
	s, err := p.next.SelectOption(ctx, target, values, opts)
	if s != nil {
		c := *s
		c.Changes = p.x.redactChanges(ctx, c.Changes)
		s = &c
	}
	return s, err
}

func (p *guardedPage) FillForm(ctx context.Context, fields []executor.Field, opts *executor.FillOptions) (*executor.FillResult, error) {
	if err := p.x.checkCall(ctx, "fill_form", p.tab, grantMutations); err != nil {
		return nil, err
	}
	f, err := p.next.FillForm(ctx, fields, opts)
	if f != nil {
		c := *f
		c.Changes = p.x.redactChanges(ctx, c.Changes)
		f = &c
	}
	return f, err
}

// HandleDialog needs the mutations grant to accept a dialog, and no grant to dismiss it.
func (p *guardedPage) HandleDialog(ctx context.Context, answer executor.DialogAnswer) (*executor.DialogResult, error) {
	var needs []grant
	if answer.Accept {
		needs = append(needs, grantMutations)
	}
	if err := p.x.checkCall(ctx, "handle_dialog", p.tab, needs...); err != nil {
		return nil, err
	}
	d, err := p.next.HandleDialog(ctx, answer)
	if d != nil {
		c := *d
		if c.Changes = p.x.redactChanges(ctx, c.Changes); c.URL == executor.DeniedURL {
			c.Message = "" // the session may dismiss a denied page's dialog, but not read it
		}
		d = &c
	}
	return d, err
}

func (x *guarded) redactAction(ctx context.Context, a *executor.Action) *executor.Action {
	if a == nil {
		return nil
	}
	c := *a
	c.Changes = x.redactChanges(ctx, c.Changes)
	return &c
}

// redactChanges returns c without what the policy denies. If the action navigated the tab to a
// denied page, c reports only that.
func (x *guarded) redactChanges(ctx context.Context, c executor.Changes) executor.Changes {
	c.NewTabs = x.redactTabs(ctx, c.NewTabs)
	movedOut := c.URL != "" && x.isHidden(ctx, c.URL)
	if movedOut || x.guard.policyForCall(ctx).checkOriginOnly(c.Origin) != nil {
		c.URL, c.Title, c.Origin = executor.DeniedURL, "", ""
		c.Diff, c.Snapshot, c.Errors, c.Unchanged = "", "", nil, false
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
