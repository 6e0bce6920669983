package policy

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

func (x *guarded) Click(ctx context.Context, tab executor.TabID, target executor.Target, opts *executor.ClickOptions) (*executor.Action, error) {
	if err := x.checkCall(ctx, "click", tab, grantMutations); err != nil {
		return nil, err
	}
	a, err := x.next.Click(ctx, tab, target, opts)
	return x.redactAction(ctx, a), err
}

func (x *guarded) Type(ctx context.Context, tab executor.TabID, target executor.Target, text string, opts *executor.TypeOptions) (*executor.Action, error) {
	if err := x.checkCall(ctx, "type", tab, grantMutations); err != nil {
		return nil, err
	}
	a, err := x.next.Type(ctx, tab, target, text, opts)
	return x.redactAction(ctx, a), err
}

func (x *guarded) Press(ctx context.Context, tab executor.TabID, key string, opts *executor.PressOptions) (*executor.Action, error) {
	if err := x.checkCall(ctx, "press", tab, grantMutations); err != nil {
		return nil, err
	}
	a, err := x.next.Press(ctx, tab, key, opts)
	return x.redactAction(ctx, a), err
}

func (x *guarded) Hover(ctx context.Context, tab executor.TabID, target executor.Target, opts *executor.ActionOptions) (*executor.Action, error) {
	if err := x.checkCall(ctx, "hover", tab, grantMutations); err != nil {
		return nil, err
	}
	a, err := x.next.Hover(ctx, tab, target, opts)
	return x.redactAction(ctx, a), err
}

// Scroll needs no grant: it changes what is visible, not the page. Its result contains only
// positions, so the Gate's check of the page is sufficient.
func (x *guarded) Scroll(ctx context.Context, tab executor.TabID, opts executor.ScrollOptions) (*executor.ScrollResult, error) {
	if err := x.checkCall(ctx, "scroll", tab); err != nil {
		return nil, err
	}
	return x.next.Scroll(ctx, tab, opts)
}

func (x *guarded) SelectOption(ctx context.Context, tab executor.TabID, target executor.Target, values []string, opts *executor.ActionOptions) (*executor.Selection, error) {
	if err := x.checkCall(ctx, "select_option", tab, grantMutations); err != nil {
		return nil, err
	}
	s, err := x.next.SelectOption(ctx, tab, target, values, opts)
	if s != nil {
		c := *s
		c.Changes = x.redactChanges(ctx, c.Changes)
		s = &c
	}
	return s, err
}

func (x *guarded) FillForm(ctx context.Context, tab executor.TabID, fields []executor.Field, opts *executor.FillOptions) (*executor.FillResult, error) {
	if err := x.checkCall(ctx, "fill_form", tab, grantMutations); err != nil {
		return nil, err
	}
	f, err := x.next.FillForm(ctx, tab, fields, opts)
	if f != nil {
		c := *f
		c.Changes = x.redactChanges(ctx, c.Changes)
		f = &c
	}
	return f, err
}

// HandleDialog needs the mutations grant to accept a dialog, and no grant to dismiss it.
func (x *guarded) HandleDialog(ctx context.Context, tab executor.TabID, answer executor.DialogAnswer) (*executor.DialogResult, error) {
	var needs []grant
	if answer.Accept {
		needs = append(needs, grantMutations)
	}
	if err := x.checkCall(ctx, "handle_dialog", tab, needs...); err != nil {
		return nil, err
	}
	d, err := x.next.HandleDialog(ctx, tab, answer)
	if d != nil {
		c := *d
		if c.Changes = x.redactChanges(ctx, c.Changes); c.URL == executor.DeniedURL {
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
