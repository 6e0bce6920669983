package session

import (
	"context"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/page"
)

// queueTimeout bounds the wait of a call in the call queue of a tab unless the call has its own
// timeout.
const queueTimeout = 30 * time.Second

// onTab waits in the call queue of a tab and then runs call with the client's view of the tab. The
// wait is bounded by limit, the call's own timeout; 0 means queueTimeout.
func onTab[T any](ctx context.Context, s *Session, op string, id executor.TabID, limit time.Duration, call func(*page.View) (T, error)) (T, error) {
	var zero T
	b, t, err := s.locate(ctx, id)
	if err != nil {
		return zero, executor.Wrap(op, id, asExecutorError(err))
	}
	id = s.id(b, t)
	v := s.view(t)
	if limit <= 0 {
		limit = queueTimeout
	}
	queueCtx, cancel := context.WithTimeout(ctx, limit)
	release, err := t.Page.Acquire(queueCtx)
	cancel()
	if err != nil {
		return zero, executor.Wrap(op, id, asExecutorError(v.AsClientError(ctx, err)))
	}
	defer release()
	result, err := call(v)
	if err != nil {
		return zero, executor.Wrap(op, id, asExecutorError(v.AsClientError(ctx, err)))
	}
	return result, nil
}

// Navigate loads url in a tab. If no tab is open and id is empty, it opens a tab.
func (s *Session) Navigate(ctx context.Context, id executor.TabID, url string, opts *executor.NavigateOptions) (*executor.Navigation, error) {
	if id == "" {
		b, err := s.browser(ctx)
		if err != nil {
			return nil, executor.Wrap("navigate", "", asExecutorError(err))
		}
		if _, err := s.activeTab(ctx, b); err != nil && len(s.candidates(b)) == 0 {
			_, nav, err := s.open(ctx, url, false, opts)
			if nav == nil && err == nil {
				nav = &executor.Navigation{TabID: s.activeID(), URL: "about:blank"}
			}
			return nav, executor.Wrap("navigate", "", asExecutorError(err))
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

// Back goes back one history entry.
func (s *Session) Back(ctx context.Context, id executor.TabID, opts *executor.NavigateOptions) (*executor.Navigation, error) {
	return onTab(ctx, s, "back", id, navigateLimit(opts), func(v *page.View) (*executor.Navigation, error) { return v.Back(ctx, opts) })
}

// Forward goes forward one history entry.
func (s *Session) Forward(ctx context.Context, id executor.TabID, opts *executor.NavigateOptions) (*executor.Navigation, error) {
	return onTab(ctx, s, "forward", id, navigateLimit(opts), func(v *page.View) (*executor.Navigation, error) { return v.Forward(ctx, opts) })
}

// Reload reloads a tab's document.
func (s *Session) Reload(ctx context.Context, id executor.TabID, opts *executor.NavigateOptions) (*executor.Navigation, error) {
	return onTab(ctx, s, "reload", id, navigateLimit(opts), func(v *page.View) (*executor.Navigation, error) { return v.Reload(ctx, opts) })
}

// WaitFor waits until all conditions hold.
func (s *Session) WaitFor(ctx context.Context, id executor.TabID, cond executor.WaitCondition) (*executor.WaitResult, error) {
	return onTab(ctx, s, "wait for", id, cond.Timeout, func(v *page.View) (*executor.WaitResult, error) { return v.WaitFor(ctx, cond) })
}

// Snapshot returns an outline of a page.
func (s *Session) Snapshot(ctx context.Context, id executor.TabID, opts *executor.SnapshotOptions) (*executor.Snapshot, error) {
	return onTab(ctx, s, "snapshot", id, 0, func(v *page.View) (*executor.Snapshot, error) { return v.Snapshot(ctx, opts) })
}

// Text returns the rendered text.
func (s *Session) Text(ctx context.Context, id executor.TabID, opts *executor.TextOptions) (*executor.Text, error) {
	return onTab(ctx, s, "text", id, 0, func(v *page.View) (*executor.Text, error) { return v.Text(ctx, opts) })
}

// HTML returns the markup.
func (s *Session) HTML(ctx context.Context, id executor.TabID, opts *executor.HTMLOptions) (*executor.HTML, error) {
	return onTab(ctx, s, "html", id, 0, func(v *page.View) (*executor.HTML, error) { return v.HTML(ctx, opts) })
}

// Markdown returns the main content of a page.
func (s *Session) Markdown(ctx context.Context, id executor.TabID, opts *executor.MarkdownOptions) (*executor.Markdown, error) {
	return onTab(ctx, s, "markdown", id, 0, func(v *page.View) (*executor.Markdown, error) { return v.Markdown(ctx, opts) })
}

// Links lists the links of a page.
func (s *Session) Links(ctx context.Context, id executor.TabID, opts *executor.LinksOptions) (*executor.Links, error) {
	return onTab(ctx, s, "links", id, 0, func(v *page.View) (*executor.Links, error) { return v.Links(ctx, opts) })
}

// Eval runs JavaScript in a page.
func (s *Session) Eval(ctx context.Context, id executor.TabID, expression string, opts *executor.EvalOptions) (*executor.EvalResult, error) {
	return onTab(ctx, s, "eval", id, 0, func(v *page.View) (*executor.EvalResult, error) { return v.Eval(ctx, expression, opts) })
}

// Click clicks an element.
func (s *Session) Click(ctx context.Context, id executor.TabID, target executor.Target, opts *executor.ClickOptions) (*executor.Action, error) {
	return onTab(ctx, s, "click", id, 0, func(v *page.View) (*executor.Action, error) { return v.Click(ctx, target, opts) })
}

// Type enters text into an element.
func (s *Session) Type(ctx context.Context, id executor.TabID, target executor.Target, text string, opts *executor.TypeOptions) (*executor.Action, error) {
	return onTab(ctx, s, "type", id, 0, func(v *page.View) (*executor.Action, error) { return v.Type(ctx, target, text, opts) })
}

// Press presses a key.
func (s *Session) Press(ctx context.Context, id executor.TabID, key string, opts *executor.PressOptions) (*executor.Action, error) {
	return onTab(ctx, s, "press", id, 0, func(v *page.View) (*executor.Action, error) { return v.Press(ctx, key, opts) })
}

// Hover moves the pointer onto an element.
func (s *Session) Hover(ctx context.Context, id executor.TabID, target executor.Target, opts *executor.ActionOptions) (*executor.Action, error) {
	return onTab(ctx, s, "hover", id, 0, func(v *page.View) (*executor.Action, error) { return v.Hover(ctx, target, opts) })
}

// Scroll scrolls a page or an element.
func (s *Session) Scroll(ctx context.Context, id executor.TabID, opts executor.ScrollOptions) (*executor.ScrollResult, error) {
	return onTab(ctx, s, "scroll", id, opts.Timeout, func(v *page.View) (*executor.ScrollResult, error) { return v.Scroll(ctx, opts) })
}

// SelectOption selects options of a <select>.
func (s *Session) SelectOption(ctx context.Context, id executor.TabID, target executor.Target, values []string, opts *executor.ActionOptions) (*executor.Selection, error) {
	return onTab(ctx, s, "select option", id, 0, func(v *page.View) (*executor.Selection, error) { return v.SelectOption(ctx, target, values, opts) })
}

// FillForm fills the fields of a form.
func (s *Session) FillForm(ctx context.Context, id executor.TabID, fields []executor.Field, opts *executor.FillOptions) (*executor.FillResult, error) {
	return onTab(ctx, s, "fill form", id, 0, func(v *page.View) (*executor.FillResult, error) { return v.FillForm(ctx, fields, opts) })
}

// HandleDialog answers a dialog. It bypasses the call queue, because the current call waits for the
// dialog.
func (s *Session) HandleDialog(ctx context.Context, id executor.TabID, answer executor.DialogAnswer) (*executor.DialogResult, error) {
	b, t, err := s.locate(ctx, id)
	if err != nil {
		return nil, executor.Wrap("handle dialog", id, asExecutorError(err))
	}
	res, err := s.view(t).HandleDialog(ctx, answer)
	return res, executor.Wrap("handle dialog", s.id(b, t), asExecutorError(err))
}

// Screenshot takes a screenshot.
func (s *Session) Screenshot(ctx context.Context, id executor.TabID, opts *executor.ScreenshotOptions) (*executor.Screenshot, error) {
	return onTab(ctx, s, "screenshot", id, 0, func(v *page.View) (*executor.Screenshot, error) { return v.Screenshot(ctx, opts) })
}

// CDP sends one raw CDP command.
func (s *Session) CDP(ctx context.Context, id executor.TabID, method string, params any) (executor.RawJSON, error) {
	return onTab(ctx, s, "cdp", id, 0, func(v *page.View) (executor.RawJSON, error) { return v.CDP(ctx, method, params) })
}
