// Package browsers lets one client use several browsers, each with a name.
package browsers

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/typo"
)

// listTimeout bounds the time that a named browser has to list its tabs.
const listTimeout = 3 * time.Second

// A Browser is a named browser of a [Set].
type Browser struct {
	Name  string
	Type  string // for executor.Status
	Color string // for executor.Status; may be empty

	// ListUnopened makes Tabs list its tabs, and Status report it, even before the client opens a tab in
	// it, because the user can share some.
	ListUnopened bool

	// Open returns the Executor of the client for the browser, which has the Name as
	// executor.SessionOptions.Browser. It starts no browser. It is called again only if it fails.
	Open func() (executor.Executor, error)
}

// A Set is the Executor of one client with a default browser and named browsers. NewPage opens a
// tab in the browser that its options name. The ids of the tabs of a named browser start with its
// name, so that all other calls find the browser by the id of a tab. A call without one uses the
// browser of the active tab, and so do SaveState and LoadState. It is safe for concurrent use.
type Set struct {
	main  executor.Executor // the default browser
	named []Browser

	mu     sync.Mutex // guards the fields below
	open   map[string]executor.Executor
	active string // name of the browser of the active tab; empty for the default browser
	closed bool
}

var (
	_ executor.Executor = (*Set)(nil)
	_ executor.Watcher  = (*Set)(nil)
)

// New returns a Set, which closes main.
func New(main executor.Executor, named []Browser) *Set {
	return &Set{main: main, named: named, open: map[string]executor.Executor{}}
}

// browser returns the Executor for a browser. It opens it if necessary.
func (s *Set) browser(name string) (executor.Executor, error) {
	if name == "" {
		return s.main, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if ex := s.open[name]; ex != nil {
		return ex, nil
	}
	i := slices.IndexFunc(s.named, func(b Browser) bool { return b.Name == name })
	switch {
	case i < 0:
		return nil, s.unknown(name)
	case s.closed:
		return nil, executor.Errorf(executor.ErrNoBackend, "", "the session is closed")
	}
	ex, err := s.named[i].Open()
	if err == nil {
		s.open[name] = ex
	}
	return ex, err
}

// unknown returns the error for a browser that does not exist.
func (s *Set) unknown(name string) error {
	if len(s.named) == 0 {
		return executor.Errorf(executor.ErrBadArgs, "Omit the browser: there is only the default browser. The user can configure others.", "unknown browser %q", name)
	}
	var names []string
	for _, b := range s.named {
		names = append(names, b.Name)
	}
	hint := "The browsers are " + strings.Join(names, ", ") + "; without a name, the default browser is used."
	if best := typo.Nearest(name, slices.Values(names)); best != "" {
		hint = "Did you mean " + best + "? " + hint
	}
	return executor.Errorf(executor.ErrBadArgs, hint, "unknown browser %q", name)
}

// of returns the Executor for the browser of a tab: that of the active tab if tab is empty. It opens
// no browser.
func (s *Set) of(tab executor.TabID) (name string, ex executor.Executor, err error) {
	if tab != "" {
		if _, _, _, err := tab.Split(); err != nil {
			return "", nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	name = s.active
	if tab != "" {
		name = tab.Browser()
	}
	if name == "" {
		return "", s.main, nil
	}
	if ex := s.open[name]; ex != nil {
		return name, ex, nil
	}
	if !slices.ContainsFunc(s.named, func(b Browser) bool { return b.Name == name }) {
		return "", nil, executor.Errorf(executor.ErrTabNotFound, "Take a tab id from Executor.Tabs.", "tab %s not found: browser %s does not exist", tab, name)
	}
	return "", nil, executor.Errorf(executor.ErrTabNotFound, "Take a tab id from Executor.Tabs.", "tab %s not found: browser %s is not open", tab, name)
}

// in calls f with the Executor for the browser of a tab. op is the operation for the error if there is
// none.
func in[R any](s *Set, op string, tab executor.TabID, f func(executor.Executor) (R, error)) (R, error) {
	_, ex, err := s.of(tab)
	if err != nil {
		var none R
		return none, executor.Wrap(op, tab, err)
	}
	return f(ex)
}

// activate makes the browser with the given name that of the active tab.
func (s *Set) activate(name string) {
	s.mu.Lock()
	s.active = name
	s.mu.Unlock()
}

// opened returns the browsers that are open, the default browser first, and the name of the browser
// of the active tab.
func (s *Set) opened() (all []openBrowser, active string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all = []openBrowser{{"", s.main}}
	for _, b := range s.named {
		if ex := s.open[b.Name]; ex != nil {
			all = append(all, openBrowser{b.Name, ex})
		}
	}
	return all, s.active
}

// An openBrowser is the Executor for a browser that is open.
type openBrowser struct {
	name string
	executor.Executor
}

// Ready prepares the browser of the active tab.
func (s *Set) Ready(ctx context.Context) error {
	_, ex, err := s.of("")
	if err != nil {
		return executor.Wrap("ready", "", err)
	}
	return ex.Ready(ctx)
}

// Ping reports whether the browser of the active tab answers.
func (s *Set) Ping(ctx context.Context) error {
	_, ex, err := s.of("")
	if err != nil {
		return executor.Wrap("ping", "", err)
	}
	return ex.Ping(ctx)
}

// Status returns the status of the default browser, with the active tab of the client and the named
// browsers.
func (s *Set) Status(ctx context.Context) executor.Status {
	status := s.main.Status(ctx)
	unopened := map[string]error{}
	for _, b := range s.named {
		if b.ListUnopened {
			_, unopened[b.Name] = s.browser(b.Name)
		}
	}
	opened, active := s.opened()
	open := map[string]executor.Executor{}
	for _, b := range opened {
		open[b.name] = b.Executor
	}
	if active != "" {
		status.ActiveTabID = ""
	}
	for _, b := range s.named {
		browser := executor.Browser{Name: b.Name, Type: b.Type, Color: b.Color}
		if ex := open[b.Name]; ex != nil {
			st := ex.Status(ctx)
			browser.Open, browser.Detail = st.CDPAttached || st.ExtensionConnected, st.Detail
			if b.Name == active {
				status.ActiveTabID = st.ActiveTabID
			}
		} else if err := unopened[b.Name]; err != nil {
			browser.Detail = err.Error()
		}
		status.Browsers = append(status.Browsers, browser)
	}
	return status
}

// Tabs lists the tabs of all open browsers, those of the default browser first. A named browser whose
// list fails or takes longer than listTimeout has no tabs; Status reports why. If there are named
// browsers, the same holds for a default browser that cannot be reached.
func (s *Set) Tabs(ctx context.Context) ([]executor.Tab, error) {
	for _, b := range s.named {
		if b.ListUnopened {
			if _, err := s.browser(b.Name); err != nil {
				return nil, executor.Wrap("list tabs", "", err)
			}
		}
	}
	opened, active := s.opened()
	lists := make([][]executor.Tab, len(opened))
	errs := make([]error, len(opened))
	var wg sync.WaitGroup
	for i, b := range opened {
		wg.Go(func() {
			ctx := ctx
			if i > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, listTimeout)
				defer cancel()
			}
			lists[i], errs[i] = b.Tabs(ctx)
		})
	}
	wg.Wait()
	if err := errs[0]; err != nil && (len(s.named) == 0 || !unreachable(err)) {
		return nil, err
	}
	return merge(lists, active), nil
}

// unreachable reports whether err means that a browser has no tabs because it cannot be reached.
func unreachable(err error) bool {
	return errors.Is(err, executor.ErrNoBackend) || errors.Is(err, executor.ErrExtensionDisconnected)
}

// merge returns the tabs of several browsers as one list. Each browser has an active tab; that of
// the browser named active is the client's.
func merge(lists [][]executor.Tab, active string) []executor.Tab {
	all := []executor.Tab{}
	for _, list := range lists {
		for _, t := range list {
			t.Index = len(all)
			t.Active = t.Active && t.Browser == active
			all = append(all, t)
		}
	}
	return all
}

// SelectTab makes a tab of any browser the active tab.
func (s *Set) SelectTab(ctx context.Context, tab executor.TabID) (*executor.Tab, error) {
	name, ex, err := s.of(tab)
	if err != nil {
		return nil, executor.Wrap("select tab", tab, err)
	}
	t, err := ex.SelectTab(ctx, tab)
	if err == nil {
		s.activate(name)
	}
	return t, err
}

// Page returns the page of a tab of any browser. The page of an empty id stays in the browser of the
// tab that is active now.
func (s *Set) Page(ctx context.Context, tab executor.TabID) (executor.Page, error) {
	return in(s, "page", tab, func(ex executor.Executor) (executor.Page, error) { return ex.Page(ctx, tab) })
}

// NewPage opens a tab in the browser that opts names.
func (s *Set) NewPage(ctx context.Context, opts *executor.NewPageOptions) (executor.Page, *executor.Tab, error) {
	var o executor.NewPageOptions
	if opts != nil {
		o = *opts
	}
	name := o.Browser
	ex, err := s.browser(name)
	if err != nil {
		return nil, nil, executor.Wrap("new page", "", err)
	}
	o.Browser = ""
	page, tab, err := ex.NewPage(ctx, &o)
	// After ErrDialogOpen, the tab stays open.
	if !o.Inactive && (err == nil || errors.Is(err, executor.ErrDialogOpen)) {
		s.activate(name)
	}
	if tab != nil && o.Inactive {
		_, active := s.opened()
		tab.Active = tab.Active && name == active
	}
	return page, tab, err
}

// Navigate loads url in the active tab, or in a new tab of the browser that had the active tab.
func (s *Set) Navigate(ctx context.Context, url string, opts *executor.NavigateOptions) (*executor.Navigation, error) {
	return in(s, "navigate", "", func(ex executor.Executor) (*executor.Navigation, error) { return ex.Navigate(ctx, url, opts) })
}

// SaveState saves the storage state of the browser of the active tab.
func (s *Set) SaveState(ctx context.Context, name string) (*executor.StateResult, error) {
	return in(s, "save state", "", func(ex executor.Executor) (*executor.StateResult, error) { return ex.SaveState(ctx, name) })
}

// LoadState restores storage state in the browser of the active tab.
func (s *Set) LoadState(ctx context.Context, name string) (*executor.StateResult, error) {
	return in(s, "load state", "", func(ex executor.Executor) (*executor.StateResult, error) { return ex.LoadState(ctx, name) })
}

// WatchTabs implements executor.Watcher. It returns the tabs of all open browsers.
func (s *Set) WatchTabs(ctx context.Context) []executor.Tab {
	opened, active := s.opened()
	lists := make([][]executor.Tab, len(opened))
	var wg sync.WaitGroup
	for i, b := range opened {
		wg.Go(func() { lists[i] = executor.AsWatcher(b.Executor).WatchTabs(ctx) })
	}
	wg.Wait()
	return merge(lists, active)
}

// Watch implements executor.Watcher.
func (s *Set) Watch(ctx context.Context, tab executor.TabID) (executor.LiveView, error) {
	return in(s, "watch", tab, func(ex executor.Executor) (executor.LiveView, error) { return executor.AsWatcher(ex).Watch(ctx, tab) })
}

// Close closes the client's sessions in all browsers. No browser is opened afterwards.
func (s *Set) Close() error {
	s.mu.Lock()
	s.closed = true
	all := append([]executor.Executor{s.main}, slices.Collect(maps.Values(s.open))...)
	s.mu.Unlock()
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, ex := range all {
		wg.Go(func() { errs[i] = ex.Close() })
	}
	wg.Wait()
	return errors.Join(errs...)
}
