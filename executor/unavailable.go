package executor

import (
	"context"
	"errors"
)

// Unavailable is an [Executor] whose methods all return one error: the reason why no browser is
// available. Its Status reports the same reason. Its Close does nothing. It is safe for concurrent
// use.
type Unavailable struct {
	// Err is the reason. nil means ErrNoBackend.
	Err error
}

var _ Executor = Unavailable{}

// fail returns the reason as the error of one call.
func (u Unavailable) fail(op string, tab TabID) error {
	if u.Err == nil {
		return &Error{Op: op, Tab: tab, Code: ErrNoBackend}
	}
	return Wrap(op, tab, u.Err)
}

// reason returns, in one line, what happened and what to do about it.
func reason(err error) string {
	if e := new(Error); errors.As(err, &e) && e.Hint != "" {
		return message(err) + " (" + e.Hint + ")"
	}
	return message(err)
}

// message returns what happened, without the operation and the tab.
func message(err error) string {
	if e, ok := err.(*Error); ok { // a wrapping error has its own message
		return e.Message()
	}
	return err.Error()
}

// Status returns a Status whose Detail is the reason.
func (u Unavailable) Status(context.Context) Status {
	return Status{Detail: reason(u.fail("", ""))}
}

func (u Unavailable) Close() error { return nil }

func (u Unavailable) Ready(context.Context) error { return u.fail("ready", "") }

func (u Unavailable) Ping(context.Context) error { return u.fail("ping", "") }

func (u Unavailable) ListTabs(context.Context) ([]Tab, error) {
	return nil, u.fail("list tabs", "")
}

func (u Unavailable) SelectTab(_ context.Context, tab TabID) (*Tab, error) {
	return nil, u.fail("select tab", tab)
}

func (u Unavailable) NewTab(context.Context, string, *NewTabOptions) (*Tab, error) {
	return nil, u.fail("new tab", "")
}

func (u Unavailable) CloseTab(_ context.Context, tab TabID) (*ClosedTab, error) {
	return nil, u.fail("close tab", tab)
}

func (u Unavailable) Navigate(_ context.Context, tab TabID, _ string, _ *NavigateOptions) (*Navigation, error) {
	return nil, u.fail("navigate", tab)
}

func (u Unavailable) Back(_ context.Context, tab TabID, _ *NavigateOptions) (*Navigation, error) {
	return nil, u.fail("back", tab)
}

func (u Unavailable) Forward(_ context.Context, tab TabID, _ *NavigateOptions) (*Navigation, error) {
	return nil, u.fail("forward", tab)
}

func (u Unavailable) Reload(_ context.Context, tab TabID, _ *NavigateOptions) (*Navigation, error) {
	return nil, u.fail("reload", tab)
}

func (u Unavailable) WaitFor(_ context.Context, tab TabID, _ WaitCondition) (*WaitResult, error) {
	return nil, u.fail("wait for", tab)
}

func (u Unavailable) Snapshot(_ context.Context, tab TabID, _ *SnapshotOptions) (*Snapshot, error) {
	return nil, u.fail("snapshot", tab)
}

func (u Unavailable) Text(_ context.Context, tab TabID, _ *TextOptions) (*Text, error) {
	return nil, u.fail("text", tab)
}

func (u Unavailable) HTML(_ context.Context, tab TabID, _ *HTMLOptions) (*HTML, error) {
	return nil, u.fail("html", tab)
}

func (u Unavailable) Markdown(_ context.Context, tab TabID, _ *MarkdownOptions) (*Markdown, error) {
	return nil, u.fail("markdown", tab)
}

func (u Unavailable) Links(_ context.Context, tab TabID, _ *LinksOptions) (*Links, error) {
	return nil, u.fail("links", tab)
}

func (u Unavailable) Eval(_ context.Context, tab TabID, _ string, _ *EvalOptions) (*EvalResult, error) {
	return nil, u.fail("eval", tab)
}

func (u Unavailable) Click(_ context.Context, tab TabID, _ Target, _ *ClickOptions) (*Action, error) {
	return nil, u.fail("click", tab)
}

func (u Unavailable) Type(_ context.Context, tab TabID, _ Target, _ string, _ *TypeOptions) (*Action, error) {
	return nil, u.fail("type", tab)
}

func (u Unavailable) Press(_ context.Context, tab TabID, _ string, _ *PressOptions) (*Action, error) {
	return nil, u.fail("press", tab)
}

func (u Unavailable) Hover(_ context.Context, tab TabID, _ Target, _ *ActionOptions) (*Action, error) {
	return nil, u.fail("hover", tab)
}

func (u Unavailable) Scroll(_ context.Context, tab TabID, _ ScrollOptions) (*ScrollResult, error) {
	return nil, u.fail("scroll", tab)
}

func (u Unavailable) SelectOption(_ context.Context, tab TabID, _ Target, _ []string, _ *ActionOptions) (*Selection, error) {
	return nil, u.fail("select option", tab)
}

func (u Unavailable) FillForm(_ context.Context, tab TabID, _ []Field, _ *FillOptions) (*FillResult, error) {
	return nil, u.fail("fill form", tab)
}

func (u Unavailable) HandleDialog(_ context.Context, tab TabID, _ DialogAnswer) (*DialogResult, error) {
	return nil, u.fail("handle dialog", tab)
}

func (u Unavailable) Screenshot(_ context.Context, tab TabID, _ *ScreenshotOptions) (*Screenshot, error) {
	return nil, u.fail("screenshot", tab)
}

func (u Unavailable) Download(_ context.Context, tab TabID, _ DownloadOptions) (*Download, error) {
	return nil, u.fail("download", tab)
}

func (u Unavailable) Upload(_ context.Context, tab TabID, _ Target, _ []string, _ *ActionOptions) (*Upload, error) {
	return nil, u.fail("upload", tab)
}

func (u Unavailable) SavePDF(_ context.Context, tab TabID, _ *PDFOptions) (*PDF, error) {
	return nil, u.fail("save pdf", tab)
}

func (u Unavailable) Drag(_ context.Context, tab TabID, _, _ Target, _ *ActionOptions) (*Drag, error) {
	return nil, u.fail("drag", tab)
}

func (u Unavailable) Mouse(_ context.Context, tab TabID, _ MouseOptions) (*Action, error) {
	return nil, u.fail("mouse", tab)
}

func (u Unavailable) Console(_ context.Context, tab TabID, _ *ConsoleOptions) (*Console, error) {
	return nil, u.fail("console messages", tab)
}

func (u Unavailable) PageErrors(_ context.Context, tab TabID, _ *PageErrorsOptions) (*PageErrors, error) {
	return nil, u.fail("page errors", tab)
}

func (u Unavailable) Requests(_ context.Context, tab TabID, _ *RequestsOptions) (*Requests, error) {
	return nil, u.fail("network requests", tab)
}

func (u Unavailable) Cookies(_ context.Context, tab TabID, _ *CookiesOptions) (*Cookies, error) {
	return nil, u.fail("cookies", tab)
}

func (u Unavailable) SetCookie(_ context.Context, tab TabID, _ Cookie) (*StorageChange, error) {
	return nil, u.fail("set cookie", tab)
}

func (u Unavailable) DeleteCookies(_ context.Context, tab TabID, _ []string) (*StorageChange, error) {
	return nil, u.fail("delete cookies", tab)
}

func (u Unavailable) Items(_ context.Context, tab TabID, _ StorageArea, _ *ItemsOptions) (*Items, error) {
	return nil, u.fail("items", tab)
}

func (u Unavailable) SetItem(_ context.Context, tab TabID, _ StorageArea, _, _ string) (*StorageChange, error) {
	return nil, u.fail("set item", tab)
}

func (u Unavailable) RemoveItems(_ context.Context, tab TabID, _ StorageArea, _ []string) (*StorageChange, error) {
	return nil, u.fail("remove items", tab)
}

func (u Unavailable) Resize(_ context.Context, tab TabID, _ ResizeOptions) (*Viewport, error) {
	return nil, u.fail("resize", tab)
}

func (u Unavailable) Emulate(_ context.Context, tab TabID, _ EmulateOptions) (*Emulation, error) {
	return nil, u.fail("emulate", tab)
}

func (u Unavailable) SaveState(context.Context, string) (*StateResult, error) {
	return nil, u.fail("save state", "")
}

func (u Unavailable) LoadState(context.Context, string) (*StateResult, error) {
	return nil, u.fail("load state", "")
}

func (u Unavailable) CDP(_ context.Context, tab TabID, _ string, _ any) (RawJSON, error) {
	return nil, u.fail("cdp", tab)
}
