package mcp

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// TestBackendSwitchReported checks that the result of the first call after a backend switch has a
// note about it, also if the call fails.
func TestBackendSwitchReported(t *testing.T) {
	manager := func(connected bool) *executor.Manager {
		m := executor.NewManager(&executor.ManagerOptions{Extension: &fakeBackend{connected: &connected}, CDP: &fakeBackend{}})
		t.Cleanup(func() { m.Close() })
		if _, err := m.Tabs(t.Context()); err != nil {
			t.Fatal(err)
		}
		connected = !connected
		return m
	}
	for _, structured := range []bool{false, true} {
		c := connect(t, NewServer(manager(true), &Options{Structured: structured}), nil)
		res := callTool(t, c, "tabs_list", "")
		const want = "note: calls now use the managed or attached browser (cdp)"
		if text := textOf(res); res.IsError || !strings.Contains(text, "\n"+want) || !strings.Contains(text, "disconnected") {
			t.Errorf("the result is %q", text)
		}
		if note, _ := res.Meta[NoteKey].(string); !strings.HasPrefix("note: "+note, want) {
			t.Errorf("_meta is %v", res.Meta)
		}
		if text := textOf(callTool(t, c, "tabs_list", "")); strings.Contains(text, "note:") {
			t.Errorf("reported twice: %q", text)
		}
	}
	c := connect(t, NewServer(manager(false), nil), nil)
	res := callTool(t, c, "tab_new", "") // the fake returns an error
	if text := textOf(res); !res.IsError || !strings.Contains(text, "\nnote: calls now use the user's own Chrome (extension)") || res.Meta[ErrorKey] == nil {
		t.Errorf("the error is %q, _meta %v", text, res.Meta)
	}
}

// TestReportedHints checks that the hints in notes about what happened since the last call name tools
// and flags.
func TestReportedHints(t *testing.T) {
	c := connect(t, NewServer(&fake{listTabs: func(ctx context.Context) ([]executor.Tab, error) {
		report := executor.CallOptionsOf(ctx)
		report.OnSwitch(executor.BackendSwitch{
			From: executor.BackendExtension, To: executor.BackendCDP,
			Reason: executor.Errorf(executor.ErrNoBackend, "Run bridge.NewPairing.", "no browser is paired"),
		})
		report.OnDownload(executor.Download{SuggestedName: "a.pdf", State: "canceled", Reason: "too large. The user can allow more with Options.MaxDownloadBytes. Use Page.Upload."})
		report.OnMoreDownloads(5)
		return nil, nil
	}}, nil), nil)
	got := textOf(callTool(t, c, "tabs_list", ""))
	const want = `: no browser is paired (Run chrome-mcp --print-pairing.); download canceled "a.pdf": too large. The user can allow more with --max-download.; 5 more downloads have started or ended`
	if !strings.HasSuffix(got, want) {
		t.Errorf("%q does not end with %q", got, want)
	}
}

// TestSharedTabReported checks that the result of a call has a note about the tabs that the user
// has shared since the last call, also if the call fails.
func TestSharedTabReported(t *testing.T) {
	shares := func(ctx context.Context) {
		executor.SharedTab{Tab: executor.Tab{ID: "ext:a:1", Title: "Mail\" is yours"}}.Report(ctx)
		executor.SharedTab{Tab: executor.Tab{ID: "ext:a:2", Active: true}}.Report(ctx)
	}
	const want = `note: the user has shared tab ext:a:1 "Mail\" is yours", which is not the active tab; pass its tabId or select it with tab_select to use it; ` +
		`the user has shared tab ext:a:2; it is now the active tab`
	c := connect(t, NewServer(&fake{
		listTabs: func(ctx context.Context) ([]executor.Tab, error) { shares(ctx); return nil, nil },
		selectTab: func(ctx context.Context, _ executor.TabID) (*executor.Tab, error) {
			shares(ctx)
			return nil, executor.ErrTabNotFound
		},
	}, nil), nil)
	for name, args := range map[string]string{"tabs_list": "", "tab_select": `{"tabId":"ext:a:3"}`} {
		if res := callTool(t, c, name, args); res.IsError != (name == "tab_select") || !strings.HasSuffix(textOf(res), "\n"+want) {
			t.Errorf("%s: %q", name, textOf(res))
		}
	}
}

// TestIdleCloseReported checks that the call after its browser was closed fails, with a note about the
// tabs, in which URLs are quoted.
func TestIdleCloseReported(t *testing.T) {
	closed := executor.IdleClose{After: time.Hour}
	c := connect(t, NewServer(&fake{
		listTabs: func(ctx context.Context) ([]executor.Tab, error) {
			return nil, closed.Report(ctx, "Call Executor.NewPage.")
		},
	}, nil), nil)
	const failed = "TARGET_GONE: The browser was closed after 1h0m0s without calls, with its tabs. Call tab_new."
	if res := callTool(t, c, "tabs_list", ""); !res.IsError || textOf(res) != failed {
		t.Errorf("no tabs: %q", textOf(res))
	}
	closed.URLs = []string{"https://a.test/", `https://b.test/"; ignore`}
	const note = "\nnote: the closed tabs showed \"https://a.test/\", \"https://b.test/\\\"; ignore\""
	if res := callTool(t, c, "tabs_list", ""); !res.IsError || textOf(res) != failed+note {
		t.Errorf("two tabs: %q", textOf(res))
	}
	closed.Downloads, closed.MoreDownloads = []executor.Download{{Path: "/d/late.csv", State: "completed"}}, 1
	if got, want := textOf(callTool(t, c, "tabs_list", "")), failed+note+`; download completed "/d/late.csv"; 1 more download has started or ended`; got != want {
		t.Errorf("with downloads: %q, want %q", got, want)
	}
}

// TestSentElementReported checks that the result of a call has a note about the elements that the
// user has sent, in which page text is quoted.
func TestSentElementReported(t *testing.T) {
	const want = `note: the user sent you button "Pay\" now" [ref=e4] of tab ext:a:1, with the selected text "two\nlines"; ` +
		`the user sent you an element of tab ext:a:2, but which one is unknown: no call used its page before the user pointed at it, or it was removed; ask the user to send it again`
	c := connect(t, NewServer(&fake{listTabs: func(ctx context.Context) ([]executor.Tab, error) {
		if !(executor.SentElement{Tab: "ext:a:1", Ref: "e4", Role: "button", Name: `Pay" now`, Selection: "two\nlines"}.Report(ctx)) {
			t.Error("no observer")
		}
		executor.SentElement{Tab: "ext:a:2"}.Report(ctx)
		return nil, nil
	}}, nil), nil)
	if text := textOf(callTool(t, c, "tabs_list", "")); !strings.HasSuffix(text, "\n"+want) {
		t.Errorf("%q", text)
	}
	if (executor.SentElement{}).Report(t.Context()) {
		t.Error("an element is reported without an observer")
	}
}

// TestNotesOfNestedCalls checks that the notes of the calls of a script and of a batch are reported,
// also if a call fails or its result is omitted.
func TestNotesOfNestedCalls(t *testing.T) {
	sharing := func(ctx context.Context) {
		executor.SharedTab{Tab: executor.Tab{ID: "ext:a:2", Active: true}}.Report(ctx)
	}
	c := connect(t, NewServer(&fake{
		listTabs: func(ctx context.Context) ([]executor.Tab, error) {
			sharing(ctx)
			return nil, executor.ErrExtensionDisconnected
		},
		text: func(ctx context.Context, _ executor.TabID, _ *executor.TextOptions) (*executor.Text, error) {
			sharing(ctx)
			return &executor.Text{Content: strings.Repeat("x", 1800)}, nil
		},
	}, &Options{Tools: Toolsets(), MaxResultBytes: 4000, Structured: true}), nil)
	const note = "the user has shared tab ext:a:2; it is now the active tab"
	for _, tt := range []struct{ name, tool, args, text, structured string }{
		{"failed call of a script", "run_script", `{"script":"try { tabs_list() } catch (e) {}"}`, "ok after 1 call\n" + note, `"notes":["` + note + `"]`},
		{"failed call of a batch", "batch", `{"calls":[{"tool":"tabs_list"}]}`, "\nnote: " + note, `"note":"` + note + `"`},
		{"omitted result", "batch", `{"calls":[{"tool":"get_text"}]}`, "exceed the size limit\nnote: " + note, `"note":"` + note + `"`},
	} {
		res := callTool(t, c, tt.tool, tt.args)
		if text := textOf(res); res.IsError || !strings.HasSuffix(text, tt.text) {
			t.Errorf("%s: %q", tt.name, text)
		}
		raw, err := json.Marshal(res.StructuredContent)
		if err != nil || !strings.Contains(string(raw), tt.structured) {
			t.Errorf("%s: %s, %v", tt.name, raw, err)
		}
	}
}

// TestNoActiveTab checks that the error of a call without a tab id lists the tabs as tabs_list does.
func TestNoActiveTab(t *testing.T) {
	tabs := []executor.Tab{{ID: "ext:a:1", URL: "https://a.test/one", Title: "One\" ext:a:9 \nTwo"}, {ID: "ext:a:2", URL: executor.DeniedURL}}
	c := connect(t, NewServer(&fake{
		listTabs: func(context.Context) ([]executor.Tab, error) { return tabs, nil },
		selectTab: func(context.Context, executor.TabID) (*executor.Tab, error) {
			return nil, executor.Wrap("select", "", &executor.Error{Code: executor.ErrTabNotFound, Hint: "Name one.",
				Err: &executor.NoActiveTabError{Reason: "no tab is active", Tabs: tabs, List: "open tabs: …"}})
		},
	}, nil), nil)
	list := textOf(callTool(t, c, "tabs_list", ""))
	res := callTool(t, c, "tab_select", `{"tabId":"ext:a:3"}`)
	if text, want := textOf(res), "TAB_NOT_FOUND: No tab is active. Name one.\nOpen tabs:\n"+list; !res.IsError || strings.TrimSpace(text) != strings.TrimSpace(want) {
		t.Errorf("the error is %q, want %q", text, want)
	}
	if meta, _ := res.Meta[ErrorKey].(map[string]any); meta == nil || len(meta["tabs"].([]any)) != 2 {
		t.Errorf("_meta is %v", res.Meta)
	}
}

// TestSelectTabByURL checks that tab_select selects the only tab whose URL matches, and otherwise
// lists the tabs to choose from. A tab that the policy denies matches no pattern.
func TestSelectTabByURL(t *testing.T) {
	tabs := []executor.Tab{
		{ID: "cdp:a:1", URL: "https://a.test/cart?step=1", Title: "Cart"},
		{ID: "cdp:a:2", URL: executor.DeniedURL},
		{ID: "cdp:a:3", URL: "https://a.test/help", Title: "Help"},
	}
	var selected executor.TabID
	c := connect(t, NewServer(&fake{
		listTabs: func(context.Context) ([]executor.Tab, error) { return tabs, nil },
		selectTab: func(_ context.Context, id executor.TabID) (*executor.Tab, error) {
			selected = id
			return &tabs[0], nil
		},
	}, nil), nil)
	for _, tt := range []struct {
		url      string
		selected executor.TabID
		want     []string // parts of the error
		without  string
	}{
		{url: "*/cart?*", selected: "cdp:a:1"},
		{url: "https://a.test/help", selected: "cdp:a:3"},
		{url: "*", want: []string{`TAB_NOT_FOUND: 2 tabs have a URL that matches "*"`, "Matching tabs:\ncdp:a:1", "cdp:a:3"}, without: "cdp:a:2"},
		{url: "(denied*", want: []string{"TAB_NOT_FOUND: No tab has a URL", "Open tabs:\ncdp:a:1", "cdp:a:2", "cdp:a:3"}},
		{url: "https://a.test", want: []string{"TAB_NOT_FOUND"}},
	} {
		selected = ""
		res := callTool(t, c, "tab_select", `{"url":`+strconv.Quote(tt.url)+`}`)
		text := textOf(res)
		if selected != tt.selected || res.IsError != (tt.selected == "") {
			t.Errorf("%s: selected %q, want %q: %s", tt.url, selected, tt.selected, text)
		}
		for _, part := range tt.want {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %q does not contain %q", tt.url, text, part)
			}
		}
		if tt.without != "" && strings.Contains(text, tt.without) {
			t.Errorf("%s: %q contains %s", tt.url, text, tt.without)
		}
	}
	for _, args := range []string{`{}`, `{"tabId":"cdp:a:1","url":"*"}`} {
		if text := textOf(callTool(t, c, "tab_select", args)); !strings.HasPrefix(text, "BAD_ARGS: Exactly one of tabId and url") {
			t.Errorf("%s: %s", args, text)
		}
	}
}

// TestOnClientCalledOnce checks that OnClient is called once per session.
func TestOnClientCalledOnce(t *testing.T) {
	names := make(chan string, 10)
	server := NewServer(&fake{}, &Options{OnClient: func(name string) { names <- name }})
	for range 2 {
		c := connect(t, server, nil)
		for range 2 {
			if _, err := c.ListTools(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
		}
		if name := <-names; name != "test" || len(names) != 0 {
			t.Errorf("client %q, %d more calls of OnClient", name, len(names))
		}
	}
}

// A fakeBackend is a backend that can disconnect if connected is not nil.
type fakeBackend struct{ connected *bool }

func (b *fakeBackend) Kind() executor.BackendKind {
	if b.connected != nil {
		return executor.BackendExtension
	}
	return executor.BackendCDP
}

func (b *fakeBackend) NewSession(*executor.SessionOptions) (executor.Executor, error) {
	return pingable{&fake{listTabs: func(context.Context) ([]executor.Tab, error) { return nil, nil }}}, nil
}

// A pingable is a fake that responds to pings.
type pingable struct{ *fake }

func (pingable) Ping(context.Context) error { return nil }

func (b *fakeBackend) Connected() bool { return *b.connected }
func (b *fakeBackend) DisconnectedError() error {
	return executor.Errorf(executor.ErrNoBackend, "", "the extension disconnected")
}
func (b *fakeBackend) LastDisconnect() time.Time              { return time.Time{} }
func (b *fakeBackend) Changed() <-chan struct{}               { return nil }
func (b *fakeBackend) Status(context.Context) executor.Status { return executor.Status{} }
func (b *fakeBackend) Close() error                           { return nil }
