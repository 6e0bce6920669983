package session

import (
	"context"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/page"
)

// turnLimit bounds the wait for a call's turn on a tab unless the call has a
// time of its own.
const turnLimit = 30 * time.Second

// onTab runs call with the client's view of a tab, when it is the call's turn
// there. The turn is waited for as long as the call itself may take, limit;
// 0 means turnLimit.
func onTab[T any](ctx context.Context, s *Session, op string, id executor.TabID, limit time.Duration, call func(*page.View) (T, error)) (T, error) {
	var zero T
	b, t, err := s.locate(ctx, id)
	if err != nil {
		return zero, executor.Wrap(op, id, explain(err))
	}
	id = s.id(b, t)
	v := s.view(t)
	if limit <= 0 {
		limit = turnLimit
	}
	turn, cancel := context.WithTimeout(ctx, limit)
	leave, err := t.Page.Enter(turn)
	cancel()
	if err != nil {
		return zero, executor.Wrap(op, id, explain(v.Explain(ctx, err)))
	}
	defer leave()
	result, err := call(v)
	if err != nil {
		return zero, executor.Wrap(op, id, explain(v.Explain(ctx, err)))
	}
	return result, nil
}

// Navigate loads url in a tab; with none open and none named it opens one.
func (s *Session) Navigate(ctx context.Context, id executor.TabID, url string, opts *executor.NavigateOptions) (*executor.Navigation, error) {
	if id == "" {
		b, err := s.browser(ctx)
		if err != nil {
			return nil, executor.Wrap("navigate", "", explain(err))
		}
		if _, err := s.activeTab(ctx, b); err != nil && len(s.candidates(b)) == 0 {
			_, nav, err := s.open(ctx, url, false, opts)
			if nav == nil && err == nil {
				nav = &executor.Navigation{TabID: s.activeID(), URL: "about:blank"}
			}
			return nav, executor.Wrap("navigate", "", explain(err))
		}
	}
	return onTab(ctx, s, "navigate", id, navigateLimit(opts), func(v *page.View) (*executor.Navigation, error) { return v.Navigate(ctx, url, opts) })
}

func navigateLimit(opts *executor.NavigateOptions) time.Duration {
	if opts == nil {
		return 0
	}
	return opts.Timeout
}

func (s *Session) activeID() executor.TabID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.active
}

// Back goes one entry back in a tab's history.
func (s *Session) Back(ctx context.Context, id executor.TabID, opts *executor.NavigateOptions) (*executor.Navigation, error) {
	return onTab(ctx, s, "back", id, navigateLimit(opts), func(v *page.View) (*executor.Navigation, error) { return v.Back(ctx, opts) })
}

// Forward goes one entry forward.
func (s *Session) Forward(ctx context.Context, id executor.TabID, opts *executor.NavigateOptions) (*executor.Navigation, error) {
	return onTab(ctx, s, "forward", id, navigateLimit(opts), func(v *page.View) (*executor.Navigation, error) { return v.Forward(ctx, opts) })
}

// Reload loads a tab's document again.
func (s *Session) Reload(ctx context.Context, id executor.TabID, opts *executor.NavigateOptions) (*executor.Navigation, error) {
	return onTab(ctx, s, "reload", id, navigateLimit(opts), func(v *page.View) (*executor.Navigation, error) { return v.Reload(ctx, opts) })
}

// WaitFor waits until conditions hold.
func (s *Session) WaitFor(ctx context.Context, id executor.TabID, cond executor.WaitCondition) (*executor.WaitResult, error) {
	return onTab(ctx, s, "wait for", id, cond.Timeout, func(v *page.View) (*executor.WaitResult, error) { return v.WaitFor(ctx, cond) })
}

// Snapshot returns an outline of a page.
func (s *Session) Snapshot(ctx context.Context, id executor.TabID, opts *executor.SnapshotOptions) (*executor.Snapshot, error) {
	return onTab(ctx, s, "snapshot", id, 0, func(v *page.View) (*executor.Snapshot, error) { return v.Snapshot(ctx, opts) })
}

// Text returns rendered text.
func (s *Session) Text(ctx context.Context, id executor.TabID, opts *executor.TextOptions) (*executor.Text, error) {
	return onTab(ctx, s, "text", id, 0, func(v *page.View) (*executor.Text, error) { return v.Text(ctx, opts) })
}

// HTML returns markup.
func (s *Session) HTML(ctx context.Context, id executor.TabID, opts *executor.HTMLOptions) (*executor.HTML, error) {
	return onTab(ctx, s, "html", id, 0, func(v *page.View) (*executor.HTML, error) { return v.HTML(ctx, opts) })
}

// Markdown returns the main content of a page.
func (s *Session) Markdown(ctx context.Context, id executor.TabID, opts *executor.MarkdownOptions) (*executor.Markdown, error) {
	return onTab(ctx, s, "markdown", id, 0, func(v *page.View) (*executor.Markdown, error) { return v.Markdown(ctx, opts) })
}

// Links lists links.
func (s *Session) Links(ctx context.Context, id executor.TabID, opts *executor.LinksOptions) (*executor.Links, error) {
	return onTab(ctx, s, "links", id, 0, func(v *page.View) (*executor.Links, error) { return v.Links(ctx, opts) })
}

// Eval runs JavaScript.
func (s *Session) Eval(ctx context.Context, id executor.TabID, expression string, opts *executor.EvalOptions) (*executor.EvalResult, error) {
	return onTab(ctx, s, "eval", id, 0, func(v *page.View) (*executor.EvalResult, error) { return v.Eval(ctx, expression, opts) })
}

// Click clicks.
func (s *Session) Click(ctx context.Context, id executor.TabID, target executor.Target, opts *executor.ClickOptions) (*executor.Action, error) {
	return onTab(ctx, s, "click", id, 0, func(v *page.View) (*executor.Action, error) { return v.Click(ctx, target, opts) })
}

// Type types.
func (s *Session) Type(ctx context.Context, id executor.TabID, target executor.Target, text string, opts *executor.TypeOptions) (*executor.Action, error) {
	return onTab(ctx, s, "type", id, 0, func(v *page.View) (*executor.Action, error) { return v.Type(ctx, target, text, opts) })
}

// Press presses a key.
func (s *Session) Press(ctx context.Context, id executor.TabID, key string, opts *executor.PressOptions) (*executor.Action, error) {
	return onTab(ctx, s, "press", id, 0, func(v *page.View) (*executor.Action, error) { return v.Press(ctx, key, opts) })
}

// Hover moves the pointer.
func (s *Session) Hover(ctx context.Context, id executor.TabID, target executor.Target, opts *executor.ActionOptions) (*executor.Action, error) {
	return onTab(ctx, s, "hover", id, 0, func(v *page.View) (*executor.Action, error) { return v.Hover(ctx, target, opts) })
}

// Scroll scrolls.
func (s *Session) Scroll(ctx context.Context, id executor.TabID, opts executor.ScrollOptions) (*executor.ScrollResult, error) {
	return onTab(ctx, s, "scroll", id, opts.Timeout, func(v *page.View) (*executor.ScrollResult, error) { return v.Scroll(ctx, opts) })
}

// SelectOption selects options.
func (s *Session) SelectOption(ctx context.Context, id executor.TabID, target executor.Target, values []string, opts *executor.ActionOptions) (*executor.Selection, error) {
	return onTab(ctx, s, "select option", id, 0, func(v *page.View) (*executor.Selection, error) { return v.SelectOption(ctx, target, values, opts) })
}

// FillForm fills fields.
func (s *Session) FillForm(ctx context.Context, id executor.TabID, fields []executor.Field, opts *executor.FillOptions) (*executor.FillResult, error) {
	return onTab(ctx, s, "fill form", id, 0, func(v *page.View) (*executor.FillResult, error) { return v.FillForm(ctx, fields, opts) })
}

// HandleDialog answers a dialog. It does not wait for its turn: the call
// whose turn it is waits for the dialog.
func (s *Session) HandleDialog(ctx context.Context, id executor.TabID, answer executor.DialogAnswer) (*executor.DialogResult, error) {
	b, t, err := s.locate(ctx, id)
	if err != nil {
		return nil, executor.Wrap("handle dialog", id, explain(err))
	}
	res, err := s.view(t).HandleDialog(ctx, answer)
	return res, executor.Wrap("handle dialog", s.id(b, t), explain(err))
}

// Screenshot takes a picture.
func (s *Session) Screenshot(ctx context.Context, id executor.TabID, opts *executor.ScreenshotOptions) (*executor.Screenshot, error) {
	return onTab(ctx, s, "screenshot", id, 0, func(v *page.View) (*executor.Screenshot, error) { return v.Screenshot(ctx, opts) })
}

// CDP sends one raw command.
func (s *Session) CDP(ctx context.Context, id executor.TabID, method string, params any) (executor.RawJSON, error) {
	return onTab(ctx, s, "cdp", id, 0, func(v *page.View) (executor.RawJSON, error) { return v.CDP(ctx, method, params) })
}
