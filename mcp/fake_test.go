package mcp

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A fake is an Executor made of function fields. A method whose field is nil returns an error that
// names the method, so that tests detect unexpected calls.
type fake struct {
	listTabs     func(context.Context) ([]executor.Tab, error)
	selectTab    func(context.Context, executor.TabID) (*executor.Tab, error)
	newTab       func(context.Context, string, *executor.NewTabOptions) (*executor.Tab, error)
	closeTab     func(context.Context, executor.TabID) (*executor.ClosedTab, error)
	navigate     func(context.Context, executor.TabID, string, *executor.NavigateOptions) (*executor.Navigation, error)
	back         func(context.Context, executor.TabID, *executor.NavigateOptions) (*executor.Navigation, error)
	forward      func(context.Context, executor.TabID, *executor.NavigateOptions) (*executor.Navigation, error)
	reload       func(context.Context, executor.TabID, *executor.NavigateOptions) (*executor.Navigation, error)
	waitFor      func(context.Context, executor.TabID, executor.WaitCondition) (*executor.WaitResult, error)
	snapshot     func(context.Context, executor.TabID, *executor.SnapshotOptions) (*executor.Snapshot, error)
	text         func(context.Context, executor.TabID, *executor.TextOptions) (*executor.Text, error)
	html         func(context.Context, executor.TabID, *executor.HTMLOptions) (*executor.HTML, error)
	markdown     func(context.Context, executor.TabID, *executor.MarkdownOptions) (*executor.Markdown, error)
	links        func(context.Context, executor.TabID, *executor.LinksOptions) (*executor.Links, error)
	eval         func(context.Context, executor.TabID, string, *executor.EvalOptions) (*executor.EvalResult, error)
	click        func(context.Context, executor.TabID, executor.Target, *executor.ClickOptions) (*executor.Action, error)
	typeText     func(context.Context, executor.TabID, executor.Target, string, *executor.TypeOptions) (*executor.Action, error)
	press        func(context.Context, executor.TabID, string, *executor.PressOptions) (*executor.Action, error)
	hover        func(context.Context, executor.TabID, executor.Target, *executor.ActionOptions) (*executor.Action, error)
	scroll       func(context.Context, executor.TabID, executor.ScrollOptions) (*executor.ScrollResult, error)
	selectOption func(context.Context, executor.TabID, executor.Target, []string, *executor.ActionOptions) (*executor.Selection, error)
	fillForm     func(context.Context, executor.TabID, []executor.Field, *executor.FillOptions) (*executor.FillResult, error)
	handleDialog func(context.Context, executor.TabID, executor.DialogAnswer) (*executor.DialogResult, error)
	screenshot   func(context.Context, executor.TabID, *executor.ScreenshotOptions) (*executor.Screenshot, error)
	download     func(context.Context, executor.TabID, executor.DownloadOptions) (*executor.Download, error)
	drag         func(context.Context, executor.TabID, executor.Target, executor.Target, *executor.ActionOptions) (*executor.Drag, error)
	mouse        func(context.Context, executor.TabID, executor.MouseOptions) (*executor.Action, error)
	cookies      func(context.Context, executor.TabID, *executor.CookiesOptions) (*executor.Cookies, error)
	setCookie    func(context.Context, executor.TabID, executor.Cookie) (*executor.StorageChange, error)
	delCookies   func(context.Context, executor.TabID, []string) (*executor.StorageChange, error)
	items        func(context.Context, executor.TabID, executor.StorageArea, *executor.ItemsOptions) (*executor.Items, error)
	setItem      func(context.Context, executor.TabID, executor.StorageArea, string, string) (*executor.StorageChange, error)
	removeItems  func(context.Context, executor.TabID, executor.StorageArea, []string) (*executor.StorageChange, error)
	saveState    func(context.Context, string) (*executor.StateResult, error)
	loadState    func(context.Context, string) (*executor.StateResult, error)
	upload       func(context.Context, executor.TabID, executor.Target, []string, *executor.ActionOptions) (*executor.Upload, error)
	savePDF      func(context.Context, executor.TabID, *executor.PDFOptions) (*executor.PDF, error)
	console      func(context.Context, executor.TabID, *executor.ConsoleOptions) (*executor.Console, error)
	pageErrors   func(context.Context, executor.TabID, *executor.PageErrorsOptions) (*executor.PageErrors, error)
	requests     func(context.Context, executor.TabID, *executor.RequestsOptions) (*executor.Requests, error)
	resize       func(context.Context, executor.TabID, executor.ResizeOptions) (*executor.Viewport, error)
	emulate      func(context.Context, executor.TabID, executor.EmulateOptions) (*executor.Emulation, error)
	status       func(context.Context) executor.Status
	close        func() error
}

var _ executor.Executor = (*fake)(nil)

func unexpected(op string) error {
	return executor.Errorf(executor.ErrCDP, "", "%s was not expected", op)
}

func (f *fake) ListTabs(ctx context.Context) ([]executor.Tab, error) {
	if f.listTabs == nil {
		return nil, unexpected("ListTabs")
	}
	return f.listTabs(ctx)
}

func (f *fake) SelectTab(ctx context.Context, tab executor.TabID) (*executor.Tab, error) {
	if f.selectTab == nil {
		return nil, unexpected("SelectTab")
	}
	return f.selectTab(ctx, tab)
}

func (f *fake) NewTab(ctx context.Context, url string, o *executor.NewTabOptions) (*executor.Tab, error) {
	if f.newTab == nil {
		return nil, unexpected("NewTab")
	}
	return f.newTab(ctx, url, o)
}

func (f *fake) CloseTab(ctx context.Context, tab executor.TabID) (*executor.ClosedTab, error) {
	if f.closeTab == nil {
		return nil, unexpected("CloseTab")
	}
	return f.closeTab(ctx, tab)
}

func (f *fake) Navigate(ctx context.Context, tab executor.TabID, url string, o *executor.NavigateOptions) (*executor.Navigation, error) {
	if f.navigate == nil {
		return nil, unexpected("Navigate")
	}
	return f.navigate(ctx, tab, url, o)
}

func (f *fake) Back(ctx context.Context, tab executor.TabID, o *executor.NavigateOptions) (*executor.Navigation, error) {
	if f.back == nil {
		return nil, unexpected("Back")
	}
	return f.back(ctx, tab, o)
}

func (f *fake) Forward(ctx context.Context, tab executor.TabID, o *executor.NavigateOptions) (*executor.Navigation, error) {
	if f.forward == nil {
		return nil, unexpected("Forward")
	}
	return f.forward(ctx, tab, o)
}

func (f *fake) Reload(ctx context.Context, tab executor.TabID, o *executor.NavigateOptions) (*executor.Navigation, error) {
	if f.reload == nil {
		return nil, unexpected("Reload")
	}
	return f.reload(ctx, tab, o)
}

func (f *fake) WaitFor(ctx context.Context, tab executor.TabID, c executor.WaitCondition) (*executor.WaitResult, error) {
	if f.waitFor == nil {
		return nil, unexpected("WaitFor")
	}
	return f.waitFor(ctx, tab, c)
}

func (f *fake) Snapshot(ctx context.Context, tab executor.TabID, o *executor.SnapshotOptions) (*executor.Snapshot, error) {
	if f.snapshot == nil {
		return nil, unexpected("Snapshot")
	}
	return f.snapshot(ctx, tab, o)
}

func (f *fake) Text(ctx context.Context, tab executor.TabID, o *executor.TextOptions) (*executor.Text, error) {
	if f.text == nil {
		return nil, unexpected("Text")
	}
	return f.text(ctx, tab, o)
}

func (f *fake) HTML(ctx context.Context, tab executor.TabID, o *executor.HTMLOptions) (*executor.HTML, error) {
	if f.html == nil {
		return nil, unexpected("HTML")
	}
	return f.html(ctx, tab, o)
}

func (f *fake) Markdown(ctx context.Context, tab executor.TabID, o *executor.MarkdownOptions) (*executor.Markdown, error) {
	if f.markdown == nil {
		return nil, unexpected("Markdown")
	}
	return f.markdown(ctx, tab, o)
}

func (f *fake) Links(ctx context.Context, tab executor.TabID, o *executor.LinksOptions) (*executor.Links, error) {
	if f.links == nil {
		return nil, unexpected("Links")
	}
	return f.links(ctx, tab, o)
}

func (f *fake) Eval(ctx context.Context, tab executor.TabID, expr string, o *executor.EvalOptions) (*executor.EvalResult, error) {
	if f.eval == nil {
		return nil, unexpected("Eval")
	}
	return f.eval(ctx, tab, expr, o)
}

func (f *fake) Click(ctx context.Context, tab executor.TabID, t executor.Target, o *executor.ClickOptions) (*executor.Action, error) {
	if f.click == nil {
		return nil, unexpected("Click")
	}
	return f.click(ctx, tab, t, o)
}

func (f *fake) Type(ctx context.Context, tab executor.TabID, t executor.Target, text string, o *executor.TypeOptions) (*executor.Action, error) {
	if f.typeText == nil {
		return nil, unexpected("Type")
	}
	return f.typeText(ctx, tab, t, text, o)
}

func (f *fake) Press(ctx context.Context, tab executor.TabID, key string, o *executor.PressOptions) (*executor.Action, error) {
	if f.press == nil {
		return nil, unexpected("Press")
	}
	return f.press(ctx, tab, key, o)
}

func (f *fake) Hover(ctx context.Context, tab executor.TabID, t executor.Target, o *executor.ActionOptions) (*executor.Action, error) {
	if f.hover == nil {
		return nil, unexpected("Hover")
	}
	return f.hover(ctx, tab, t, o)
}

func (f *fake) Scroll(ctx context.Context, tab executor.TabID, o executor.ScrollOptions) (*executor.ScrollResult, error) {
	if f.scroll == nil {
		return nil, unexpected("Scroll")
	}
	return f.scroll(ctx, tab, o)
}

func (f *fake) SelectOption(ctx context.Context, tab executor.TabID, t executor.Target, values []string, o *executor.ActionOptions) (*executor.Selection, error) {
	if f.selectOption == nil {
		return nil, unexpected("SelectOption")
	}
	return f.selectOption(ctx, tab, t, values, o)
}

func (f *fake) FillForm(ctx context.Context, tab executor.TabID, fields []executor.Field, o *executor.FillOptions) (*executor.FillResult, error) {
	if f.fillForm == nil {
		return nil, unexpected("FillForm")
	}
	return f.fillForm(ctx, tab, fields, o)
}

func (f *fake) HandleDialog(ctx context.Context, tab executor.TabID, a executor.DialogAnswer) (*executor.DialogResult, error) {
	if f.handleDialog == nil {
		return nil, unexpected("HandleDialog")
	}
	return f.handleDialog(ctx, tab, a)
}

func (f *fake) Screenshot(ctx context.Context, tab executor.TabID, o *executor.ScreenshotOptions) (*executor.Screenshot, error) {
	if f.screenshot == nil {
		return nil, unexpected("Screenshot")
	}
	return f.screenshot(ctx, tab, o)
}

func (f *fake) Drag(ctx context.Context, tab executor.TabID, from, to executor.Target, o *executor.ActionOptions) (*executor.Drag, error) {
	if f.drag == nil {
		return nil, unexpected("Drag")
	}
	return f.drag(ctx, tab, from, to, o)
}

func (f *fake) Mouse(ctx context.Context, tab executor.TabID, o executor.MouseOptions) (*executor.Action, error) {
	if f.mouse == nil {
		return nil, unexpected("Mouse")
	}
	return f.mouse(ctx, tab, o)
}

func (f *fake) Cookies(ctx context.Context, tab executor.TabID, o *executor.CookiesOptions) (*executor.Cookies, error) {
	if f.cookies == nil {
		return nil, unexpected("Cookies")
	}
	return f.cookies(ctx, tab, o)
}

func (f *fake) SetCookie(ctx context.Context, tab executor.TabID, c executor.Cookie) (*executor.StorageChange, error) {
	if f.setCookie == nil {
		return nil, unexpected("SetCookie")
	}
	return f.setCookie(ctx, tab, c)
}

func (f *fake) DeleteCookies(ctx context.Context, tab executor.TabID, names []string) (*executor.StorageChange, error) {
	if f.delCookies == nil {
		return nil, unexpected("DeleteCookies")
	}
	return f.delCookies(ctx, tab, names)
}

func (f *fake) Items(ctx context.Context, tab executor.TabID, area executor.StorageArea, o *executor.ItemsOptions) (*executor.Items, error) {
	if f.items == nil {
		return nil, unexpected("Items")
	}
	return f.items(ctx, tab, area, o)
}

func (f *fake) SetItem(ctx context.Context, tab executor.TabID, area executor.StorageArea, key, value string) (*executor.StorageChange, error) {
	if f.setItem == nil {
		return nil, unexpected("SetItem")
	}
	return f.setItem(ctx, tab, area, key, value)
}

func (f *fake) RemoveItems(ctx context.Context, tab executor.TabID, area executor.StorageArea, keys []string) (*executor.StorageChange, error) {
	if f.removeItems == nil {
		return nil, unexpected("RemoveItems")
	}
	return f.removeItems(ctx, tab, area, keys)
}

func (f *fake) SaveState(ctx context.Context, name string) (*executor.StateResult, error) {
	if f.saveState == nil {
		return nil, unexpected("SaveState")
	}
	return f.saveState(ctx, name)
}

func (f *fake) LoadState(ctx context.Context, name string) (*executor.StateResult, error) {
	if f.loadState == nil {
		return nil, unexpected("LoadState")
	}
	return f.loadState(ctx, name)
}

func (f *fake) Upload(ctx context.Context, tab executor.TabID, target executor.Target, paths []string, o *executor.ActionOptions) (*executor.Upload, error) {
	if f.upload == nil {
		return nil, unexpected("Upload")
	}
	return f.upload(ctx, tab, target, paths, o)
}

func (f *fake) SavePDF(ctx context.Context, tab executor.TabID, o *executor.PDFOptions) (*executor.PDF, error) {
	if f.savePDF == nil {
		return nil, unexpected("SavePDF")
	}
	return f.savePDF(ctx, tab, o)
}

func (f *fake) Download(ctx context.Context, tab executor.TabID, o executor.DownloadOptions) (*executor.Download, error) {
	if f.download == nil {
		return nil, unexpected("Download")
	}
	return f.download(ctx, tab, o)
}

func (f *fake) Console(ctx context.Context, tab executor.TabID, o *executor.ConsoleOptions) (*executor.Console, error) {
	if f.console == nil {
		return nil, unexpected("Console")
	}
	return f.console(ctx, tab, o)
}

func (f *fake) PageErrors(ctx context.Context, tab executor.TabID, o *executor.PageErrorsOptions) (*executor.PageErrors, error) {
	if f.pageErrors == nil {
		return nil, unexpected("PageErrors")
	}
	return f.pageErrors(ctx, tab, o)
}

func (f *fake) Requests(ctx context.Context, tab executor.TabID, o *executor.RequestsOptions) (*executor.Requests, error) {
	if f.requests == nil {
		return nil, unexpected("Requests")
	}
	return f.requests(ctx, tab, o)
}

func (f *fake) Resize(ctx context.Context, tab executor.TabID, o executor.ResizeOptions) (*executor.Viewport, error) {
	if f.resize == nil {
		return nil, unexpected("Resize")
	}
	return f.resize(ctx, tab, o)
}

func (f *fake) Emulate(ctx context.Context, tab executor.TabID, o executor.EmulateOptions) (*executor.Emulation, error) {
	if f.emulate == nil {
		return nil, unexpected("Emulate")
	}
	return f.emulate(ctx, tab, o)
}

func (f *fake) CDP(context.Context, executor.TabID, string, any) (executor.RawJSON, error) {
	return nil, unexpected("CDP")
}

func (f *fake) Ready(context.Context) error { return unexpected("Ready") }
func (f *fake) Ping(context.Context) error  { return unexpected("Ping") }

func (f *fake) Status(ctx context.Context) executor.Status {
	if f.status == nil {
		return executor.Status{}
	}
	return f.status(ctx)
}

func (f *fake) Close() error {
	if f.close == nil {
		return nil
	}
	return f.close()
}

// connect starts a session of s and returns its client. Both are closed at the end of the test.
func connect(t testing.TB, s *Server, opts *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	return connectAs(t, s, opts, "")
}

// connectAs is like connect, with a given protocol version.
func connectAs(t testing.TB, s *Server, opts *sdk.ClientOptions, version string) *sdk.ClientSession {
	t.Helper()
	ours, theirs := sdk.NewInMemoryTransports()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.Run(ctx, ours); err != nil && ctx.Err() == nil {
			t.Errorf("Run: %v", err)
		}
	})
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, opts)
	cs, err := client.Connect(ctx, theirs, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		cancel()
		wg.Wait()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cs.Close()
		wg.Wait()
		cancel()
	})
	return cs
}

// callTool calls a tool with JSON arguments.
func callTool(t testing.TB, cs *sdk.ClientSession, name, args string) *sdk.CallToolResult {
	t.Helper()
	res, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: rawArgs(args)})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return res
}

// textOf returns the text blocks of a result.
func textOf(res *sdk.CallToolResult) string {
	var parts []string
	for _, c := range res.Content {
		if c, ok := c.(*sdk.TextContent); ok {
			parts = append(parts, c.Text)
		}
	}
	return strings.Join(parts, "\n")
}
