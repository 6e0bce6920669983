package executor

import "context"

// The methods that forward to the current backend. Each is written out, so that a method added to
// the interface does not compile until it is added here.

// Ready prepares the current backend.
func (m *Manager) Ready(ctx context.Context) error {
	return m.executorForNewTab(ctx).Ready(ctx)
}

// Ping reports whether the browser of the current backend answers. It launches nothing.
func (m *Manager) Ping(ctx context.Context) error {
	return m.executorForNewTab(ctx).Ping(ctx)
}

// ListTabs lists only the tabs of the current backend.
func (m *Manager) ListTabs(ctx context.Context) ([]Tab, error) {
	return m.executorForNewTab(ctx).ListTabs(ctx)
}

func (m *Manager) SelectTab(ctx context.Context, tab TabID) (*Tab, error) {
	return m.executorFor(ctx, tab).SelectTab(ctx, tab)
}

func (m *Manager) NewTab(ctx context.Context, url string, opts *NewTabOptions) (*Tab, error) {
	return m.executorForNewTab(ctx).NewTab(ctx, url, opts)
}

func (m *Manager) CloseTab(ctx context.Context, tab TabID) (*ClosedTab, error) {
	return m.executorFor(ctx, tab).CloseTab(ctx, tab)
}

// Navigate without a tab is like NewTab: the active tab does not matter.
func (m *Manager) Navigate(ctx context.Context, tab TabID, url string, opts *NavigateOptions) (*Navigation, error) {
	if tab == "" {
		return m.executorForNewTab(ctx).Navigate(ctx, tab, url, opts)
	}
	return m.executorFor(ctx, tab).Navigate(ctx, tab, url, opts)
}

func (m *Manager) Back(ctx context.Context, tab TabID, opts *NavigateOptions) (*Navigation, error) {
	return m.executorFor(ctx, tab).Back(ctx, tab, opts)
}

func (m *Manager) Forward(ctx context.Context, tab TabID, opts *NavigateOptions) (*Navigation, error) {
	return m.executorFor(ctx, tab).Forward(ctx, tab, opts)
}

func (m *Manager) Reload(ctx context.Context, tab TabID, opts *NavigateOptions) (*Navigation, error) {
	return m.executorFor(ctx, tab).Reload(ctx, tab, opts)
}

func (m *Manager) WaitFor(ctx context.Context, tab TabID, cond WaitCondition) (*WaitResult, error) {
	return m.executorFor(ctx, tab).WaitFor(ctx, tab, cond)
}

func (m *Manager) Snapshot(ctx context.Context, tab TabID, opts *SnapshotOptions) (*Snapshot, error) {
	return m.executorFor(ctx, tab).Snapshot(ctx, tab, opts)
}

func (m *Manager) Text(ctx context.Context, tab TabID, opts *TextOptions) (*Text, error) {
	return m.executorFor(ctx, tab).Text(ctx, tab, opts)
}

func (m *Manager) HTML(ctx context.Context, tab TabID, opts *HTMLOptions) (*HTML, error) {
	return m.executorFor(ctx, tab).HTML(ctx, tab, opts)
}

func (m *Manager) Markdown(ctx context.Context, tab TabID, opts *MarkdownOptions) (*Markdown, error) {
	return m.executorFor(ctx, tab).Markdown(ctx, tab, opts)
}

func (m *Manager) Links(ctx context.Context, tab TabID, opts *LinksOptions) (*Links, error) {
	return m.executorFor(ctx, tab).Links(ctx, tab, opts)
}

func (m *Manager) Eval(ctx context.Context, tab TabID, expression string, opts *EvalOptions) (*EvalResult, error) {
	return m.executorFor(ctx, tab).Eval(ctx, tab, expression, opts)
}

func (m *Manager) Click(ctx context.Context, tab TabID, target Target, opts *ClickOptions) (*Action, error) {
	return m.executorFor(ctx, tab).Click(ctx, tab, target, opts)
}

func (m *Manager) Type(ctx context.Context, tab TabID, target Target, text string, opts *TypeOptions) (*Action, error) {
	return m.executorFor(ctx, tab).Type(ctx, tab, target, text, opts)
}

func (m *Manager) Press(ctx context.Context, tab TabID, key string, opts *PressOptions) (*Action, error) {
	return m.executorFor(ctx, tab).Press(ctx, tab, key, opts)
}

func (m *Manager) Hover(ctx context.Context, tab TabID, target Target, opts *ActionOptions) (*Action, error) {
	return m.executorFor(ctx, tab).Hover(ctx, tab, target, opts)
}

func (m *Manager) Scroll(ctx context.Context, tab TabID, opts ScrollOptions) (*ScrollResult, error) {
	return m.executorFor(ctx, tab).Scroll(ctx, tab, opts)
}

func (m *Manager) SelectOption(ctx context.Context, tab TabID, target Target, values []string, opts *ActionOptions) (*Selection, error) {
	return m.executorFor(ctx, tab).SelectOption(ctx, tab, target, values, opts)
}

func (m *Manager) FillForm(ctx context.Context, tab TabID, fields []Field, opts *FillOptions) (*FillResult, error) {
	return m.executorFor(ctx, tab).FillForm(ctx, tab, fields, opts)
}

func (m *Manager) HandleDialog(ctx context.Context, tab TabID, answer DialogAnswer) (*DialogResult, error) {
	return m.executorFor(ctx, tab).HandleDialog(ctx, tab, answer)
}

func (m *Manager) Screenshot(ctx context.Context, tab TabID, opts *ScreenshotOptions) (*Screenshot, error) {
	return m.executorFor(ctx, tab).Screenshot(ctx, tab, opts)
}

func (m *Manager) Download(ctx context.Context, tab TabID, opts DownloadOptions) (*Download, error) {
	return m.executorFor(ctx, tab).Download(ctx, tab, opts)
}

func (m *Manager) Upload(ctx context.Context, tab TabID, target Target, paths []string, opts *ActionOptions) (*Upload, error) {
	return m.executorFor(ctx, tab).Upload(ctx, tab, target, paths, opts)
}

func (m *Manager) SavePDF(ctx context.Context, tab TabID, opts *PDFOptions) (*PDF, error) {
	return m.executorFor(ctx, tab).SavePDF(ctx, tab, opts)
}

func (m *Manager) Drag(ctx context.Context, tab TabID, from, to Target, opts *ActionOptions) (*Drag, error) {
	return m.executorFor(ctx, tab).Drag(ctx, tab, from, to, opts)
}

func (m *Manager) Mouse(ctx context.Context, tab TabID, opts MouseOptions) (*Action, error) {
	return m.executorFor(ctx, tab).Mouse(ctx, tab, opts)
}

func (m *Manager) Console(ctx context.Context, tab TabID, opts *ConsoleOptions) (*Console, error) {
	return m.executorFor(ctx, tab).Console(ctx, tab, opts)
}

func (m *Manager) PageErrors(ctx context.Context, tab TabID, opts *PageErrorsOptions) (*PageErrors, error) {
	return m.executorFor(ctx, tab).PageErrors(ctx, tab, opts)
}

func (m *Manager) Requests(ctx context.Context, tab TabID, opts *RequestsOptions) (*Requests, error) {
	return m.executorFor(ctx, tab).Requests(ctx, tab, opts)
}

func (m *Manager) Cookies(ctx context.Context, tab TabID, opts *CookiesOptions) (*Cookies, error) {
	return m.executorFor(ctx, tab).Cookies(ctx, tab, opts)
}

func (m *Manager) SetCookie(ctx context.Context, tab TabID, cookie Cookie) (*StorageChange, error) {
	return m.executorFor(ctx, tab).SetCookie(ctx, tab, cookie)
}

func (m *Manager) DeleteCookies(ctx context.Context, tab TabID, names []string) (*StorageChange, error) {
	return m.executorFor(ctx, tab).DeleteCookies(ctx, tab, names)
}

func (m *Manager) Items(ctx context.Context, tab TabID, area StorageArea, opts *ItemsOptions) (*Items, error) {
	return m.executorFor(ctx, tab).Items(ctx, tab, area, opts)
}

func (m *Manager) SetItem(ctx context.Context, tab TabID, area StorageArea, key, value string) (*StorageChange, error) {
	return m.executorFor(ctx, tab).SetItem(ctx, tab, area, key, value)
}

func (m *Manager) RemoveItems(ctx context.Context, tab TabID, area StorageArea, keys []string) (*StorageChange, error) {
	return m.executorFor(ctx, tab).RemoveItems(ctx, tab, area, keys)
}

func (m *Manager) Resize(ctx context.Context, tab TabID, opts ResizeOptions) (*Viewport, error) {
	return m.executorFor(ctx, tab).Resize(ctx, tab, opts)
}

func (m *Manager) Emulate(ctx context.Context, tab TabID, opts EmulateOptions) (*Emulation, error) {
	return m.executorFor(ctx, tab).Emulate(ctx, tab, opts)
}

func (m *Manager) SaveState(ctx context.Context, name string) (*StateResult, error) {
	return m.executorFor(ctx, "").SaveState(ctx, name)
}

// LoadState uses no tab, so it uses any available browser.
func (m *Manager) LoadState(ctx context.Context, name string) (*StateResult, error) {
	return m.executorForNewTab(ctx).LoadState(ctx, name)
}

func (m *Manager) CDP(ctx context.Context, tab TabID, method string, params any) (RawJSON, error) {
	return m.executorFor(ctx, tab).CDP(ctx, tab, method, params)
}
