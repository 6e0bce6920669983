package session

import (
	"cmp"
	"context"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/page"
)

// A tabPage is the page of a tab. It implements executor.Page.
type tabPage struct {
	session *Session
	tab     executor.TabID // empty means the active tab
}

var _ executor.Page = (*tabPage)(nil)

// Page returns the page of a tab, or of the active tab if id is empty.
func (s *Session) Page(_ context.Context, id executor.TabID) (executor.Page, error) {
	if id != "" {
		if _, _, _, err := id.Split(); err != nil {
			return nil, executor.Wrap("page", id, err)
		}
	}
	return &tabPage{session: s, tab: id}, nil
}

// ID returns the id of the tab, or "" for the active tab.
func (p *tabPage) ID() executor.TabID { return p.tab }

// onTab waits in the call queue of a tab and then runs call with the client's view of the tab. The
// wait is bounded by limit, the call's own timeout; 0 means Timing.CallQueue.
func onTab[T any](ctx context.Context, p *tabPage, op string, limit time.Duration, call func(*page.View) (T, error)) (T, error) {
	var zero T
	s, id := p.session, p.tab
	defer s.reportDownloads(ctx)
	b, t, err := s.locate(ctx, id)
	if err != nil {
		return zero, executor.Wrap(op, id, asExecutorError(err))
	}
	id = s.ids.of(b, t)
	v := s.view(t)
	if limit <= 0 {
		limit = s.timing.CallQueue
	}
	queueCtx, cancel := context.WithTimeout(ctx, limit)
	release, err := t.Page.Acquire(queueCtx)
	cancel()
	if err != nil {
		return zero, executor.Wrap(op, id, v.Entered.MaskError(asExecutorError(v.AsClientError(ctx, err))))
	}
	defer release()
	if sharer, ok := b.(Sharer); ok {
		sharer.Used(t)
	}
	t.mu.Lock()
	t.lastSession = s
	t.mu.Unlock()
	v.Entered.MaskPending(ctx)
	result, err := call(v)
	if err != nil {
		return zero, executor.Wrap(op, id, v.Entered.MaskError(v.Interrupted(asExecutorError(v.AsClientError(ctx, err)))))
	}
	v.Entered.Mask(result)
	return result, nil
}

// Navigate loads url in the active tab. If the client has no tab, it opens one.
func (s *Session) Navigate(ctx context.Context, url string, opts *executor.NavigateOptions) (*executor.Navigation, error) {
	b, err := s.browser(ctx)
	if err != nil {
		return nil, executor.Wrap("navigate", "", asExecutorError(err))
	}
	p := &tabPage{session: s}
	switch t, err := s.activeTab(ctx, b); {
	case err == nil:
		p.tab = s.ids.of(b, t)
	case len(s.candidates(b)) == 0:
		info, nav, err := s.open(ctx, url, false, opts)
		if nav == nil && err == nil {
			nav = &executor.Navigation{TabID: info.ID, URL: "about:blank"}
		}
		return nav, executor.Wrap("navigate", "", asExecutorError(err))
	}
	return p.Navigate(ctx, url, opts)
}

// Navigate loads url.
func (p *tabPage) Navigate(ctx context.Context, url string, opts *executor.NavigateOptions) (*executor.Navigation, error) {
	return onTab(ctx, p, "navigate", navigateLimit(opts), func(v *page.View) (*executor.Navigation, error) { return v.Navigate(ctx, url, opts) })
}

func navigateLimit(opts *executor.NavigateOptions) time.Duration {
	return cmp.Or(opts, new(executor.NavigateOptions)).Timeout
}

// Back goes back one history entry.
func (p *tabPage) Back(ctx context.Context, opts *executor.NavigateOptions) (*executor.Navigation, error) {
	return onTab(ctx, p, "back", navigateLimit(opts), func(v *page.View) (*executor.Navigation, error) { return v.Back(ctx, opts) })
}

// Forward goes forward one history entry.
func (p *tabPage) Forward(ctx context.Context, opts *executor.NavigateOptions) (*executor.Navigation, error) {
	return onTab(ctx, p, "forward", navigateLimit(opts), func(v *page.View) (*executor.Navigation, error) { return v.Forward(ctx, opts) })
}

// Reload reloads a tab's document.
func (p *tabPage) Reload(ctx context.Context, opts *executor.NavigateOptions) (*executor.Navigation, error) {
	return onTab(ctx, p, "reload", navigateLimit(opts), func(v *page.View) (*executor.Navigation, error) { return v.Reload(ctx, opts) })
}

// WaitFor waits until all conditions hold.
func (p *tabPage) WaitFor(ctx context.Context, cond *executor.WaitCondition) (*executor.WaitResult, error) {
	return onTab(ctx, p, "wait for", cmp.Or(cond, new(executor.WaitCondition)).Timeout, func(v *page.View) (*executor.WaitResult, error) { return v.WaitFor(ctx, cond) })
}

// Snapshot returns an outline of a page.
func (p *tabPage) Snapshot(ctx context.Context, opts *executor.SnapshotOptions) (*executor.Snapshot, error) {
	return onTab(ctx, p, "snapshot", 0, func(v *page.View) (*executor.Snapshot, error) { return v.Snapshot(ctx, opts) })
}

// Text returns the rendered text.
func (p *tabPage) Text(ctx context.Context, opts *executor.TextOptions) (*executor.Text, error) {
	return onTab(ctx, p, "text", 0, func(v *page.View) (*executor.Text, error) { return v.Text(ctx, opts) })
}

// HTML returns the markup.
func (p *tabPage) HTML(ctx context.Context, opts *executor.HTMLOptions) (*executor.HTML, error) {
	return onTab(ctx, p, "html", 0, func(v *page.View) (*executor.HTML, error) { return v.HTML(ctx, opts) })
}

// Markdown returns the main content of a page.
func (p *tabPage) Markdown(ctx context.Context, opts *executor.MarkdownOptions) (*executor.Markdown, error) {
	return onTab(ctx, p, "markdown", 0, func(v *page.View) (*executor.Markdown, error) { return v.Markdown(ctx, opts) })
}

// Links lists the links of a page.
func (p *tabPage) Links(ctx context.Context, opts *executor.LinksOptions) (*executor.Links, error) {
	return onTab(ctx, p, "links", 0, func(v *page.View) (*executor.Links, error) { return v.Links(ctx, opts) })
}

// Eval runs JavaScript in a page.
func (p *tabPage) Eval(ctx context.Context, expression string, opts *executor.EvalOptions) (*executor.EvalResult, error) {
	return onTab(ctx, p, "eval", 0, func(v *page.View) (*executor.EvalResult, error) { return v.Eval(ctx, expression, opts) })
}

// Click clicks an element.
func (p *tabPage) Click(ctx context.Context, target executor.Target, opts *executor.ClickOptions) (*executor.Action, error) {
	return onTab(ctx, p, "click", 0, func(v *page.View) (*executor.Action, error) { return v.Click(ctx, target, opts) })
}

// Type enters text into an element.
func (p *tabPage) Type(ctx context.Context, target executor.Target, text string, opts *executor.TypeOptions) (*executor.Action, error) {
	return onTab(ctx, p, "type", 0, func(v *page.View) (*executor.Action, error) { return v.Type(ctx, target, text, opts) })
}

// Press presses a key.
func (p *tabPage) Press(ctx context.Context, key string, opts *executor.PressOptions) (*executor.Action, error) {
	return onTab(ctx, p, "press", 0, func(v *page.View) (*executor.Action, error) { return v.Press(ctx, key, opts) })
}

// Hover moves the pointer onto an element.
func (p *tabPage) Hover(ctx context.Context, target executor.Target, opts *executor.ActionOptions) (*executor.Action, error) {
	return onTab(ctx, p, "hover", 0, func(v *page.View) (*executor.Action, error) { return v.Hover(ctx, target, opts) })
}

// Scroll scrolls a page or an element.
func (p *tabPage) Scroll(ctx context.Context, opts *executor.ScrollOptions) (*executor.ScrollResult, error) {
	return onTab(ctx, p, "scroll", cmp.Or(opts, new(executor.ScrollOptions)).Timeout, func(v *page.View) (*executor.ScrollResult, error) { return v.Scroll(ctx, opts) })
}

// SelectOption selects options of a <select>.
func (p *tabPage) SelectOption(ctx context.Context, target executor.Target, values []string, opts *executor.ActionOptions) (*executor.Selection, error) {
	return onTab(ctx, p, "select option", 0, func(v *page.View) (*executor.Selection, error) { return v.SelectOption(ctx, target, values, opts) })
}

// FillForm fills the fields of a form.
func (p *tabPage) FillForm(ctx context.Context, fields []executor.Field, opts *executor.FillOptions) (*executor.FillResult, error) {
	return onTab(ctx, p, "fill form", 0, func(v *page.View) (*executor.FillResult, error) { return v.FillForm(ctx, fields, opts) })
}

// HandleDialog answers a dialog. It bypasses the call queue, because the current call waits for the
// dialog.
func (p *tabPage) HandleDialog(ctx context.Context, answer *executor.DialogAnswer) (*executor.DialogResult, error) {
	s := p.session
	defer s.reportDownloads(ctx)
	b, t, err := s.locate(ctx, p.tab)
	if err != nil {
		return nil, executor.Wrap("handle dialog", p.tab, asExecutorError(err))
	}
	if err := s.awaitHandoverEnd(ctx, t); err != nil {
		return nil, executor.Wrap("handle dialog", s.ids.of(b, t), asExecutorError(err))
	}
	v := s.view(t)
	res, err := v.HandleDialog(ctx, answer)
	v.Entered.Mask(res)
	return res, executor.Wrap("handle dialog", s.ids.of(b, t), v.Entered.MaskError(asExecutorError(err)))
}

// awaitHandoverEnd waits while a tab is handed over, for calls that bypass the call queue.
func (s *Session) awaitHandoverEnd(ctx context.Context, t *Tab) error {
	ctx, cancel := context.WithTimeout(ctx, s.timing.CallQueue)
	defer cancel()
	return t.Page.AwaitHandoverEnd(ctx)
}

// Screenshot takes a screenshot.
func (p *tabPage) Screenshot(ctx context.Context, opts *executor.ScreenshotOptions) (*executor.Screenshot, error) {
	return onTab(ctx, p, "screenshot", 0, func(v *page.View) (*executor.Screenshot, error) { return v.Screenshot(ctx, opts) })
}

// HandOver hands the tab over to the user.
func (p *tabPage) HandOver(ctx context.Context) (*executor.HandedOver, error) {
	return onTab(ctx, p, "hand over", 0, func(v *page.View) (*executor.HandedOver, error) { return v.HandOver(ctx) })
}

// CDP sends one raw CDP command.
func (p *tabPage) CDP(ctx context.Context, method string, params any) (executor.RawJSON, error) {
	return onTab(ctx, p, "cdp", 0, func(v *page.View) (executor.RawJSON, error) { return v.CDP(ctx, method, params) })
}

// Drag drags one element onto another.
func (p *tabPage) Drag(ctx context.Context, from, to executor.Target, opts *executor.ActionOptions) (*executor.Drag, error) {
	return onTab(ctx, p, "drag", 0, func(v *page.View) (*executor.Drag, error) { return v.Drag(ctx, from, to, opts) })
}

// Mouse sends one input event at a position in the viewport.
func (p *tabPage) Mouse(ctx context.Context, opts *executor.MouseOptions) (*executor.Action, error) {
	return onTab(ctx, p, "mouse", 0, func(v *page.View) (*executor.Action, error) { return v.Mouse(ctx, opts) })
}

// Resize sets the viewport size of a tab.
func (p *tabPage) Resize(ctx context.Context, opts *executor.ResizeOptions) (*executor.Viewport, error) {
	return onTab(ctx, p, "resize", 0, func(v *page.View) (*executor.Viewport, error) { return v.Resize(ctx, opts) })
}

// Emulate changes the emulation settings of a tab.
func (p *tabPage) Emulate(ctx context.Context, opts *executor.EmulateOptions) (*executor.Emulation, error) {
	return onTab(ctx, p, "emulate", 0, func(v *page.View) (*executor.Emulation, error) { return v.Emulate(ctx, opts) })
}

// Console returns console messages.
func (p *tabPage) Console(ctx context.Context, opts *executor.ConsoleOptions) (*executor.Console, error) {
	return recorded(ctx, p, "console messages", func(v *page.View) (*executor.Console, error) { return v.Console(ctx, opts) })
}

// PageErrors returns uncaught errors.
func (p *tabPage) PageErrors(ctx context.Context, opts *executor.PageErrorsOptions) (*executor.PageErrors, error) {
	return recorded(ctx, p, "page errors", func(v *page.View) (*executor.PageErrors, error) { return v.PageErrors(ctx, opts) })
}

// Requests returns the requests of pages.
func (p *tabPage) Requests(ctx context.Context, opts *executor.RequestsOptions) (*executor.Requests, error) {
	return recorded(ctx, p, "network requests", func(v *page.View) (*executor.Requests, error) { return v.Requests(ctx, opts) })
}

// recorded is onTab for methods that need a session with SessionOptions.Record.
func recorded[T any](ctx context.Context, p *tabPage, op string, call func(*page.View) (T, error)) (T, error) {
	return onTab(ctx, p, op, 0, func(v *page.View) (T, error) {
		if !p.session.opts.Record {
			var zero T
			return zero, executor.Errorf(executor.ErrBadArgs, "Open the session with SessionOptions.Record.", "recording is disabled for this session")
		}
		return call(v)
	})
}

// Cookies lists the cookies of a document's site.
func (p *tabPage) Cookies(ctx context.Context, opts *executor.CookiesOptions) (*executor.Cookies, error) {
	return onTab(ctx, p, "cookies", 0, func(v *page.View) (*executor.Cookies, error) { return v.Cookies(ctx, opts) })
}

// SetCookie sets a cookie of a document's site.
func (p *tabPage) SetCookie(ctx context.Context, cookie executor.Cookie) (*executor.StorageChange, error) {
	return onTab(ctx, p, "set cookie", 0, func(v *page.View) (*executor.StorageChange, error) { return v.SetCookie(ctx, cookie) })
}

// DeleteCookies deletes cookies of a document's site.
func (p *tabPage) DeleteCookies(ctx context.Context, names []string) (*executor.StorageChange, error) {
	return onTab(ctx, p, "delete cookies", 0, func(v *page.View) (*executor.StorageChange, error) { return v.DeleteCookies(ctx, names) })
}

// Items lists the storage items of a document's origin.
func (p *tabPage) Items(ctx context.Context, area executor.StorageArea, opts *executor.ItemsOptions) (*executor.Items, error) {
	return onTab(ctx, p, "items", 0, func(v *page.View) (*executor.Items, error) { return v.Items(ctx, area, opts) })
}

// SetItem sets a storage item.
func (p *tabPage) SetItem(ctx context.Context, area executor.StorageArea, key, value string) (*executor.StorageChange, error) {
	return onTab(ctx, p, "set item", 0, func(v *page.View) (*executor.StorageChange, error) { return v.SetItem(ctx, area, key, value) })
}

// RemoveItems removes storage items.
func (p *tabPage) RemoveItems(ctx context.Context, area executor.StorageArea, keys []string) (*executor.StorageChange, error) {
	return onTab(ctx, p, "remove items", 0, func(v *page.View) (*executor.StorageChange, error) { return v.RemoveItems(ctx, area, keys) })
}
