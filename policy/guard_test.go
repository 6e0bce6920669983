package policy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

// TestGuardErrorPage checks that no grant allows acting on an error page of the browser.
func TestGuardErrorPage(t *testing.T) {
	g := NewGuard(mustNew(t, Config{AllowDomains: []string{"example.com"}, Mutations: true, Eval: true, Downloads: true, UploadsDir: "/u", Storage: true, StateDir: "/s"}), nil)
	for _, op := range []executor.Operation{
		executor.OpList, executor.OpRead, executor.OpNavigate, executor.OpDismiss, executor.OpDownload,
		executor.OpAct, executor.OpEval, executor.OpCDP, executor.OpUpload, executor.OpStorage, executor.OpState,
	} {
		a := executor.Access{Op: op, URL: "https://example.com/", Origin: executor.OriginInternal, OpenedBySession: true}
		if err := g.Check(t.Context(), a); err != nil {
			t.Errorf("%s of a blank page: %v", op, err)
		}
		a.ErrorPage = true
		err := g.Check(t.Context(), a)
		switch op {
		case executor.OpList, executor.OpRead, executor.OpNavigate, executor.OpDismiss, executor.OpDownload:
			if err != nil {
				t.Errorf("%s: %v", op, err)
			}
		default:
			if e := denied(t, string(op), err); e.Rule != "error-page" {
				t.Errorf("%s: rule %q", op, e.Rule)
			}
		}
	}
}

func TestGuardCheck(t *testing.T) {
	const good, bad = "https://example.com", "https://evil.com"
	conf := Config{AllowDomains: []string{"example.com"}, BlockDomains: []string{"cdn.example/private"}}
	plain := NewGuard(mustNew(t, conf), nil)
	conf.Mutations, conf.Eval, conf.Downloads = true, true, true
	granted := NewGuard(mustNew(t, conf), nil)

	tests := []struct {
		name    string
		access  executor.Access
		plain   bool // allowed without grants
		granted bool // allowed with all
	}{
		{"list", executor.Access{Op: executor.OpList, Origin: good, URL: good + "/"}, true, true},
		{"list denied", executor.Access{Op: executor.OpList, Origin: bad, URL: bad + "/", OpenedBySession: true}, false, false},
		{"read", executor.Access{Op: executor.OpRead, Origin: good, URL: good + "/"}, true, true},
		{"read internal", executor.Access{Op: executor.OpRead, URL: "about:blank"}, true, true},
		{"read opaque", executor.Access{Op: executor.OpRead, Origin: "null", URL: "data:,x"}, false, false},
		{"read denied", executor.Access{Op: executor.OpRead, Origin: bad, URL: bad + "/", OpenedBySession: true}, false, false},
		{"act", executor.Access{Op: executor.OpAct, Origin: good, URL: good + "/"}, true, true},
		{"act denied", executor.Access{Op: executor.OpAct, Origin: bad, OpenedBySession: true}, false, false},
		{"eval", executor.Access{Op: executor.OpEval, Origin: good, URL: good + "/"}, false, true},
		{"eval denied", executor.Access{Op: executor.OpEval, Origin: bad}, false, false},
		{"cdp", executor.Access{Op: executor.OpCDP, Origin: good, URL: good + "/"}, false, true},
		{"cdp denied", executor.Access{Op: executor.OpCDP, Origin: bad}, false, false},
		{"dismiss", executor.Access{Op: executor.OpDismiss, Origin: good}, true, true},
		{"dismiss denied", executor.Access{Op: executor.OpDismiss, Origin: bad}, false, false},
		{"dismiss own tab", executor.Access{Op: executor.OpDismiss, Origin: bad, OpenedBySession: true}, true, true},
		{"navigate", executor.Access{Op: executor.OpNavigate, Origin: good}, true, true},
		{"navigate from denied", executor.Access{Op: executor.OpNavigate, Origin: bad, Destination: good + "/"}, false, false},
		{"navigate own tab", executor.Access{Op: executor.OpNavigate, Origin: bad, OpenedBySession: true, Destination: good + "/"}, true, true},
		{"read error page", executor.Access{Op: executor.OpRead, Origin: executor.OriginInternal, URL: bad + "/"}, false, false},
		{"navigate from error page", executor.Access{Op: executor.OpNavigate, Origin: executor.OriginInternal, URL: bad + "/", Destination: good + "/"}, true, true},
		{"retry denied from error page", executor.Access{Op: executor.OpNavigate, Origin: executor.OriginInternal, URL: bad + "/", Destination: bad + "/"}, false, false},
		{"close error page", executor.Access{Op: executor.OpDismiss, Origin: executor.OriginInternal, URL: bad + "/"}, true, true},
		{"load", executor.Access{Op: executor.OpLoad, Origin: good, URL: good + "/", Destination: good + "/a.js"}, true, true},
		{"load from an unlisted host", executor.Access{Op: executor.OpLoad, Origin: good, URL: good + "/", Destination: bad + "/a.js"}, true, false}, // with eval, the tier is same
		{"load from a private address", executor.Access{Op: executor.OpLoad, Origin: good, URL: good + "/", Destination: "http://10.0.0.1/a.js"}, false, false},
		{"load from no host", executor.Access{Op: executor.OpLoad, Origin: good, URL: good + "/", Destination: "https://"}, false, false},
		{"load of a blocked path", executor.Access{Op: executor.OpLoad, Origin: good, URL: good + "/", Destination: "https://cdn.example/private/a.js"}, false, false},
		{"navigate from blank", executor.Access{Op: executor.OpNavigate, URL: "about:blank", Destination: good + "/a|b"}, true, true},
		{"navigate to denied", executor.Access{Op: executor.OpNavigate, Origin: good, OpenedBySession: true, Destination: bad + "/secret"}, false, false},
		{"navigate to file", executor.Access{Op: executor.OpNavigate, Origin: good, OpenedBySession: true, Destination: "file:///secret"}, false, false},
		{"navigate to blank", executor.Access{Op: executor.OpNavigate, Origin: good, Destination: "about:blank"}, true, true},
		{"download", executor.Access{Op: executor.OpDownload, Origin: good, URL: good + "/", Destination: good + "/f"}, false, true},
		{"download data", executor.Access{Op: executor.OpDownload, Origin: good, URL: good + "/", Destination: "data:text/csv,1"}, false, true},
		{"download blob", executor.Access{Op: executor.OpDownload, Origin: good, URL: good + "/", Destination: "blob:" + good + "/1-2"}, false, true},
		{"download denied", executor.Access{Op: executor.OpDownload, Origin: good, URL: good + "/", Destination: bad + "/secret"}, false, false},
		{"unknown operation", executor.Access{Op: "teleport", Origin: good}, false, false},
		{"no operation", executor.Access{Origin: good}, false, false},
	}
	for _, tt := range tests {
		if tt.access.Origin == good && tt.access.URL == "" {
			tt.access.URL = good + "/"
		}
		for g, want := range map[*Guard]bool{plain: tt.plain, granted: tt.granted, NewGuard(nil, nil): false} {
			err := g.Check(t.Context(), tt.access)
			if want && err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			if !want {
				denied(t, tt.name, err)
			}
		}
	}
}

func TestDenialIsLogged(t *testing.T) {
	var buf bytes.Buffer
	g := NewGuard(mustNew(t, Config{AllowDomains: []string{"example.com"}}), &GuardOptions{Logger: slog.New(slog.NewTextHandler(&buf, nil))})
	err := g.Check(t.Context(), executor.Access{Op: executor.OpEval, Origin: "https://example.com", URL: "https://example.com/secret"})
	denied(t, "eval", err)
	if s := buf.String(); !strings.Contains(s, "--unsafe-enable-eval") || strings.Contains(s, "secret") {
		t.Errorf("log: %s", s)
	}
}

// spy is an Executor that records its calls and returns the values of its fields. It embeds
// nothing, so that it does not compile without a new method of the interface.
type spy struct {
	calls   []string
	url     string // the last URL that was forwarded
	at      string // final URL of navigations and tabs
	origin  string // origin of the results of reads
	changes executor.Changes
	tabs    []executor.Tab
	err     error // returned with every result
}

var _ executor.Executor = (*spy)(nil)

func (s *spy) call(name string) { s.calls = append(s.calls, name) }

func (s *spy) Tabs(context.Context) ([]executor.Tab, error) {
	s.call("Tabs")
	return s.tabs, s.err
}
func (s *spy) SelectTab(_ context.Context, id executor.TabID) (*executor.Tab, error) {
	s.call("SelectTab")
	return &executor.Tab{ID: id, URL: s.at, Title: "secret"}, s.err
}
func (s *spy) Page(context.Context, executor.TabID) (executor.Page, error) { return spyPage{s}, nil }
func (s *spy) NewPage(_ context.Context, o *executor.NewPageOptions) (executor.Page, *executor.Tab, error) {
	s.call("NewPage")
	s.url = o.URL
	return spyPage{s}, &executor.Tab{ID: "cdp:1:9", URL: s.at, Title: "secret"}, s.err
}
func (s *spy) Navigate(ctx context.Context, u string, o *executor.NavigateOptions) (*executor.Navigation, error) {
	return spyPage{s}.Navigate(ctx, u, o)
}

// spyPage is a page of a spy. Its methods are recorded by their names, Close as "Close page".
type spyPage struct{ *spy }

var _ executor.Page = spyPage{}

func (s spyPage) ID() executor.TabID { return "" }
func (s spyPage) Close(context.Context) (*executor.ClosedTab, error) {
	s.call("Close page")
	return &executor.ClosedTab{Closed: true}, nil
}
func (s *spy) navigation(name string) (*executor.Navigation, error) {
	s.call(name)
	return &executor.Navigation{URL: s.at, Title: "secret"}, s.err
}
func (s spyPage) Navigate(_ context.Context, u string, _ *executor.NavigateOptions) (*executor.Navigation, error) {
	s.url = u
	return s.navigation("Navigate")
}
func (s spyPage) Back(context.Context, *executor.NavigateOptions) (*executor.Navigation, error) {
	return s.navigation("Back")
}
func (s spyPage) Forward(context.Context, *executor.NavigateOptions) (*executor.Navigation, error) {
	return s.navigation("Forward")
}
func (s spyPage) Reload(context.Context, *executor.NavigateOptions) (*executor.Navigation, error) {
	return s.navigation("Reload")
}
func (s spyPage) WaitFor(context.Context, *executor.WaitCondition) (*executor.WaitResult, error) {
	s.call("WaitFor")
	return &executor.WaitResult{}, s.err
}
func (s spyPage) Snapshot(context.Context, *executor.SnapshotOptions) (*executor.Snapshot, error) {
	s.call("Snapshot")
	return &executor.Snapshot{Origin: s.origin}, s.err
}
func (s spyPage) Text(context.Context, *executor.TextOptions) (*executor.Text, error) {
	s.call("Text")
	return &executor.Text{Origin: s.origin}, s.err
}
func (s spyPage) HTML(context.Context, *executor.HTMLOptions) (*executor.HTML, error) {
	s.call("HTML")
	return &executor.HTML{Origin: s.origin}, s.err
}
func (s spyPage) Markdown(context.Context, *executor.MarkdownOptions) (*executor.Markdown, error) {
	s.call("Markdown")
	return &executor.Markdown{Origin: s.origin}, s.err
}
func (s spyPage) Links(context.Context, *executor.LinksOptions) (*executor.Links, error) {
	s.call("Links")
	return &executor.Links{Origin: s.origin}, s.err
}
func (s spyPage) Eval(context.Context, string, *executor.EvalOptions) (*executor.EvalResult, error) {
	s.call("Eval")
	return &executor.EvalResult{Origin: s.origin}, s.err
}
func (s *spy) action(name string) (*executor.Action, error) {
	s.call(name)
	return &executor.Action{OK: true, Changes: s.changes}, s.err
}
func (s spyPage) Click(context.Context, executor.Target, *executor.ClickOptions) (*executor.Action, error) {
	return s.action("Click")
}
func (s spyPage) Type(context.Context, executor.Target, string, *executor.TypeOptions) (*executor.Action, error) {
	return s.action("Type")
}
func (s spyPage) Press(context.Context, string, *executor.PressOptions) (*executor.Action, error) {
	return s.action("Press")
}
func (s spyPage) Hover(context.Context, executor.Target, *executor.ActionOptions) (*executor.Action, error) {
	return s.action("Hover")
}
func (s spyPage) Scroll(context.Context, *executor.ScrollOptions) (*executor.ScrollResult, error) {
	s.call("Scroll")
	return &executor.ScrollResult{}, s.err
}
func (s spyPage) SelectOption(context.Context, executor.Target, []string, *executor.ActionOptions) (*executor.Selection, error) {
	s.call("SelectOption")
	return &executor.Selection{Changes: s.changes}, s.err
}
func (s spyPage) FillForm(context.Context, []executor.Field, *executor.FillOptions) (*executor.FillResult, error) {
	s.call("FillForm")
	return &executor.FillResult{Changes: s.changes}, s.err
}
func (s spyPage) HandleDialog(context.Context, *executor.DialogAnswer) (*executor.DialogResult, error) {
	s.call("HandleDialog")
	return &executor.DialogResult{Message: s.changes.Title, Changes: s.changes}, s.err
}
func (s spyPage) Screenshot(context.Context, *executor.ScreenshotOptions) (*executor.Screenshot, error) {
	s.call("Screenshot")
	return &executor.Screenshot{}, s.err
}
func (s spyPage) Download(_ context.Context, o *executor.DownloadOptions) (*executor.DownloadedFiles, error) {
	s.call("Download")
	s.url = o.URL
	return &executor.DownloadedFiles{}, s.err
}
func (s spyPage) Upload(context.Context, executor.Target, []string, *executor.ActionOptions) (*executor.Upload, error) {
	s.call("Upload")
	return &executor.Upload{Changes: s.changes}, s.err
}
func (s spyPage) SavePDF(context.Context, *executor.PDFOptions) (*executor.PDF, error) {
	s.call("SavePDF")
	return &executor.PDF{}, s.err
}
func (s spyPage) Drag(context.Context, executor.Target, executor.Target, *executor.ActionOptions) (*executor.Drag, error) {
	s.call("Drag")
	return &executor.Drag{Changes: s.changes}, s.err
}
func (s spyPage) Mouse(context.Context, *executor.MouseOptions) (*executor.Action, error) {
	return s.action("Mouse")
}
func (s spyPage) Console(context.Context, *executor.ConsoleOptions) (*executor.Console, error) {
	s.call("Console")
	return &executor.Console{Origin: s.origin}, s.err
}
func (s spyPage) PageErrors(context.Context, *executor.PageErrorsOptions) (*executor.PageErrors, error) {
	s.call("PageErrors")
	return &executor.PageErrors{Origin: s.origin}, s.err
}
func (s spyPage) Requests(context.Context, *executor.RequestsOptions) (*executor.Requests, error) {
	s.call("Requests")
	return &executor.Requests{Origin: s.origin}, s.err
}
func (s spyPage) Cookies(context.Context, *executor.CookiesOptions) (*executor.Cookies, error) {
	s.call("Cookies")
	return &executor.Cookies{Origin: s.origin, Cookies: []executor.Cookie{{Name: "secret"}}}, s.err
}
func (s spyPage) SetCookie(context.Context, executor.Cookie) (*executor.StorageChange, error) {
	s.call("SetCookie")
	return &executor.StorageChange{Origin: s.origin}, s.err
}
func (s spyPage) DeleteCookies(context.Context, []string) (*executor.StorageChange, error) {
	s.call("DeleteCookies")
	return &executor.StorageChange{Origin: s.origin}, s.err
}
func (s spyPage) Items(context.Context, executor.StorageArea, *executor.ItemsOptions) (*executor.Items, error) {
	s.call("Items")
	return &executor.Items{Origin: s.origin, Items: []executor.Item{{Key: "secret"}}}, s.err
}
func (s spyPage) SetItem(context.Context, executor.StorageArea, string, string) (*executor.StorageChange, error) {
	s.call("SetItem")
	return &executor.StorageChange{Origin: s.origin}, s.err
}
func (s spyPage) RemoveItems(context.Context, executor.StorageArea, []string) (*executor.StorageChange, error) {
	s.call("RemoveItems")
	return &executor.StorageChange{Origin: s.origin}, s.err
}
func (s spyPage) Resize(context.Context, *executor.ResizeOptions) (*executor.Viewport, error) {
	s.call("Resize")
	return &executor.Viewport{}, s.err
}
func (s spyPage) Emulate(context.Context, *executor.EmulateOptions) (*executor.Emulation, error) {
	s.call("Emulate")
	return &executor.Emulation{}, s.err
}
func (s *spy) SaveState(context.Context, string) (*executor.StateResult, error) {
	s.call("SaveState")
	return &executor.StateResult{}, s.err
}
func (s *spy) LoadState(context.Context, string) (*executor.StateResult, error) {
	s.call("LoadState")
	return &executor.StateResult{}, s.err
}
func (s spyPage) CDP(context.Context, string, any) (executor.RawJSON, error) {
	s.call("CDP")
	return nil, nil
}
func (s *spy) Ready(context.Context) error            { s.call("Ready"); return nil }
func (s *spy) Ping(context.Context) error             { s.call("Ping"); return nil }
func (s *spy) Status(context.Context) executor.Status { s.call("Status"); return executor.Status{} }
func (s *spy) Close() error                           { s.call("Close"); return nil }

// methods returns the names of the methods of Executor and of Page, as spy records them, without
// those that only return a page or its id.
func methods(t *testing.T) []string {
	var names []string
	for _, iface := range []reflect.Type{reflect.TypeFor[executor.Executor](), reflect.TypeFor[executor.Page]()} {
		for i := range iface.NumMethod() {
			name := iface.Method(i).Name
			if iface.Name() == "Page" && name == "Close" {
				name = "Close page"
			}
			if name != "Page" && name != "ID" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if len(names) < 40 {
		t.Fatalf("only the methods %q", names)
	}
	return names
}

// invoke calls a method of x or of its page with zero values as arguments, except for strings,
// which are URLs.
func invoke(t *testing.T, x executor.Executor, name string) (err error) {
	if out := results(t, x, name); len(out) > 0 {
		err, _ = out[len(out)-1].(error)
	}
	return err
}

// results is like invoke, but returns all results. Pointers are returned as JSON.
func results(t *testing.T, x executor.Executor, name string) (out []any) {
	m := reflect.ValueOf(x).MethodByName(name)
	if !m.IsValid() {
		m = reflect.ValueOf(pagetest.Of(x, "")).MethodByName(strings.TrimSuffix(name, " page"))
	}
	var args []reflect.Value
	for i := range m.Type().NumIn() {
		switch in := m.Type().In(i); {
		case in == reflect.TypeFor[context.Context]():
			args = append(args, reflect.ValueOf(t.Context()))
		case in == reflect.TypeFor[string]():
			args = append(args, reflect.ValueOf("https://example.com/"))
		default:
			args = append(args, reflect.Zero(in))
		}
	}
	for _, v := range m.Call(args) {
		if v.Kind() == reflect.Pointer && !v.IsNil() {
			encoded, err := json.Marshal(v.Interface())
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, string(encoded))
			continue
		}
		out = append(out, v.Interface())
	}
	return out
}

// TestFinalURLCheckedForEveryMethod checks that no result of a denied page contains data of that
// page, also if the method returns an error.
func TestFinalURLCheckedForEveryMethod(t *testing.T) {
	const bad = "https://evil.com/secret"
	tab := executor.Tab{ID: "cdp:1:1", URL: bad, Title: "secret"}
	config := Config{AllowDomains: []string{"example.com"}, Mutations: true, Eval: true, Downloads: true, UploadsDir: "/u", Storage: true, StateDir: "/s"}
	for _, failure := range []error{nil, executor.ErrTimeout} {
		for _, name := range methods(t) {
			s := &spy{at: bad, origin: "https://evil.com", err: failure, tabs: []executor.Tab{tab}, changes: executor.Changes{
				URL: bad, Title: "secret", Origin: "https://evil.com", Diff: "secret", NewTabs: []executor.Tab{tab},
				Dialog: &executor.Dialog{Type: "alert", Message: "secret", DefaultPrompt: "secret"}}}
			for _, result := range results(t, NewGuard(mustNew(t, config), nil).Wrap(s), name) {
				if list, ok := result.([]executor.Tab); ok {
					result = fmt.Sprint(list)
				}
				text, ok := result.(string)
				if ok && (strings.Contains(text, "secret") || strings.Contains(text, "evil")) {
					t.Errorf("%s, error %v: %s", name, failure, text)
				}
			}
		}
	}
}

func (s spyPage) HandOver(context.Context) (*executor.HandedOver, error) {
	s.call("HandOver")
	return &executor.HandedOver{URL: s.at, Title: "secret", Origin: s.origin, Show: func(context.Context) {}, End: func() {}}, s.err
}

// TestEveryMethodIsGuarded calls each method of the interface, so that a new method must be denied
// by default or the test fails.
func TestEveryMethodIsGuarded(t *testing.T) {
	passes := map[string]bool{"Status": true, "Ready": true, "Ping": true, "Close": true, "Tabs": true}
	needs := map[string]string{"Click": "m", "Type": "m", "Press": "m", "Hover": "m", "Drag": "m", "Mouse": "m", "SelectOption": "m", "FillForm": "m", "Eval": "e", "CDP": "e", "Download": "d", "SavePDF": "d", "Upload": "mu", "SetCookie": "s", "DeleteCookies": "s", "SetItem": "s", "RemoveItems": "s", "SaveState": "f", "LoadState": "f"}
	for _, name := range methods(t) {
		for _, p := range []*Policy{nil, {}, mustNew(t, Config{Mutations: true, Eval: true, Downloads: true, UploadsDir: "/u", Storage: true, StateDir: "/s"})} {
			s := &spy{tabs: []executor.Tab{{URL: "https://example.com/secret", Title: "secret"}}}
			err := invoke(t, NewGuard(p, nil).Wrap(s), name)
			if passes[name] {
				if err != nil || len(s.calls) != 1 || s.calls[0] != name {
					t.Errorf("%s: %v, calls %q", name, err, s.calls)
				}
				continue
			}
			denied(t, name, err)
			if len(s.calls) != 0 {
				t.Errorf("%s: a policy that denies everything forwarded %q", name, s.calls)
			}
		}
		for grants, c := range map[string]Config{"": {}, "m": {Mutations: true}, "e": {Eval: true}, "d": {Downloads: true}, "u": {UploadsDir: "/u"}, "s": {Storage: true}, "f": {StateDir: "/s"}, "mu": {Mutations: true, UploadsDir: "/u"}} {
			c.AllowDomains = []string{"example.com"}
			s := &spy{at: "https://example.com/", origin: "https://example.com"}
			err := invoke(t, NewGuard(mustNew(t, c), nil).Wrap(s), name)
			if need := needs[name]; need != "" && !strings.Contains(grants, need) {
				denied(t, name+" with "+grants, err)
				if len(s.calls) != 0 {
					t.Errorf("%s with %q: %q was called", name, grants, s.calls)
				}
			} else if err != nil || len(s.calls) != 1 || s.calls[0] != name {
				t.Errorf("%s with %q: %v, calls %q", name, grants, err, s.calls)
			}
		}
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[guarded](), reflect.TypeFor[guardedPage]()} {
		for i := range typ.NumField() {
			if typ.Field(i).Anonymous {
				t.Errorf("%s embeds a type: a new method of its interface would be unguarded", typ)
			}
		}
	}
}

func TestWrapGrantsByArgument(t *testing.T) {
	s := &spy{}
	x := NewGuard(mustNew(t, Config{AllowDomains: []string{"example.com"}}), nil).Wrap(s)
	_, err := pagetest.Of(x, "").HandleDialog(t.Context(), &executor.DialogAnswer{Accept: true})
	if e := denied(t, "accept", err); !strings.Contains(e.Hint, "Config.Mutations") {
		t.Error(e.Hint)
	}
	for _, load := range []func(context.Context, *executor.NavigateOptions) (*executor.Navigation, error){
		pagetest.Of(x, "").Reload, pagetest.Of(x, "").Back, pagetest.Of(x, "").Forward,
	} {
		_, err = load(t.Context(), &executor.NavigateOptions{Resubmit: true})
		if e := denied(t, "resubmit", err); !strings.Contains(e.Hint, "Config.Mutations") {
			t.Error(e.Hint)
		}
	}
	_, err = pagetest.Of(x, "").WaitFor(t.Context(), &executor.WaitCondition{Expression: "1"})
	if e := denied(t, "expression", err); !strings.Contains(e.Hint, "chrome-mcp doctor") {
		t.Error(e.Hint)
	}
	_, err = pagetest.Of(x, "").Cookies(t.Context(), &executor.CookiesOptions{Values: true})
	denied(t, "cookie values", err)
	_, err = pagetest.Of(x, "").Items(t.Context(), executor.StorageLocal, &executor.ItemsOptions{Values: true})
	denied(t, "storage values", err)
	_, err = pagetest.Of(x, "").Emulate(t.Context(), &executor.EmulateOptions{Headers: map[string]map[string]string{"https://example.com": {"X-HTTP-Method-Override": "DELETE"}}})
	if e := denied(t, "headers", err); !strings.Contains(e.Hint, "Config.Mutations") {
		t.Error(e.Hint)
	}
	if len(s.calls) != 0 {
		t.Errorf("called %q", s.calls)
	}
}

func TestWrapURLs(t *testing.T) {
	s := &spy{at: "http://localhost:8080/", origin: ""}
	x := NewGuard(mustNew(t, Config{AllowDomains: []string{"localhost"}, Downloads: true}), nil).Wrap(s)
	calls := map[string]func(u string) error{
		"Navigate": func(u string) error { _, err := x.Navigate(t.Context(), u, nil); return err },
		"NewPage": func(u string) error {
			_, _, err := x.NewPage(t.Context(), &executor.NewPageOptions{URL: u})
			return err
		},
		"Download": func(u string) error {
			_, err := pagetest.Of(x, "").Download(t.Context(), &executor.DownloadOptions{URL: u})
			return err
		},
	}
	for name, call := range calls {
		s.calls, s.url = nil, ""
		if err := call("http://localhost:8080"); err != nil || s.url != "http://localhost:8080/" {
			t.Errorf("%s: %v, forwarded %q", name, err, s.url)
		}
		s.calls = nil
		denied(t, name, call("https://evil.com/secret"))
		if err := call("http://0x7f000001/"); !errors.Is(err, executor.ErrBadArgs) {
			t.Errorf("%s: %v", name, err)
		}
		if len(s.calls) != 0 {
			t.Errorf("%s: a denied URL was forwarded", name)
		}
	}
	if _, _, err := x.NewPage(t.Context(), nil); err != nil {
		t.Errorf("blank tab: %v", err)
	}
}

func TestWrapResults(t *testing.T) {
	const bad = "https://evil.com/secret"
	s := &spy{at: bad, origin: "https://evil.com", tabs: []executor.Tab{
		{ID: "cdp:1:1", URL: bad, Title: "secret", Index: 0}, {ID: "cdp:1:2", URL: "https://example.com/", Title: "ok", Index: 1}, {ID: "cdp:1:3", URL: "about:blank", Index: 2},
		{ID: "cdp:1:4", URL: "chrome://settings/", Title: "secret", Index: 3},
	}}
	x := NewGuard(mustNew(t, Config{AllowDomains: []string{"example.com"}, Mutations: true, Eval: true}), nil).Wrap(s)
	for _, name := range []string{"Navigate", "Back", "Forward", "Reload", "SelectTab", "Snapshot", "Text", "HTML", "Markdown", "Links", "Eval", "Console", "PageErrors", "Requests"} {
		if e := denied(t, name, invoke(t, x, name)); !strings.Contains(e.Message(), "evil.com") || e.Op == "" {
			t.Errorf("%s: %v", name, e)
		}
	}
	s.calls = nil
	denied(t, "NewPage", invoke(t, x, "NewPage"))
	if strings.Join(s.calls, " ") != "NewPage Close page" {
		t.Errorf("calls for a tab on a denied page: %q", s.calls)
	}
	tabs, err := x.Tabs(t.Context())
	if err != nil || len(tabs) != 4 || tabs[0].URL != executor.DeniedURL || tabs[0].Title != "" || tabs[0].ID != "cdp:1:1" ||
		tabs[1].URL != "https://example.com/" || tabs[1].Title != "ok" || tabs[2].URL != "about:blank" || tabs[3].URL != executor.DeniedURL {
		t.Errorf("got %+v %v", tabs, err)
	}
	if s.tabs[0].URL != bad {
		t.Error("the slice of the backend was changed")
	}

	s.changes = executor.Changes{URL: bad, Title: "secret", Origin: "https://evil.com", Dialog: &executor.Dialog{Type: "alert", Message: "secret"},
		Downloads: []executor.Download{{Path: "/d/secret", SuggestedName: "secret", Reason: "evil", State: "running"}},
		NewTabs:   s.tabs, Errors: []string{"secret"}, Diff: "secret", Snapshot: "secret", Note: "3 elements match",
		Unchanged: true, Focused: &executor.Candidate{Name: "secret"}}
	a, _ := pagetest.Of(x, "").Click(t.Context(), executor.Target{}, nil)
	sel, _ := pagetest.Of(x, "").SelectOption(t.Context(), executor.Target{}, nil, nil)
	fill, _ := pagetest.Of(x, "").FillForm(t.Context(), nil, nil)
	dlg, _ := pagetest.Of(x, "").HandleDialog(t.Context(), &executor.DialogAnswer{Accept: true})
	for _, c := range []executor.Changes{a.Changes, sel.Changes, fill.Changes, dlg.Changes} {
		if c.URL != executor.DeniedURL || c.Title+c.Origin+c.Diff+c.Snapshot+c.Dialog.Message != "" || c.Dialog.Type != "alert" ||
			c.Errors != nil || c.Unchanged || c.Focused != nil || c.Note == "" || c.NewTabs[0].Title != "" || c.NewTabs[1].Title != "ok" {
			t.Errorf("got %+v", c)
		}
	}
	for _, name := range []string{"Click", "Type", "Press", "Hover", "SelectOption", "FillForm", "HandleDialog"} {
		if out := fmt.Sprintf("%+v", results(t, x, name)); strings.Contains(out, "secret") || strings.Contains(out, "evil") {
			t.Errorf("%s returns data of a denied page: %s", name, out)
		}
	}
	s.changes = executor.Changes{URL: "https://example.com/next", Title: "Next", Origin: "https://example.com", Diff: "+ x"}
	if a, _ := pagetest.Of(x, "").Click(t.Context(), executor.Target{}, nil); !reflect.DeepEqual(a.Changes, s.changes) {
		t.Errorf("allowed changes became %+v", a.Changes)
	}
	if st := x.Status(t.Context()); st.Policy == nil || !st.Policy.Mutations || st.Policy.Subresources != "same" || st.Policy.AllowDomains[0] != "example.com" {
		t.Errorf("status %+v", st.Policy)
	}
}

func BenchmarkCheck(b *testing.B) {
	g := NewGuard(mustNew(b, Config{AllowDomains: []string{"a.com", "b.com", "*.c.com", "example.com"}, BlockDomains: []string{"d.com", "e.com"}}), nil)
	a := executor.Access{Op: executor.OpRead, Origin: "https://example.com", URL: "https://example.com/some/path?query"}
	b.ReportAllocs()
	for b.Loop() {
		if err := g.Check(context.Background(), a); err != nil {
			b.Fatal(err)
		}
	}
}

// TestUploadGrant checks that the upload directory of a policy file or a flag, which has
// precedence, is the uploads grant, and that the gate requires it for each document.
func TestUploadGrant(t *testing.T) {
	file, err := parseConfig("p", []byte(`{"allow_domains": ["example.com"], "uploads_dir": "/a"}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := file.Merge(Config{}).UploadsDir + file.Merge(Config{UploadsDir: "/b"}).UploadsDir; got != "/a/b" {
		t.Errorf("merged to %s", got)
	}
	access := executor.Access{Op: executor.OpUpload, Origin: "https://example.com", URL: "https://example.com/"}
	g := NewGuard(mustNew(t, file), nil)
	if err := g.Check(t.Context(), access); err != nil {
		t.Error(err)
	}
	access.Origin, access.URL = "https://evil.com", "https://evil.com/"
	denied(t, "another site", g.Check(t.Context(), access))
	file.UploadsDir = ""
	access.Origin, access.URL = "https://example.com", "https://example.com/"
	denied(t, "no directory", NewGuard(mustNew(t, file), nil).Check(t.Context(), access))
	if !NewGuard(mustNew(t, Config{UploadsDir: "/a"}), nil).policy.Status().Uploads {
		t.Error("the status does not report uploads")
	}
}
