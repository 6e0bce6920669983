package executor

import "context"

// The methods that go to the backend of the moment. Each is spelled out: one
// that the interface gains must not compile until it is here.

// Ready makes the browser of the moment usable.
func (m *Manager) Ready(ctx context.Context) error {
	return m.anew(ctx).Ready(ctx)
}

// Ping reports whether the browser of the moment answers. It launches nothing.
func (m *Manager) Ping(ctx context.Context) error {
	return m.anew(ctx).Ping(ctx)
}

// ListTabs lists the tabs of the backend of the moment, and of no other.
func (m *Manager) ListTabs(ctx context.Context) ([]Tab, error) {
	return m.anew(ctx).ListTabs(ctx)
}

// SelectTab passes.
func (m *Manager) SelectTab(ctx context.Context, tab TabID) (*Tab, error) {
	return m.on(ctx, tab).SelectTab(ctx, tab)
}

// NewTab passes.
func (m *Manager) NewTab(ctx context.Context, url string, opts *NewTabOptions) (*Tab, error) {
	return m.anew(ctx).NewTab(ctx, url, opts)
}

// CloseTab passes.
func (m *Manager) CloseTab(ctx context.Context, tab TabID) (*ClosedTab, error) {
	return m.on(ctx, tab).CloseTab(ctx, tab)
}

// Navigate passes. Without a tab it is like NewTab: what the active tab shows
// does not matter to it.
func (m *Manager) Navigate(ctx context.Context, tab TabID, url string, opts *NavigateOptions) (*Navigation, error) {
	if tab == "" {
		return m.anew(ctx).Navigate(ctx, tab, url, opts)
	}
	return m.on(ctx, tab).Navigate(ctx, tab, url, opts)
}

// Back passes.
func (m *Manager) Back(ctx context.Context, tab TabID, opts *NavigateOptions) (*Navigation, error) {
	return m.on(ctx, tab).Back(ctx, tab, opts)
}

// Forward passes.
func (m *Manager) Forward(ctx context.Context, tab TabID, opts *NavigateOptions) (*Navigation, error) {
	return m.on(ctx, tab).Forward(ctx, tab, opts)
}

// Reload passes.
func (m *Manager) Reload(ctx context.Context, tab TabID, opts *NavigateOptions) (*Navigation, error) {
	return m.on(ctx, tab).Reload(ctx, tab, opts)
}

// WaitFor passes.
func (m *Manager) WaitFor(ctx context.Context, tab TabID, cond WaitCondition) (*WaitResult, error) {
	return m.on(ctx, tab).WaitFor(ctx, tab, cond)
}

// Snapshot passes.
func (m *Manager) Snapshot(ctx context.Context, tab TabID, opts *SnapshotOptions) (*Snapshot, error) {
	return m.on(ctx, tab).Snapshot(ctx, tab, opts)
}

// Text passes.
func (m *Manager) Text(ctx context.Context, tab TabID, opts *TextOptions) (*Text, error) {
	return m.on(ctx, tab).Text(ctx, tab, opts)
}

// HTML passes.
func (m *Manager) HTML(ctx context.Context, tab TabID, opts *HTMLOptions) (*HTML, error) {
	return m.on(ctx, tab).HTML(ctx, tab, opts)
}

// Markdown passes.
func (m *Manager) Markdown(ctx context.Context, tab TabID, opts *MarkdownOptions) (*Markdown, error) {
	return m.on(ctx, tab).Markdown(ctx, tab, opts)
}

// Links passes.
func (m *Manager) Links(ctx context.Context, tab TabID, opts *LinksOptions) (*Links, error) {
	return m.on(ctx, tab).Links(ctx, tab, opts)
}

// Eval passes.
func (m *Manager) Eval(ctx context.Context, tab TabID, expression string, opts *EvalOptions) (*EvalResult, error) {
	return m.on(ctx, tab).Eval(ctx, tab, expression, opts)
}

// Click passes.
func (m *Manager) Click(ctx context.Context, tab TabID, target Target, opts *ClickOptions) (*Action, error) {
	return m.on(ctx, tab).Click(ctx, tab, target, opts)
}

// Type passes.
func (m *Manager) Type(ctx context.Context, tab TabID, target Target, text string, opts *TypeOptions) (*Action, error) {
	return m.on(ctx, tab).Type(ctx, tab, target, text, opts)
}

// Press passes.
func (m *Manager) Press(ctx context.Context, tab TabID, key string, opts *PressOptions) (*Action, error) {
	return m.on(ctx, tab).Press(ctx, tab, key, opts)
}

// Hover passes.
func (m *Manager) Hover(ctx context.Context, tab TabID, target Target, opts *ActionOptions) (*Action, error) {
	return m.on(ctx, tab).Hover(ctx, tab, target, opts)
}

// Scroll passes.
func (m *Manager) Scroll(ctx context.Context, tab TabID, opts ScrollOptions) (*ScrollResult, error) {
	return m.on(ctx, tab).Scroll(ctx, tab, opts)
}

// SelectOption passes.
func (m *Manager) SelectOption(ctx context.Context, tab TabID, target Target, values []string, opts *ActionOptions) (*Selection, error) {
	return m.on(ctx, tab).SelectOption(ctx, tab, target, values, opts)
}

// FillForm passes.
func (m *Manager) FillForm(ctx context.Context, tab TabID, fields []Field, opts *FillOptions) (*FillResult, error) {
	return m.on(ctx, tab).FillForm(ctx, tab, fields, opts)
}

// HandleDialog passes.
func (m *Manager) HandleDialog(ctx context.Context, tab TabID, answer DialogAnswer) (*DialogResult, error) {
	return m.on(ctx, tab).HandleDialog(ctx, tab, answer)
}

// Screenshot passes.
func (m *Manager) Screenshot(ctx context.Context, tab TabID, opts *ScreenshotOptions) (*Screenshot, error) {
	return m.on(ctx, tab).Screenshot(ctx, tab, opts)
}

// Download passes.
func (m *Manager) Download(ctx context.Context, tab TabID, opts DownloadOptions) (*Download, error) {
	return m.on(ctx, tab).Download(ctx, tab, opts)
}

// Upload passes.
func (m *Manager) Upload(ctx context.Context, tab TabID, target Target, paths []string, opts *ActionOptions) (*Upload, error) {
	return m.on(ctx, tab).Upload(ctx, tab, target, paths, opts)
}

// SavePDF passes.
func (m *Manager) SavePDF(ctx context.Context, tab TabID, opts *PDFOptions) (*PDF, error) {
	return m.on(ctx, tab).SavePDF(ctx, tab, opts)
}

// Drag passes.
func (m *Manager) Drag(ctx context.Context, tab TabID, from, to Target, opts *ActionOptions) (*Drag, error) {
	return m.on(ctx, tab).Drag(ctx, tab, from, to, opts)
}

// Mouse passes.
func (m *Manager) Mouse(ctx context.Context, tab TabID, opts MouseOptions) (*Action, error) {
	return m.on(ctx, tab).Mouse(ctx, tab, opts)
}

// Console passes.
func (m *Manager) Console(ctx context.Context, tab TabID, opts *ConsoleOptions) (*Console, error) {
	return m.on(ctx, tab).Console(ctx, tab, opts)
}

// PageErrors passes.
func (m *Manager) PageErrors(ctx context.Context, tab TabID, opts *PageErrorsOptions) (*PageErrors, error) {
	return m.on(ctx, tab).PageErrors(ctx, tab, opts)
}

// Requests passes.
func (m *Manager) Requests(ctx context.Context, tab TabID, opts *RequestsOptions) (*Requests, error) {
	return m.on(ctx, tab).Requests(ctx, tab, opts)
}

// Cookies passes.
func (m *Manager) Cookies(ctx context.Context, tab TabID, opts *CookiesOptions) (*Cookies, error) {
	return m.on(ctx, tab).Cookies(ctx, tab, opts)
}

// SetCookie passes.
func (m *Manager) SetCookie(ctx context.Context, tab TabID, cookie Cookie) (*Stored, error) {
	return m.on(ctx, tab).SetCookie(ctx, tab, cookie)
}

// DeleteCookies passes.
func (m *Manager) DeleteCookies(ctx context.Context, tab TabID, names []string) (*Stored, error) {
	return m.on(ctx, tab).DeleteCookies(ctx, tab, names)
}

// Items passes.
func (m *Manager) Items(ctx context.Context, tab TabID, area StorageArea, opts *ItemsOptions) (*Items, error) {
	return m.on(ctx, tab).Items(ctx, tab, area, opts)
}

// SetItem passes.
func (m *Manager) SetItem(ctx context.Context, tab TabID, area StorageArea, key, value string) (*Stored, error) {
	return m.on(ctx, tab).SetItem(ctx, tab, area, key, value)
}

// RemoveItems passes.
func (m *Manager) RemoveItems(ctx context.Context, tab TabID, area StorageArea, keys []string) (*Stored, error) {
	return m.on(ctx, tab).RemoveItems(ctx, tab, area, keys)
}

// Resize passes.
func (m *Manager) Resize(ctx context.Context, tab TabID, opts ResizeOptions) (*Viewport, error) {
	return m.on(ctx, tab).Resize(ctx, tab, opts)
}

// Emulate passes.
func (m *Manager) Emulate(ctx context.Context, tab TabID, opts EmulateOptions) (*Emulation, error) {
	return m.on(ctx, tab).Emulate(ctx, tab, opts)
}

// SaveState passes.
func (m *Manager) SaveState(ctx context.Context, name string) (*State, error) {
	return m.on(ctx, "").SaveState(ctx, name)
}

// LoadState passes. It means no tab, so it takes whatever browser there is.
func (m *Manager) LoadState(ctx context.Context, name string) (*State, error) {
	return m.anew(ctx).LoadState(ctx, name)
}

// CDP passes.
func (m *Manager) CDP(ctx context.Context, tab TabID, method string, params any) (RawJSON, error) {
	return m.on(ctx, tab).CDP(ctx, tab, method, params)
}
