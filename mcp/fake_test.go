package mcp

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/leakcheck"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestMain(m *testing.M) { os.Exit(leakcheck.Run(m)) }

// A fake is an Executor made of function fields. A method whose field is nil returns an error that
// names the method, so that tests detect unexpected calls.
type fake struct {
	listTabs     func(context.Context) ([]executor.Tab, error)
	selectTab    func(context.Context, executor.TabID) (*executor.Tab, error)
	newPage      func(context.Context, *executor.NewPageOptions) (*executor.Tab, error)
	closeTab     func(context.Context, executor.TabID) (*executor.ClosedTab, error)
	navigate     func(context.Context, executor.TabID, string, *executor.NavigateOptions) (*executor.Navigation, error)
	back         func(context.Context, executor.TabID, *executor.NavigateOptions) (*executor.Navigation, error)
	forward      func(context.Context, executor.TabID, *executor.NavigateOptions) (*executor.Navigation, error)
	reload       func(context.Context, executor.TabID, *executor.NavigateOptions) (*executor.Navigation, error)
	waitFor      func(context.Context, executor.TabID, *executor.WaitCondition) (*executor.WaitResult, error)
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
	scroll       func(context.Context, executor.TabID, *executor.ScrollOptions) (*executor.ScrollResult, error)
	selectOption func(context.Context, executor.TabID, executor.Target, []string, *executor.ActionOptions) (*executor.Selection, error)
	fillForm     func(context.Context, executor.TabID, []executor.Field, *executor.FillOptions) (*executor.FillResult, error)
	handleDialog func(context.Context, executor.TabID, *executor.DialogAnswer) (*executor.DialogResult, error)
	handOver     func(context.Context, executor.TabID) (*executor.HandedOver, error)
	screenshot   func(context.Context, executor.TabID, *executor.ScreenshotOptions) (*executor.Screenshot, error)
	download     func(context.Context, executor.TabID, *executor.DownloadOptions) (*executor.DownloadedFiles, error)
	drag         func(context.Context, executor.TabID, executor.Target, executor.Target, *executor.ActionOptions) (*executor.Drag, error)
	mouse        func(context.Context, executor.TabID, *executor.MouseOptions) (*executor.Action, error)
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
	resize       func(context.Context, executor.TabID, *executor.ResizeOptions) (*executor.Viewport, error)
	emulate      func(context.Context, executor.TabID, *executor.EmulateOptions) (*executor.Emulation, error)
	status       func(context.Context) executor.Status
	close        func() error
}

var _ executor.Executor = (*fake)(nil)

func unexpected(op string) error {
	return executor.Errorf(executor.ErrCDP, "", "%s was not expected", op)
}

func (f *fake) Tabs(ctx context.Context) ([]executor.Tab, error) {
	if f.listTabs == nil {
		return nil, unexpected("Tabs")
	}
	return f.listTabs(ctx)
}

func (f *fake) SelectTab(ctx context.Context, tab executor.TabID) (*executor.Tab, error) {
	if f.selectTab == nil {
		return nil, unexpected("SelectTab")
	}
	return f.selectTab(ctx, tab)
}

func (f *fake) NewPage(ctx context.Context, o *executor.NewPageOptions) (executor.Page, *executor.Tab, error) {
	if f.newPage == nil {
		return nil, nil, unexpected("NewPage")
	}
	t, err := f.newPage(ctx, o)
	return nil, t, err
}

func (f *fake) Page(_ context.Context, tab executor.TabID) (executor.Page, error) {
	return fakePage{f, tab}, nil
}

// Navigate calls the function for a page of the active tab.
func (f *fake) Navigate(ctx context.Context, url string, o *executor.NavigateOptions) (*executor.Navigation, error) {
	return fakePage{f, ""}.Navigate(ctx, url, o)
}

// A fakePage is a page of a fake.
type fakePage struct {
	f   *fake
	tab executor.TabID
}

func (p fakePage) ID() executor.TabID { return p.tab }

func (p fakePage) Close(ctx context.Context) (*executor.ClosedTab, error) {
	if p.f.closeTab == nil {
		return nil, unexpected("CloseTab")
	}
	return p.f.closeTab(ctx, p.tab)
}

func (p fakePage) Navigate(ctx context.Context, url string, o *executor.NavigateOptions) (*executor.Navigation, error) {
	if p.f.navigate == nil {
		return nil, unexpected("Navigate")
	}
	return p.f.navigate(ctx, p.tab, url, o)
}

func (p fakePage) Back(ctx context.Context, o *executor.NavigateOptions) (*executor.Navigation, error) {
	if p.f.back == nil {
		return nil, unexpected("Back")
	}
	return p.f.back(ctx, p.tab, o)
}

func (p fakePage) Forward(ctx context.Context, o *executor.NavigateOptions) (*executor.Navigation, error) {
	if p.f.forward == nil {
		return nil, unexpected("Forward")
	}
	return p.f.forward(ctx, p.tab, o)
}

func (p fakePage) Reload(ctx context.Context, o *executor.NavigateOptions) (*executor.Navigation, error) {
	if p.f.reload == nil {
		return nil, unexpected("Reload")
	}
	return p.f.reload(ctx, p.tab, o)
}

func (p fakePage) WaitFor(ctx context.Context, c *executor.WaitCondition) (*executor.WaitResult, error) {
	if p.f.waitFor == nil {
		return nil, unexpected("WaitFor")
	}
	return p.f.waitFor(ctx, p.tab, c)
}

func (p fakePage) Snapshot(ctx context.Context, o *executor.SnapshotOptions) (*executor.Snapshot, error) {
	if p.f.snapshot == nil {
		return nil, unexpected("Snapshot")
	}
	return p.f.snapshot(ctx, p.tab, o)
}

func (p fakePage) Text(ctx context.Context, o *executor.TextOptions) (*executor.Text, error) {
	if p.f.text == nil {
		return nil, unexpected("Text")
	}
	return p.f.text(ctx, p.tab, o)
}

func (p fakePage) HTML(ctx context.Context, o *executor.HTMLOptions) (*executor.HTML, error) {
	if p.f.html == nil {
		return nil, unexpected("HTML")
	}
	return p.f.html(ctx, p.tab, o)
}

func (p fakePage) Markdown(ctx context.Context, o *executor.MarkdownOptions) (*executor.Markdown, error) {
	if p.f.markdown == nil {
		return nil, unexpected("Markdown")
	}
	return p.f.markdown(ctx, p.tab, o)
}

func (p fakePage) Links(ctx context.Context, o *executor.LinksOptions) (*executor.Links, error) {
	if p.f.links == nil {
		return nil, unexpected("Links")
	}
	return p.f.links(ctx, p.tab, o)
}

func (p fakePage) Eval(ctx context.Context, expr string, o *executor.EvalOptions) (*executor.EvalResult, error) {
	if p.f.eval == nil {
		return nil, unexpected("Eval")
	}
	return p.f.eval(ctx, p.tab, expr, o)
}

func (p fakePage) Click(ctx context.Context, t executor.Target, o *executor.ClickOptions) (*executor.Action, error) {
	if p.f.click == nil {
		return nil, unexpected("Click")
	}
	return p.f.click(ctx, p.tab, t, o)
}

func (p fakePage) Type(ctx context.Context, t executor.Target, text string, o *executor.TypeOptions) (*executor.Action, error) {
	if p.f.typeText == nil {
		return nil, unexpected("Type")
	}
	return p.f.typeText(ctx, p.tab, t, text, o)
}

func (p fakePage) Press(ctx context.Context, key string, o *executor.PressOptions) (*executor.Action, error) {
	if p.f.press == nil {
		return nil, unexpected("Press")
	}
	return p.f.press(ctx, p.tab, key, o)
}

func (p fakePage) Hover(ctx context.Context, t executor.Target, o *executor.ActionOptions) (*executor.Action, error) {
	if p.f.hover == nil {
		return nil, unexpected("Hover")
	}
	return p.f.hover(ctx, p.tab, t, o)
}

func (p fakePage) Scroll(ctx context.Context, o *executor.ScrollOptions) (*executor.ScrollResult, error) {
	if p.f.scroll == nil {
		return nil, unexpected("Scroll")
	}
	return p.f.scroll(ctx, p.tab, o)
}

func (p fakePage) SelectOption(ctx context.Context, t executor.Target, values []string, o *executor.ActionOptions) (*executor.Selection, error) {
	if p.f.selectOption == nil {
		return nil, unexpected("SelectOption")
	}
	return p.f.selectOption(ctx, p.tab, t, values, o)
}

func (p fakePage) FillForm(ctx context.Context, fields []executor.Field, o *executor.FillOptions) (*executor.FillResult, error) {
	if p.f.fillForm == nil {
		return nil, unexpected("FillForm")
	}
	return p.f.fillForm(ctx, p.tab, fields, o)
}

func (p fakePage) HandleDialog(ctx context.Context, a *executor.DialogAnswer) (*executor.DialogResult, error) {
	if p.f.handleDialog == nil {
		return nil, unexpected("HandleDialog")
	}
	return p.f.handleDialog(ctx, p.tab, a)
}

func (p fakePage) Screenshot(ctx context.Context, o *executor.ScreenshotOptions) (*executor.Screenshot, error) {
	if p.f.screenshot == nil {
		return nil, unexpected("Screenshot")
	}
	return p.f.screenshot(ctx, p.tab, o)
}

func (p fakePage) Drag(ctx context.Context, from, to executor.Target, o *executor.ActionOptions) (*executor.Drag, error) {
	if p.f.drag == nil {
		return nil, unexpected("Drag")
	}
	return p.f.drag(ctx, p.tab, from, to, o)
}

func (p fakePage) Mouse(ctx context.Context, o *executor.MouseOptions) (*executor.Action, error) {
	if p.f.mouse == nil {
		return nil, unexpected("Mouse")
	}
	return p.f.mouse(ctx, p.tab, o)
}

func (p fakePage) Cookies(ctx context.Context, o *executor.CookiesOptions) (*executor.Cookies, error) {
	if p.f.cookies == nil {
		return nil, unexpected("Cookies")
	}
	return p.f.cookies(ctx, p.tab, o)
}

func (p fakePage) SetCookie(ctx context.Context, c executor.Cookie) (*executor.StorageChange, error) {
	if p.f.setCookie == nil {
		return nil, unexpected("SetCookie")
	}
	return p.f.setCookie(ctx, p.tab, c)
}

func (p fakePage) DeleteCookies(ctx context.Context, names []string) (*executor.StorageChange, error) {
	if p.f.delCookies == nil {
		return nil, unexpected("DeleteCookies")
	}
	return p.f.delCookies(ctx, p.tab, names)
}

func (p fakePage) Items(ctx context.Context, area executor.StorageArea, o *executor.ItemsOptions) (*executor.Items, error) {
	if p.f.items == nil {
		return nil, unexpected("Items")
	}
	return p.f.items(ctx, p.tab, area, o)
}

func (p fakePage) SetItem(ctx context.Context, area executor.StorageArea, key, value string) (*executor.StorageChange, error) {
	if p.f.setItem == nil {
		return nil, unexpected("SetItem")
	}
	return p.f.setItem(ctx, p.tab, area, key, value)
}

func (p fakePage) RemoveItems(ctx context.Context, area executor.StorageArea, keys []string) (*executor.StorageChange, error) {
	if p.f.removeItems == nil {
		return nil, unexpected("RemoveItems")
	}
	return p.f.removeItems(ctx, p.tab, area, keys)
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

func (p fakePage) Upload(ctx context.Context, target executor.Target, paths []string, o *executor.ActionOptions) (*executor.Upload, error) {
	if p.f.upload == nil {
		return nil, unexpected("Upload")
	}
	return p.f.upload(ctx, p.tab, target, paths, o)
}

func (p fakePage) SavePDF(ctx context.Context, o *executor.PDFOptions) (*executor.PDF, error) {
	if p.f.savePDF == nil {
		return nil, unexpected("SavePDF")
	}
	return p.f.savePDF(ctx, p.tab, o)
}

func (p fakePage) Download(ctx context.Context, o *executor.DownloadOptions) (*executor.DownloadedFiles, error) {
	if p.f.download == nil {
		return nil, unexpected("Download")
	}
	return p.f.download(ctx, p.tab, o)
}

func (p fakePage) Console(ctx context.Context, o *executor.ConsoleOptions) (*executor.Console, error) {
	if p.f.console == nil {
		return nil, unexpected("Console")
	}
	return p.f.console(ctx, p.tab, o)
}

func (p fakePage) PageErrors(ctx context.Context, o *executor.PageErrorsOptions) (*executor.PageErrors, error) {
	if p.f.pageErrors == nil {
		return nil, unexpected("PageErrors")
	}
	return p.f.pageErrors(ctx, p.tab, o)
}

func (p fakePage) Requests(ctx context.Context, o *executor.RequestsOptions) (*executor.Requests, error) {
	if p.f.requests == nil {
		return nil, unexpected("Requests")
	}
	return p.f.requests(ctx, p.tab, o)
}

func (p fakePage) Resize(ctx context.Context, o *executor.ResizeOptions) (*executor.Viewport, error) {
	if p.f.resize == nil {
		return nil, unexpected("Resize")
	}
	return p.f.resize(ctx, p.tab, o)
}

func (p fakePage) Emulate(ctx context.Context, o *executor.EmulateOptions) (*executor.Emulation, error) {
	if p.f.emulate == nil {
		return nil, unexpected("Emulate")
	}
	return p.f.emulate(ctx, p.tab, o)
}

func (fakePage) CDP(context.Context, string, any) (executor.RawJSON, error) {
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

func (p fakePage) HandOver(ctx context.Context) (*executor.HandedOver, error) {
	if p.f.handOver == nil {
		return nil, unexpected("HandOver")
	}
	return p.f.handOver(ctx, p.tab)
}
