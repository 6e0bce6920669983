package policy

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

func (x *guarded) Click(ctx context.Context, tab executor.TabID, target executor.Target, opts *executor.ClickOptions) (*executor.Action, error) {
	if err := x.enter(ctx, "click", tab, grantMutations); err != nil {
		return nil, err
	}
	a, err := x.next.Click(ctx, tab, target, opts)
	return x.acted(ctx, a), err
}

func (x *guarded) Type(ctx context.Context, tab executor.TabID, target executor.Target, text string, opts *executor.TypeOptions) (*executor.Action, error) {
	if err := x.enter(ctx, "type", tab, grantMutations); err != nil {
		return nil, err
	}
	a, err := x.next.Type(ctx, tab, target, text, opts)
	return x.acted(ctx, a), err
}

func (x *guarded) Press(ctx context.Context, tab executor.TabID, key string, opts *executor.PressOptions) (*executor.Action, error) {
	if err := x.enter(ctx, "press", tab, grantMutations); err != nil {
		return nil, err
	}
	a, err := x.next.Press(ctx, tab, key, opts)
	return x.acted(ctx, a), err
}

func (x *guarded) Hover(ctx context.Context, tab executor.TabID, target executor.Target, opts *executor.ActionOptions) (*executor.Action, error) {
	if err := x.enter(ctx, "hover", tab, grantMutations); err != nil {
		return nil, err
	}
	a, err := x.next.Hover(ctx, tab, target, opts)
	return x.acted(ctx, a), err
}

// Scroll needs no grant: it changes what is seen, not the page. Its result
// has positions only, so that the Gate alone decides on the page.
func (x *guarded) Scroll(ctx context.Context, tab executor.TabID, opts executor.ScrollOptions) (*executor.ScrollResult, error) {
	if err := x.enter(ctx, "scroll", tab); err != nil {
		return nil, err
	}
	return x.next.Scroll(ctx, tab, opts)
}

func (x *guarded) SelectOption(ctx context.Context, tab executor.TabID, target executor.Target, values []string, opts *executor.ActionOptions) (*executor.Selection, error) {
	if err := x.enter(ctx, "select_option", tab, grantMutations); err != nil {
		return nil, err
	}
	s, err := x.next.SelectOption(ctx, tab, target, values, opts)
	if s != nil {
		c := *s
		c.Changes = x.shown(ctx, c.Changes)
		s = &c
	}
	return s, err
}

func (x *guarded) FillForm(ctx context.Context, tab executor.TabID, fields []executor.Field, opts *executor.FillOptions) (*executor.FillResult, error) {
	if err := x.enter(ctx, "fill_form", tab, grantMutations); err != nil {
		return nil, err
	}
	f, err := x.next.FillForm(ctx, tab, fields, opts)
	if f != nil {
		c := *f
		c.Changes = x.shown(ctx, c.Changes)
		f = &c
	}
	return f, err
}

// HandleDialog needs the grant for mutations to accept, and none to dismiss.
func (x *guarded) HandleDialog(ctx context.Context, tab executor.TabID, answer executor.DialogAnswer) (*executor.DialogResult, error) {
	var needs []grant
	if answer.Accept {
		needs = append(needs, grantMutations)
	}
	if err := x.enter(ctx, "handle_dialog", tab, needs...); err != nil {
		return nil, err
	}
	d, err := x.next.HandleDialog(ctx, tab, answer)
	if d != nil {
		c := *d
		if c.Changes = x.shown(ctx, c.Changes); c.URL == executor.DeniedURL {
			c.Message = "" // a tab of ours may be rid of a denied page's dialog, unread
		}
		d = &c
	}
	return d, err
}

func (x *guarded) acted(ctx context.Context, a *executor.Action) *executor.Action {
	if a == nil {
		return nil
	}
	c := *a
	c.Changes = x.shown(ctx, c.Changes)
	return &c
}

// shown returns c without what the policy hides. An action that led the tab
// to a denied place says that it did, and tells nothing that the page says.
func (x *guarded) shown(ctx context.Context, c executor.Changes) executor.Changes {
	c.NewTabs = x.shownTabs(ctx, c.NewTabs)
	movedOut := c.URL != "" && x.hides(ctx, c.URL)
	if movedOut || x.guard.policyOf(ctx).checkOriginOnly(c.Origin) != nil {
		c.URL, c.Title, c.Origin = executor.DeniedURL, "", ""
		c.Diff, c.Snapshot, c.Errors, c.Unchanged = "", "", nil, false
		c.Downloads = unnamed(c.Downloads)
		if c.Dialog != nil {
			c.Dialog = &executor.Dialog{Type: c.Dialog.Type}
		}
	}
	return c
}

// unnamed returns downloads without what a page or a server says of them.
func unnamed(downloads []executor.Download) []executor.Download {
	var out []executor.Download
	for _, d := range downloads {
		out = append(out, executor.Download{Backend: d.Backend, Bytes: d.Bytes, State: d.State})
	}
	return out
}
