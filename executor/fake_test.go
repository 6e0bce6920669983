package executor_test

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// A fakeBackend is a Backend whose sessions record their calls. Its fields are set before it is
// used.
type fakeBackend struct {
	kind      executor.BackendKind
	connected atomic.Bool  // used if it is the extension backend, as are the next two
	lost      atomic.Int64 // in milliseconds since 1970
	changed   chan struct{}
	status    executor.Status
	newErr    error
	absent    error                                          // default errAbsent
	do        func(ctx context.Context, method string) error // called by each method; nil means no-op

	mu       sync.Mutex // guards the fields below
	sessions []*fakeSession
}

// errAbsent is the default error for a missing extension.
var errAbsent = executor.Errorf(executor.ErrNoBackend, "Open the Chrome that has it.", "no extension is connected")

var _ executor.ExtensionBackend = (*fakeBackend)(nil)

func (b *fakeBackend) Kind() executor.BackendKind             { return b.kind }
func (b *fakeBackend) Connected() bool                        { return b.connected.Load() }
func (b *fakeBackend) DisconnectedError() error               { return cmp.Or(b.absent, error(errAbsent)) }
func (b *fakeBackend) LastDisconnect() time.Time              { return time.UnixMilli(b.lost.Load()) }
func (b *fakeBackend) Changed() <-chan struct{}               { return b.changed }
func (b *fakeBackend) Status(context.Context) executor.Status { return b.status }
func (b *fakeBackend) Close() error                           { panic("a shared backend was closed") }

func (b *fakeBackend) NewSession(opts executor.SessionOptions) (executor.Executor, error) {
	if b.newErr != nil {
		return nil, b.newErr
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &fakeSession{backend: b, opts: opts}
	b.sessions = append(b.sessions, s)
	return s, nil
}

// opened returns the sessions.
func (b *fakeBackend) opened() []*fakeSession {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.sessions)
}

// calls returns the names of the methods that were called on all sessions.
func (b *fakeBackend) calls() []string {
	var names []string
	for _, s := range b.opened() {
		s.mu.Lock()
		for _, c := range s.noted {
			names = append(names, c.method)
		}
		s.mu.Unlock()
	}
	return names
}

// count returns how often a method was called.
func (b *fakeBackend) count(method string) int {
	n := 0
	for _, name := range b.calls() {
		if name == method {
			n++
		}
	}
	return n
}

// A notedCall is a call that a session received, with its result.
type notedCall struct {
	method string
	args   []any
	result any
	err    error
}

// A fakeSession is a session of a fakeBackend. It embeds nothing, so that a method added to the
// interface does not compile until it is added here.
type fakeSession struct {
	backend *fakeBackend
	opts    executor.SessionOptions

	mu    sync.Mutex // guards the fields below
	noted []notedCall
}

var _ executor.Executor = (*fakeSession)(nil)

// do records a call, calls the backend's do function, and returns a new result.
func do[T any](s *fakeSession, method string, ctx context.Context, args ...any) (T, error) {
	var result T
	switch v := reflect.ValueOf(&result).Elem(); v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	}
	var err error
	s.mu.Lock()
	i := len(s.noted)
	s.noted = append(s.noted, notedCall{method: method, args: append([]any{ctx}, args...), result: result})
	s.mu.Unlock()
	if s.backend.do != nil {
		err = s.backend.do(ctx, method)
	}
	s.mu.Lock()
	s.noted[i].err = err
	s.mu.Unlock()
	return result, err
}

// last returns the last call.
func (s *fakeSession) last() notedCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.noted[len(s.noted)-1]
}

func (s *fakeSession) Status(ctx context.Context) executor.Status {
	st := s.backend.status
	st.ActiveTabID = "of the session"
	return st
}

func (s *fakeSession) Close() error {
	_, err := do[struct{}](s, "Close", context.Background())
	return err
}

func (s *fakeSession) Ready(ctx context.Context) error {
	_, err := do[struct{}](s, "Ready", ctx)
	return err
}

func (s *fakeSession) Ping(ctx context.Context) error {
	_, err := do[struct{}](s, "Ping", ctx)
	return err
}

func (s *fakeSession) ListTabs(ctx context.Context) ([]executor.Tab, error) {
	return do[[]executor.Tab](s, "ListTabs", ctx)
}

func (s *fakeSession) SelectTab(ctx context.Context, tab executor.TabID) (*executor.Tab, error) {
	return do[*executor.Tab](s, "SelectTab", ctx, tab)
}

func (s *fakeSession) NewTab(ctx context.Context, url string, opts *executor.NewTabOptions) (*executor.Tab, error) {
	return do[*executor.Tab](s, "NewTab", ctx, url, opts)
}

func (s *fakeSession) CloseTab(ctx context.Context, tab executor.TabID) (*executor.ClosedTab, error) {
	return do[*executor.ClosedTab](s, "CloseTab", ctx, tab)
}

func (s *fakeSession) Navigate(ctx context.Context, tab executor.TabID, url string, opts *executor.NavigateOptions) (*executor.Navigation, error) {
	return do[*executor.Navigation](s, "Navigate", ctx, tab, url, opts)
}

func (s *fakeSession) Back(ctx context.Context, tab executor.TabID, opts *executor.NavigateOptions) (*executor.Navigation, error) {
	return do[*executor.Navigation](s, "Back", ctx, tab, opts)
}

func (s *fakeSession) Forward(ctx context.Context, tab executor.TabID, opts *executor.NavigateOptions) (*executor.Navigation, error) {
	return do[*executor.Navigation](s, "Forward", ctx, tab, opts)
}

func (s *fakeSession) Reload(ctx context.Context, tab executor.TabID, opts *executor.NavigateOptions) (*executor.Navigation, error) {
	return do[*executor.Navigation](s, "Reload", ctx, tab, opts)
}

func (s *fakeSession) WaitFor(ctx context.Context, tab executor.TabID, cond executor.WaitCondition) (*executor.WaitResult, error) {
	return do[*executor.WaitResult](s, "WaitFor", ctx, tab, cond)
}

func (s *fakeSession) Snapshot(ctx context.Context, tab executor.TabID, opts *executor.SnapshotOptions) (*executor.Snapshot, error) {
	return do[*executor.Snapshot](s, "Snapshot", ctx, tab, opts)
}

func (s *fakeSession) Text(ctx context.Context, tab executor.TabID, opts *executor.TextOptions) (*executor.Text, error) {
	return do[*executor.Text](s, "Text", ctx, tab, opts)
}

func (s *fakeSession) HTML(ctx context.Context, tab executor.TabID, opts *executor.HTMLOptions) (*executor.HTML, error) {
	return do[*executor.HTML](s, "HTML", ctx, tab, opts)
}

func (s *fakeSession) Markdown(ctx context.Context, tab executor.TabID, opts *executor.MarkdownOptions) (*executor.Markdown, error) {
	return do[*executor.Markdown](s, "Markdown", ctx, tab, opts)
}

func (s *fakeSession) Links(ctx context.Context, tab executor.TabID, opts *executor.LinksOptions) (*executor.Links, error) {
	return do[*executor.Links](s, "Links", ctx, tab, opts)
}

func (s *fakeSession) Eval(ctx context.Context, tab executor.TabID, expression string, opts *executor.EvalOptions) (*executor.EvalResult, error) {
	return do[*executor.EvalResult](s, "Eval", ctx, tab, expression, opts)
}

func (s *fakeSession) Click(ctx context.Context, tab executor.TabID, target executor.Target, opts *executor.ClickOptions) (*executor.Action, error) {
	return do[*executor.Action](s, "Click", ctx, tab, target, opts)
}

func (s *fakeSession) Type(ctx context.Context, tab executor.TabID, target executor.Target, text string, opts *executor.TypeOptions) (*executor.Action, error) {
	return do[*executor.Action](s, "Type", ctx, tab, target, text, opts)
}

func (s *fakeSession) Press(ctx context.Context, tab executor.TabID, key string, opts *executor.PressOptions) (*executor.Action, error) {
	return do[*executor.Action](s, "Press", ctx, tab, key, opts)
}

func (s *fakeSession) Hover(ctx context.Context, tab executor.TabID, target executor.Target, opts *executor.ActionOptions) (*executor.Action, error) {
	return do[*executor.Action](s, "Hover", ctx, tab, target, opts)
}

func (s *fakeSession) Scroll(ctx context.Context, tab executor.TabID, opts executor.ScrollOptions) (*executor.ScrollResult, error) {
	return do[*executor.ScrollResult](s, "Scroll", ctx, tab, opts)
}

func (s *fakeSession) SelectOption(ctx context.Context, tab executor.TabID, target executor.Target, values []string, opts *executor.ActionOptions) (*executor.Selection, error) {
	return do[*executor.Selection](s, "SelectOption", ctx, tab, target, values, opts)
}

func (s *fakeSession) FillForm(ctx context.Context, tab executor.TabID, fields []executor.Field, opts *executor.FillOptions) (*executor.FillResult, error) {
	return do[*executor.FillResult](s, "FillForm", ctx, tab, fields, opts)
}

func (s *fakeSession) HandleDialog(ctx context.Context, tab executor.TabID, answer executor.DialogAnswer) (*executor.DialogResult, error) {
	return do[*executor.DialogResult](s, "HandleDialog", ctx, tab, answer)
}

func (s *fakeSession) Screenshot(ctx context.Context, tab executor.TabID, opts *executor.ScreenshotOptions) (*executor.Screenshot, error) {
	return do[*executor.Screenshot](s, "Screenshot", ctx, tab, opts)
}

func (s *fakeSession) Download(ctx context.Context, tab executor.TabID, opts executor.DownloadOptions) (*executor.Download, error) {
	return do[*executor.Download](s, "Download", ctx, tab, opts)
}

func (s *fakeSession) Upload(ctx context.Context, tab executor.TabID, target executor.Target, paths []string, opts *executor.ActionOptions) (*executor.Upload, error) {
	return do[*executor.Upload](s, "Upload", ctx, tab, target, paths, opts)
}

func (s *fakeSession) SavePDF(ctx context.Context, tab executor.TabID, opts *executor.PDFOptions) (*executor.PDF, error) {
	return do[*executor.PDF](s, "SavePDF", ctx, tab, opts)
}

func (s *fakeSession) Drag(ctx context.Context, tab executor.TabID, from, to executor.Target, opts *executor.ActionOptions) (*executor.Drag, error) {
	return do[*executor.Drag](s, "Drag", ctx, tab, from, to, opts)
}

func (s *fakeSession) Mouse(ctx context.Context, tab executor.TabID, opts executor.MouseOptions) (*executor.Action, error) {
	return do[*executor.Action](s, "Mouse", ctx, tab, opts)
}

func (s *fakeSession) Console(ctx context.Context, tab executor.TabID, opts *executor.ConsoleOptions) (*executor.Console, error) {
	return do[*executor.Console](s, "Console", ctx, tab, opts)
}

func (s *fakeSession) PageErrors(ctx context.Context, tab executor.TabID, opts *executor.PageErrorsOptions) (*executor.PageErrors, error) {
	return do[*executor.PageErrors](s, "PageErrors", ctx, tab, opts)
}

func (s *fakeSession) Requests(ctx context.Context, tab executor.TabID, opts *executor.RequestsOptions) (*executor.Requests, error) {
	return do[*executor.Requests](s, "Requests", ctx, tab, opts)
}

func (s *fakeSession) Cookies(ctx context.Context, tab executor.TabID, opts *executor.CookiesOptions) (*executor.Cookies, error) {
	return do[*executor.Cookies](s, "Cookies", ctx, tab, opts)
}

func (s *fakeSession) SetCookie(ctx context.Context, tab executor.TabID, cookie executor.Cookie) (*executor.StorageChange, error) {
	return do[*executor.StorageChange](s, "SetCookie", ctx, tab, cookie)
}

func (s *fakeSession) DeleteCookies(ctx context.Context, tab executor.TabID, names []string) (*executor.StorageChange, error) {
	return do[*executor.StorageChange](s, "DeleteCookies", ctx, tab, names)
}

func (s *fakeSession) Items(ctx context.Context, tab executor.TabID, area executor.StorageArea, opts *executor.ItemsOptions) (*executor.Items, error) {
	return do[*executor.Items](s, "Items", ctx, tab, area, opts)
}

func (s *fakeSession) SetItem(ctx context.Context, tab executor.TabID, area executor.StorageArea, key, value string) (*executor.StorageChange, error) {
	return do[*executor.StorageChange](s, "SetItem", ctx, tab, area, key, value)
}

func (s *fakeSession) RemoveItems(ctx context.Context, tab executor.TabID, area executor.StorageArea, keys []string) (*executor.StorageChange, error) {
	return do[*executor.StorageChange](s, "RemoveItems", ctx, tab, area, keys)
}

func (s *fakeSession) Resize(ctx context.Context, tab executor.TabID, opts executor.ResizeOptions) (*executor.Viewport, error) {
	return do[*executor.Viewport](s, "Resize", ctx, tab, opts)
}

func (s *fakeSession) Emulate(ctx context.Context, tab executor.TabID, opts executor.EmulateOptions) (*executor.Emulation, error) {
	return do[*executor.Emulation](s, "Emulate", ctx, tab, opts)
}

func (s *fakeSession) SaveState(ctx context.Context, name string) (*executor.StateResult, error) {
	return do[*executor.StateResult](s, "SaveState", ctx, name)
}

func (s *fakeSession) LoadState(ctx context.Context, name string) (*executor.StateResult, error) {
	return do[*executor.StateResult](s, "LoadState", ctx, name)
}

func (s *fakeSession) CDP(ctx context.Context, tab executor.TabID, method string, params any) (executor.RawJSON, error) {
	return do[executor.RawJSON](s, "CDP", ctx, tab, method, params)
}
