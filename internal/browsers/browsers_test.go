package browsers

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// A fakeBrowser is the Executor for one browser, without a real one.
type fakeBrowser struct {
	executor.Executor // nil; methods that the test does not expect panic
	name              string
	err               error // of all calls
	hangs             bool  // Tabs waits until its context is done

	mu     sync.Mutex // guards the fields below
	tabs   []executor.TabID
	active executor.TabID
	calls  []string
	closed int
}

func (f *fakeBrowser) record(call string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, call)
	return f.err
}

func (f *fakeBrowser) NewPage(_ context.Context, opts *executor.NewPageOptions) (executor.Page, *executor.Tab, error) {
	if opts.Browser != "" {
		return nil, nil, errors.New("the browser received the name of a browser")
	}
	if err := f.record("new " + opts.URL); err != nil {
		return nil, nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	id := executor.NewTabID("cdp", "run", string(rune('a'+len(f.tabs)))).In(f.name)
	f.tabs = append(f.tabs, id)
	if !opts.Inactive {
		f.active = id
	}
	return nil, &executor.Tab{ID: id, Browser: f.name, Active: f.active == id}, nil
}

func (f *fakeBrowser) Tabs(ctx context.Context) (list []executor.Tab, err error) {
	if f.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if f.err != nil {
		return nil, f.err
	}
	return f.WatchTabs(context.Background()), nil
}

func (f *fakeBrowser) WatchTabs(context.Context) (list []executor.Tab) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, id := range f.tabs {
		list = append(list, executor.Tab{ID: id, Index: i, Active: id == f.active, Browser: f.name})
	}
	return list
}

func (f *fakeBrowser) Watch(_ context.Context, tab executor.TabID) (executor.LiveView, error) {
	return nil, f.record("watch " + string(tab))
}

func (f *fakeBrowser) SelectTab(_ context.Context, tab executor.TabID) (*executor.Tab, error) {
	if err := f.record("select " + string(tab)); err != nil {
		return nil, err
	}
	return &executor.Tab{ID: tab}, nil
}

func (f *fakeBrowser) Page(_ context.Context, tab executor.TabID) (executor.Page, error) {
	return nil, f.record("page " + string(tab))
}

func (f *fakeBrowser) Navigate(_ context.Context, url string, _ *executor.NavigateOptions) (*executor.Navigation, error) {
	return nil, f.record("navigate " + url)
}

func (f *fakeBrowser) SaveState(_ context.Context, name string) (*executor.StateResult, error) {
	return nil, f.record("save " + name)
}

func (f *fakeBrowser) LoadState(_ context.Context, name string) (*executor.StateResult, error) {
	return nil, f.record("load " + name)
}

func (f *fakeBrowser) Ready(context.Context) error { return f.record("ready") }
func (f *fakeBrowser) Ping(context.Context) error  { return f.record("ping") }

func (f *fakeBrowser) Status(context.Context) executor.Status {
	return executor.Status{Ready: true, CDPAttached: true, ActiveTabID: f.active, Detail: "of " + f.name}
}

func (f *fakeBrowser) Close() error {
	f.closed++
	return f.err
}

// take returns the calls since the last take.
func (f *fakeBrowser) take() string {
	calls := strings.Join(f.calls, ", ")
	f.calls = nil
	return calls
}

// newSet returns a Set with a default browser and the named browsers work and test. opened counts
// how often each was opened.
func newSet(t *testing.T) (s *Set, main, work, test *fakeBrowser, opened map[string]int) {
	main, work, test = &fakeBrowser{}, &fakeBrowser{name: "work"}, &fakeBrowser{name: "test"}
	opened = map[string]int{}
	named := []Browser{{Name: "work", Type: "managed", Color: "#1a73e8"}, {Name: "test", Type: "endpoint"}}
	for i, b := range []*fakeBrowser{work, test} {
		named[i].Open = func() (executor.Executor, error) {
			opened[b.name]++
			return b, nil
		}
	}
	return New(main, named), main, work, test, opened
}

func newTab(t *testing.T, s *Set, opts executor.NewPageOptions) *executor.Tab {
	t.Helper()
	_, tab, err := s.NewPage(t.Context(), &opts)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

// TestCallsUseBrowserOfTab checks which browser each call uses: that of its tab, or that of the
// active tab.
func TestCallsUseBrowserOfTab(t *testing.T) {
	s, main, work, test, opened := newSet(t)
	ctx := t.Context()
	one := newTab(t, s, executor.NewPageOptions{})
	if len(opened) != 0 {
		t.Errorf("opened %v before a call named one", opened)
	}
	two := newTab(t, s, executor.NewPageOptions{Browser: "work", URL: "http://w"})
	if three := newTab(t, s, executor.NewPageOptions{Browser: "test", Inactive: true}); three.Active || !two.Active {
		t.Errorf("tab %+v is active, and %+v", three, two)
	}
	newTab(t, s, executor.NewPageOptions{Browser: "work", Inactive: true})
	if opened["work"] != 1 || opened["test"] != 1 {
		t.Errorf("opened %v", opened)
	}
	main.take()
	work.take()
	test.take()

	for _, call := range []func() error{
		func() error { return s.Ready(ctx) },
		func() error { return s.Ping(ctx) },
		func() error { _, err := s.Page(ctx, ""); return err },
		func() error { _, err := s.Page(ctx, one.ID); return err },
		func() error { _, err := s.Page(ctx, two.ID); return err },
		func() error { _, err := s.Navigate(ctx, "http://x", nil); return err },
		func() error { _, err := s.SaveState(ctx, "a"); return err },
		func() error { _, err := s.LoadState(ctx, "b"); return err },
		func() error { _, err := s.Watch(ctx, one.ID); return err },
		func() error { _, err := s.SelectTab(ctx, "test:cdp:run:a"); return err },
		func() error { _, err := s.Navigate(ctx, "http://y", nil); return err },
		func() error { _, err := s.SelectTab(ctx, one.ID); return err },
		func() error { _, err := s.Navigate(ctx, "http://z", nil); return err },
	} {
		if err := call(); err != nil {
			t.Error(err)
		}
	}
	for name, c := range map[string]struct{ got, want string }{
		"default": {main.take(), "page cdp:run:a, watch cdp:run:a, select cdp:run:a, navigate http://z"},
		"work":    {work.take(), "ready, ping, page , page work:cdp:run:a, navigate http://x, save a, load b"},
		"test":    {test.take(), "select test:cdp:run:a, navigate http://y"},
	} {
		if c.got != c.want {
			t.Errorf("calls of browser %s: %s\nwant %s", name, c.got, c.want)
		}
	}
}

// TestTabsOfAllBrowsers checks that the lists have the tabs of all browsers and one active tab.
func TestTabsOfAllBrowsers(t *testing.T) {
	s, _, work, _, _ := newSet(t)
	newTab(t, s, executor.NewPageOptions{})
	newTab(t, s, executor.NewPageOptions{Browser: "test"})
	newTab(t, s, executor.NewPageOptions{Browser: "work"})
	tabs, err := s.Tabs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range [][]executor.Tab{tabs, s.WatchTabs(t.Context())} {
		want := []executor.Tab{
			{ID: "cdp:run:a", Index: 0},
			{ID: "work:cdp:run:a", Index: 1, Active: true, Browser: "work"},
			{ID: "test:cdp:run:a", Index: 2, Browser: "test"},
		}
		if !slices.Equal(list, want) {
			t.Errorf("tabs %+v, want %+v", list, want)
		}
	}
	st := s.Status(t.Context())
	if st.ActiveTabID != "work:cdp:run:a" || st.Detail != "of " {
		t.Errorf("status %+v", st)
	}
	want := []executor.Browser{
		{Name: "work", Type: "managed", Color: "#1a73e8", Open: true, Detail: "of work"},
		{Name: "test", Type: "endpoint", Open: true, Detail: "of test"},
	}
	if !slices.Equal(st.Browsers, want) {
		t.Errorf("browsers %+v, want %+v", st.Browsers, want)
	}
	work.err = executor.Errorf(executor.ErrNoBackend, "", "it is gone")
	if tabs, err := s.Tabs(t.Context()); err != nil || len(tabs) != 2 {
		t.Errorf("with a browser that cannot be reached: %v, %v", tabs, err)
	}
	work.err = executor.Errorf(executor.ErrInternal, "", "it failed")
	if tabs, err := s.Tabs(t.Context()); err != nil || len(tabs) != 2 {
		t.Errorf("with a browser that fails: %v, %v", tabs, err)
	}
}

// TestTabsOfOthers checks that a browser that does not answer does not delay the tabs of others.
func TestTabsOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, work, _, _ := newSet(t)
		newTab(t, s, executor.NewPageOptions{})
		newTab(t, s, executor.NewPageOptions{Browser: "work"})
		work.hangs = true
		start := time.Now()
		if tabs, err := s.Tabs(t.Context()); err != nil || len(tabs) != 1 || time.Since(start) > listTimeout {
			t.Errorf("after %v: %v, %v", time.Since(start), tabs, err)
		}
	})
}

func TestSetErrors(t *testing.T) {
	s, _, work, _, _ := newSet(t)
	ctx := t.Context()
	_, _, unknown := s.NewPage(ctx, &executor.NewPageOptions{Browser: "worj"})
	_, unopened := s.Page(ctx, "work:cdp:run:a")
	_, other := s.SelectTab(ctx, "home:cdp:run:a")
	_, bad := s.Page(ctx, "work:cdp")
	_, _, none := New(&fakeBrowser{}, nil).NewPage(ctx, &executor.NewPageOptions{Browser: "work"})
	work.err = errors.New("it did not start")
	_, _, failed := s.NewPage(ctx, &executor.NewPageOptions{Browser: "work"})
	for _, c := range []struct {
		err        error
		code       executor.Code
		text, hint string
	}{
		{unknown, executor.ErrBadArgs, `unknown browser "worj"`, "Did you mean work? The browsers are work, test"},
		{unopened, executor.ErrTabNotFound, "browser work is not open", "Executor.Tabs"},
		{other, executor.ErrTabNotFound, "browser home does not exist", "Executor.Tabs"},
		{bad, executor.ErrBadArgs, `"work:cdp" is not a tab id`, "Executor.Tabs"},
		{none, executor.ErrBadArgs, `unknown browser "work"`, "only the default browser"},
		{failed, executor.ErrInternal, "it did not start", ""},
	} {
		e, ok := errors.AsType[*executor.Error](executor.Wrap("", "", c.err))
		if !ok || e.Code != c.code || !strings.Contains(e.Message(), c.text) || !strings.Contains(e.Hint, c.hint) {
			t.Errorf("error %+v, want %s, %q, %q", e, c.code, c.text, c.hint)
		}
	}
	if _, active := s.opened(); active != "" {
		t.Errorf("after errors, browser %q has the active tab", active)
	}
	work.err = executor.Errorf(executor.ErrDialogOpen, "", "a dialog is open")
	if s.NewPage(ctx, &executor.NewPageOptions{Browser: "work"}); s.active != "work" {
		t.Error("the tab that a dialog blocks is not active")
	}
}

// TestStatusOfSharedTabs checks that the status of a browser whose user shares tabs does not depend on
// a call of Tabs before.
func TestStatusOfSharedTabs(t *testing.T) {
	own, opens := &fakeBrowser{name: "own"}, error(nil)
	named := []Browser{
		{Name: "work", Open: func() (executor.Executor, error) { t.Error("opened work"); return nil, nil }},
		{Name: "own", ListUnopened: true, Open: func() (executor.Executor, error) { return own, opens }},
	}
	want := []executor.Browser{{Name: "work"}, {Name: "own", Open: true, Detail: "of own"}}
	if st := New(&fakeBrowser{}, named).Status(t.Context()); !slices.Equal(st.Browsers, want) {
		t.Errorf("browsers %+v, want %+v", st.Browsers, want)
	}
	opens = executor.Errorf(executor.ErrNoBackend, "", "it cannot be opened")
	want[1] = executor.Browser{Name: "own", Detail: opens.Error()}
	if st := New(&fakeBrowser{}, named).Status(t.Context()); !slices.Equal(st.Browsers, want) {
		t.Errorf("browsers %+v, want %+v", st.Browsers, want)
	}
}

// TestListsSharedTabs checks that a browser whose user shares tabs needs no NewPage.
func TestListsSharedTabs(t *testing.T) {
	own := &fakeBrowser{name: "own", tabs: []executor.TabID{"own:ext:run:a"}}
	s := New(&fakeBrowser{}, []Browser{{Name: "own", ListUnopened: true, Open: func() (executor.Executor, error) { return own, nil }}})
	if _, err := s.SelectTab(t.Context(), "own:ext:run:a"); !errors.Is(err, executor.ErrTabNotFound) {
		t.Errorf("before the list: %v", err)
	}
	if tabs, err := s.Tabs(t.Context()); err != nil || len(tabs) != 1 {
		t.Errorf("tabs %v, %v", tabs, err)
	}
	if _, err := s.SelectTab(t.Context(), "own:ext:run:a"); err != nil {
		t.Error(err)
	}
}

func TestSetClose(t *testing.T) {
	s, main, work, test, _ := newSet(t)
	newTab(t, s, executor.NewPageOptions{Browser: "work"})
	work.err = errors.New("it did not close")
	if err := s.Close(); !errors.Is(err, work.err) {
		t.Errorf("Close: %v", err)
	}
	if main.closed != 1 || work.closed != 1 || test.closed != 0 {
		t.Errorf("closed %d, %d and %d times", main.closed, work.closed, test.closed)
	}
	if _, _, err := s.NewPage(t.Context(), &executor.NewPageOptions{Browser: "test"}); !errors.Is(err, executor.ErrNoBackend) {
		t.Errorf("after Close: %v", err)
	}
}
