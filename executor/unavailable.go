package executor

import (
	"context"
	"errors"
)

// Unavailable is an [Executor] that refuses every call with one error, so
// that whoever has no browser to give can give a reason. Its Status tells the
// reason too; its Close does nothing. It is safe for concurrent use.
type Unavailable struct {
	// Err is the reason. nil means ErrNoBackend.
	Err error
}

var _ Executor = Unavailable{}

// refuse returns the reason as the error of one call.
func (u Unavailable) refuse(op string, tab TabID) error {
	if u.Err == nil {
		return &Error{Op: op, Tab: tab, Code: ErrNoBackend}
	}
	return Wrap(op, tab, u.Err)
}

// reason says in one line what happened and what to do about it.
func reason(err error) string {
	if e := new(Error); errors.As(err, &e) && e.Hint != "" {
		return message(err) + " (" + e.Hint + ")"
	}
	return message(err)
}

// message says what happened, without the operation and the tab.
func message(err error) string {
	if e, ok := err.(*Error); ok { // and not one that is wrapped in more words
		return e.Message()
	}
	return err.Error()
}

// Status tells the reason.
func (u Unavailable) Status(context.Context) Status {
	return Status{Detail: reason(u.refuse("", ""))}
}

// Close does nothing.
func (u Unavailable) Close() error { return nil }

// Ready refuses.
func (u Unavailable) Ready(context.Context) error { return u.refuse("ready", "") }

// Ping refuses.
func (u Unavailable) Ping(context.Context) error { return u.refuse("ping", "") }

// ListTabs refuses.
func (u Unavailable) ListTabs(context.Context) ([]Tab, error) {
	return nil, u.refuse("list tabs", "")
}

// SelectTab refuses.
func (u Unavailable) SelectTab(_ context.Context, tab TabID) (*Tab, error) {
	return nil, u.refuse("select tab", tab)
}

// NewTab refuses.
func (u Unavailable) NewTab(context.Context, string, *NewTabOptions) (*Tab, error) {
	return nil, u.refuse("new tab", "")
}

// CloseTab refuses.
func (u Unavailable) CloseTab(_ context.Context, tab TabID) (*ClosedTab, error) {
	return nil, u.refuse("close tab", tab)
}

// Navigate refuses.
func (u Unavailable) Navigate(_ context.Context, tab TabID, _ string, _ *NavigateOptions) (*Navigation, error) {
	return nil, u.refuse("navigate", tab)
}

// Back refuses.
func (u Unavailable) Back(_ context.Context, tab TabID, _ *NavigateOptions) (*Navigation, error) {
	return nil, u.refuse("back", tab)
}

// Forward refuses.
func (u Unavailable) Forward(_ context.Context, tab TabID, _ *NavigateOptions) (*Navigation, error) {
	return nil, u.refuse("forward", tab)
}

// Reload refuses.
func (u Unavailable) Reload(_ context.Context, tab TabID, _ *NavigateOptions) (*Navigation, error) {
	return nil, u.refuse("reload", tab)
}

// WaitFor refuses.
func (u Unavailable) WaitFor(_ context.Context, tab TabID, _ WaitCondition) (*WaitResult, error) {
	return nil, u.refuse("wait for", tab)
}

// Snapshot refuses.
func (u Unavailable) Snapshot(_ context.Context, tab TabID, _ *SnapshotOptions) (*Snapshot, error) {
	return nil, u.refuse("snapshot", tab)
}

// Text refuses.
func (u Unavailable) Text(_ context.Context, tab TabID, _ *TextOptions) (*Text, error) {
	return nil, u.refuse("text", tab)
}

// HTML refuses.
func (u Unavailable) HTML(_ context.Context, tab TabID, _ *HTMLOptions) (*HTML, error) {
	return nil, u.refuse("html", tab)
}

// Markdown refuses.
func (u Unavailable) Markdown(_ context.Context, tab TabID, _ *MarkdownOptions) (*Markdown, error) {
	return nil, u.refuse("markdown", tab)
}

// Links refuses.
func (u Unavailable) Links(_ context.Context, tab TabID, _ *LinksOptions) (*Links, error) {
	return nil, u.refuse("links", tab)
}

// Eval refuses.
func (u Unavailable) Eval(_ context.Context, tab TabID, _ string, _ *EvalOptions) (*EvalResult, error) {
	return nil, u.refuse("eval", tab)
}

// Click refuses.
func (u Unavailable) Click(_ context.Context, tab TabID, _ Target, _ *ClickOptions) (*Action, error) {
	return nil, u.refuse("click", tab)
}

// Type refuses.
func (u Unavailable) Type(_ context.Context, tab TabID, _ Target, _ string, _ *TypeOptions) (*Action, error) {
	return nil, u.refuse("type", tab)
}

// Press refuses.
func (u Unavailable) Press(_ context.Context, tab TabID, _ string, _ *PressOptions) (*Action, error) {
	return nil, u.refuse("press", tab)
}

// Hover refuses.
func (u Unavailable) Hover(_ context.Context, tab TabID, _ Target, _ *ActionOptions) (*Action, error) {
	return nil, u.refuse("hover", tab)
}

// Scroll refuses.
func (u Unavailable) Scroll(_ context.Context, tab TabID, _ ScrollOptions) (*ScrollResult, error) {
	return nil, u.refuse("scroll", tab)
}

// SelectOption refuses.
func (u Unavailable) SelectOption(_ context.Context, tab TabID, _ Target, _ []string, _ *ActionOptions) (*Selection, error) {
	return nil, u.refuse("select option", tab)
}

// FillForm refuses.
func (u Unavailable) FillForm(_ context.Context, tab TabID, _ []Field, _ *FillOptions) (*FillResult, error) {
	return nil, u.refuse("fill form", tab)
}

// HandleDialog refuses.
func (u Unavailable) HandleDialog(_ context.Context, tab TabID, _ DialogAnswer) (*DialogResult, error) {
	return nil, u.refuse("handle dialog", tab)
}

// Screenshot refuses.
func (u Unavailable) Screenshot(_ context.Context, tab TabID, _ *ScreenshotOptions) (*Screenshot, error) {
	return nil, u.refuse("screenshot", tab)
}

// Download refuses.
func (u Unavailable) Download(_ context.Context, tab TabID, _ DownloadOptions) (*Download, error) {
	return nil, u.refuse("download", tab)
}

// Upload refuses.
func (u Unavailable) Upload(_ context.Context, tab TabID, _ Target, _ []string, _ *ActionOptions) (*Upload, error) {
	return nil, u.refuse("upload", tab)
}

// SavePDF refuses.
func (u Unavailable) SavePDF(_ context.Context, tab TabID, _ *PDFOptions) (*PDF, error) {
	return nil, u.refuse("save pdf", tab)
}

// Drag refuses.
func (u Unavailable) Drag(_ context.Context, tab TabID, _, _ Target, _ *ActionOptions) (*Drag, error) {
	return nil, u.refuse("drag", tab)
}

// Mouse refuses.
func (u Unavailable) Mouse(_ context.Context, tab TabID, _ MouseOptions) (*Action, error) {
	return nil, u.refuse("mouse", tab)
}

// Console refuses.
func (u Unavailable) Console(_ context.Context, tab TabID, _ *ConsoleOptions) (*Console, error) {
	return nil, u.refuse("console messages", tab)
}

// PageErrors refuses.
func (u Unavailable) PageErrors(_ context.Context, tab TabID, _ *PageErrorsOptions) (*PageErrors, error) {
	return nil, u.refuse("page errors", tab)
}

// Requests refuses.
func (u Unavailable) Requests(_ context.Context, tab TabID, _ *RequestsOptions) (*Requests, error) {
	return nil, u.refuse("network requests", tab)
}

// Cookies refuses.
func (u Unavailable) Cookies(_ context.Context, tab TabID, _ *CookiesOptions) (*Cookies, error) {
	return nil, u.refuse("cookies", tab)
}

// SetCookie refuses.
func (u Unavailable) SetCookie(_ context.Context, tab TabID, _ Cookie) (*Stored, error) {
	return nil, u.refuse("set cookie", tab)
}

// DeleteCookies refuses.
func (u Unavailable) DeleteCookies(_ context.Context, tab TabID, _ []string) (*Stored, error) {
	return nil, u.refuse("delete cookies", tab)
}

// Items refuses.
func (u Unavailable) Items(_ context.Context, tab TabID, _ StorageArea, _ *ItemsOptions) (*Items, error) {
	return nil, u.refuse("items", tab)
}

// SetItem refuses.
func (u Unavailable) SetItem(_ context.Context, tab TabID, _ StorageArea, _, _ string) (*Stored, error) {
	return nil, u.refuse("set item", tab)
}

// RemoveItems refuses.
func (u Unavailable) RemoveItems(_ context.Context, tab TabID, _ StorageArea, _ []string) (*Stored, error) {
	return nil, u.refuse("remove items", tab)
}

// Resize refuses.
func (u Unavailable) Resize(_ context.Context, tab TabID, _ ResizeOptions) (*Viewport, error) {
	return nil, u.refuse("resize", tab)
}

// Emulate refuses.
func (u Unavailable) Emulate(_ context.Context, tab TabID, _ EmulateOptions) (*Emulation, error) {
	return nil, u.refuse("emulate", tab)
}

// SaveState refuses.
func (u Unavailable) SaveState(context.Context, string) (*State, error) {
	return nil, u.refuse("save state", "")
}

// LoadState refuses.
func (u Unavailable) LoadState(context.Context, string) (*State, error) {
	return nil, u.refuse("load state", "")
}

// CDP refuses.
func (u Unavailable) CDP(_ context.Context, tab TabID, _ string, _ any) (RawJSON, error) {
	return nil, u.refuse("cdp", tab)
}
