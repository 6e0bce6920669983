package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

// TestMalformedIDs checks that invalid ids are rejected without starting a browser.
func TestMalformedIDs(t *testing.T) {
	h := newHost(t)
	s := h.open(t, executor.SessionOptions{})
	for _, id := range []executor.TabID{"1", "cdp", "cdp:run", "cdp:run:", "cdp::t1", "web:run:t1", ":::", "CDP:run:t1"} {
		if _, err := s.SelectTab(t.Context(), id); executor.CodeOf(err) != executor.ErrBadArgs {
			t.Errorf("SelectTab of %q: %v, want ErrBadArgs", id, err)
		}
		for name, call := range calls {
			if err := onPage(t.Context(), s, id, call); executor.CodeOf(err) != executor.ErrBadArgs {
				t.Errorf("%s of %q: %v, want ErrBadArgs", name, id, err)
			}
		}
	}
	if n := h.started(); n != 0 {
		t.Errorf("the browser was acquired %d times", n)
	}
}

// TestNamedBrowser uses a session whose browser has a name.
func TestNamedBrowser(t *testing.T) {
	h := newHost(t)
	s := h.open(t, executor.SessionOptions{Gate: executor.AllowAll, Browser: "work"})
	if _, err := s.Page(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	_, tab, err := s.NewPage(t.Context(), nil)
	if err != nil || tab.Browser != "work" || tab.ID.Browser() != "work" {
		t.Fatalf("tab %+v, %v", tab, err)
	}
	if tabs, err := s.Tabs(t.Context()); err != nil || len(tabs) != 1 || tabs[0] != *tab {
		t.Errorf("tabs %+v, %v; want %+v", tabs, err, tab)
	}
	if got, err := s.SelectTab(t.Context(), tab.ID); err != nil || got.ID != tab.ID {
		t.Errorf("selected %+v, %v", got, err)
	}
	for _, id := range []executor.TabID{tab.ID.WithoutBrowser(), tab.ID.WithoutBrowser().In("test")} {
		if _, err := s.SelectTab(t.Context(), id); !errors.Is(err, executor.ErrStaleTab) {
			t.Errorf("tab %s of another browser: %v", id, err)
		}
	}
	if _, _, err := s.NewPage(t.Context(), &executor.NewPageOptions{Browser: "work"}); !errors.Is(err, executor.ErrBadArgs) {
		t.Errorf("NewPage in a named browser: %v", err)
	}
}

// TestForeignIDs uses ids of another browser instance and of tabs that do not exist. The error
// lists the open tabs.
func TestForeignIDs(t *testing.T) {
	h := newHost(t)
	h.adopt(t, "https://a.test/shown")
	h.adopt(t, "https://a.test/secret")
	s := h.open(t, executor.SessionOptions{Gate: denyURL("secret")})
	for _, id := range []executor.TabID{"cdp:other:t1", "ext:run:t1"} {
		for name, call := range calls {
			if err := onPage(t.Context(), s, id, call); executor.CodeOf(err) != executor.ErrStaleTab || !strings.Contains(err.Error(), string(id)) {
				t.Errorf("%s of %s: %v, want ErrStaleTab that names it", name, id, err)
			}
		}
	}
	for name, call := range calls {
		err := onPage(t.Context(), s, "cdp:run:t9", call)
		if executor.CodeOf(err) != executor.ErrTabNotFound {
			t.Errorf("%s: %v, want ErrTabNotFound", name, err)
			continue
		}
		if want := "tab cdp:run:t9 not found; open tabs: cdp:run:t1 (\"https://a.test/shown\"), cdp:run:t2"; !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %q, want …%q", name, err, want)
		}
	}

	// The extension backend uses another prefix.
	h.kind = executor.BackendExtension
	if _, err := s.SelectTab(t.Context(), "cdp:run:t1"); executor.CodeOf(err) != executor.ErrStaleTab {
		t.Errorf("an id of the other backend: %v, want ErrStaleTab", err)
	}
	if _, err := s.SelectTab(t.Context(), "ext:run:t1"); err != nil {
		t.Errorf("an id of the extension: %v", err)
	}
}

// TestOpenTabsListTruncated checks that an error message lists at most ten tabs, with shortened
// URLs.
func TestOpenTabsListTruncated(t *testing.T) {
	h := newHost(t)
	s := h.open(t, executor.SessionOptions{})
	if _, err := s.SelectTab(t.Context(), "cdp:run:t1"); err == nil || !strings.HasSuffix(err.Error(), "; no tab is open") {
		t.Errorf("got %v, want that no tab is open", err)
	}
	for range 12 {
		h.adopt(t, "https://a.test/"+strings.Repeat("x", 200))
	}
	_, err := s.SelectTab(t.Context(), "")
	if executor.CodeOf(err) != executor.ErrTabNotFound {
		t.Fatalf("got %v, want ErrTabNotFound", err)
	}
	if n := strings.Count(err.Error(), "cdp:run:t"); n != 10 || !strings.HasSuffix(err.Error(), ", …") {
		t.Errorf("%d tabs listed: %v", n, err)
	}
	if strings.Contains(err.Error(), strings.Repeat("x", 100)) {
		t.Errorf("URLs are not truncated: %v", err)
	}
}

// TestActiveTab checks which tab an empty id refers to.
func TestActiveTab(t *testing.T) {
	ctx := t.Context()
	h := newHost(t)
	s, other := h.open(t, executor.SessionOptions{}), h.open(t, executor.SessionOptions{})
	wantActive := func(want executor.TabID) {
		t.Helper()
		tab, err := s.activeTab(ctx, h.browser)
		switch {
		case want == "" && executor.CodeOf(err) != executor.ErrTabNotFound:
			t.Errorf("got %v, %v, want ErrTabNotFound", tab, err)
		case want != "" && (err != nil || s.ids.of(h.browser, tab) != want):
			t.Errorf("got %v, %v, want %s", tab, err, want)
		}
	}
	open := func(s *Session, inactive bool) executor.TabID {
		t.Helper()
		_, tab, err := s.NewPage(ctx, &executor.NewPageOptions{Inactive: inactive})
		if err != nil || tab.Active == inactive {
			t.Fatalf("got %+v, %v", tab, err)
		}
		return tab.ID
	}
	wantActive("")
	adopted := h.adopt(t, "https://a.test/")
	wantActive("cdp:run:t1") // the only one
	open(other, false)
	wantActive("cdp:run:t1") // the other client's tab does not count
	second := open(s, true)
	wantActive("cdp:run:t1") // unchanged by an inactive tab
	third := open(s, false)
	wantActive(third)
	if tab, err := s.SelectTab(ctx, second); err != nil || !tab.Active || tab.Index != 2 {
		t.Errorf("selecting: %+v, %v", tab, err)
	}
	wantActive(second)
	if st := s.Status(ctx); st.ActiveTabID != second {
		t.Errorf("the status says %s is active, want %s", st.ActiveTabID, second)
	}
	list, err := s.Tabs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i, tab := range list {
		if tab.Active != (tab.ID == second) || tab.Index != i {
			t.Errorf("the list has %+v", tab)
		}
	}
	if list[0].URL != "https://a.test/" || list[0].Title != "Title" || list[0].ID != s.ids.of(h.browser, adopted) {
		t.Errorf("the list has %+v", list[0])
	}
	if closed, err := pagetest.Of(s, second).Close(ctx); err != nil || *closed != (executor.ClosedTab{Tab: second, Closed: true}) {
		t.Fatalf("closing the client's tab: %+v, %v", closed, err)
	}
	if st := s.Status(ctx); st.ActiveTabID != "" {
		t.Errorf("the status says %s is active, which is closed", st.ActiveTabID)
	}
	wantActive(third) // the client's only tab
	if _, err := pagetest.Of(s, third).Close(ctx); err != nil {
		t.Fatal(err)
	}
	wantActive("") // the other tabs have no owner
	if nav, err := s.Navigate(ctx, "about:blank", nil); err != nil || nav.TabID != "cdp:run:t5" {
		t.Errorf("navigating: %+v, %v, want a new tab", nav, err)
	}
	wantActive("cdp:run:t5")
}

// TestSharedTab shares tabs before and after the client has chosen one.
func TestSharedTab(t *testing.T) {
	h := newHost(t)
	h.kind = executor.BackendExtension
	s := h.open(t, executor.SessionOptions{})
	var reported []executor.SharedTab
	ctx := executor.WithCallOptions(t.Context(), executor.CallOptions{OnSharedTab: func(sh executor.SharedTab) { reported = append(reported, sh) }})
	share := func(n int, sharedAt time.Time) *Tab {
		tab := h.adopt(t, fmt.Sprintf("https://a.test/%d", n))
		tab.ShareSequence, tab.SharedByUserAt = n, sharedAt
		return tab
	}
	wantActive := func(want *Tab, reports int) {
		t.Helper()
		got, err := s.activeTab(ctx, h.browser)
		if err != nil || got != want {
			t.Errorf("a call uses %v, %v, want %v", got, err, want)
		}
		if len(reported) != reports {
			t.Errorf("reported %v, want %d", reported, reports)
		}
		list, err := s.Tabs(ctx)
		if err != nil || !slices.ContainsFunc(list, func(x executor.Tab) bool { return x.Active && x.ID == s.ids.of(h.browser, want) }) {
			t.Errorf("the list has %+v, %v", list, err)
		}
	}
	wantReported := func(tab *Tab, active bool) {
		t.Helper()
		last := reported[len(reported)-1].Tab
		if last.ID != s.ids.of(h.browser, tab) || last.Title != "Title" || last.Active != active {
			t.Errorf("reported %+v, want %s, active: %t", last, tab.Raw, active)
		}
	}
	now := time.Now()
	first := share(1, now.AddDate(0, 0, -2)) // before the session started
	wantActive(first, 0)
	h.popup(t, first, "https://a.test/popup")
	share(3, time.Time{})           // shared automatically
	share(4, now.AddDate(0, 0, -1)) // released by another agent
	wantActive(first, 0)
	second := share(5, now.AddDate(0, 0, 1))
	wantActive(second, 1)
	wantReported(second, true)
	wantActive(second, 1)

	_, own, err := s.NewPage(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	opened := s.ids.find(h.browser, own.ID)
	wantActive(opened, 1)
	third := share(6, now.AddDate(0, 0, 2))
	if st := s.Status(ctx); st.ActiveTabID != own.ID {
		t.Errorf("the status reports %q", st.ActiveTabID)
	}
	wantActive(opened, 2)
	wantReported(third, false)
	fourth := share(7, now.AddDate(0, 0, 3))
	if _, err := s.SelectTab(ctx, s.ids.of(h.browser, third)); err != nil { // also reports the fourth tab
		t.Fatal(err)
	}
	wantReported(fourth, false)
	wantActive(third, 3)
	fifth := share(8, now.AddDate(0, 0, 4))
	if _, err := pagetest.Of(s, own.ID).HandleDialog(ctx, &executor.DialogAnswer{}); executor.CodeOf(err) == executor.ErrTabNotFound { // a call that names its tab also reports
		t.Fatal(err)
	}
	wantReported(fifth, false)

	// A call intended for a closed tab does not use a shared tab.
	if _, err := h.browser.CloseTab(ctx, third); err != nil {
		t.Fatal(err)
	}
	wantActive(opened, 4) // the client's own tab
	if _, err := pagetest.Of(s, own.ID).Close(ctx); err != nil {
		t.Fatal(err)
	}
	if tab, err := s.activeTab(ctx, h.browser); executor.CodeOf(err) != executor.ErrTabNotFound || !strings.Contains(err.Error(), "the active tab is gone; open tabs: ext:run:t1") {
		t.Errorf("got %v, %v, want that the active tab is gone", tab, err)
	}
}

// TestSeveralSharedTabs makes a call that names no tab while several tabs are shared and none is
// active. The error lists them.
func TestSeveralSharedTabs(t *testing.T) {
	h := newHost(t)
	h.kind = executor.BackendExtension
	s := h.open(t, executor.SessionOptions{})
	share := func(n int, sharedAt time.Time) *Tab {
		tab := h.adopt(t, fmt.Sprintf("https://a.test/%d", n))
		tab.ShareSequence, tab.SharedByUserAt = n, sharedAt
		return tab
	}
	first := share(1, time.Now().AddDate(0, 0, -1)) // before the session started
	share(2, time.Now().AddDate(0, 0, 1))
	share(3, time.Now().AddDate(0, 0, 2))
	for range 2 { // the first call selects no tab for the second
		_, err := pagetest.Of(s, "").Text(t.Context(), nil)
		var none *executor.NoActiveTabError
		if executor.CodeOf(err) != executor.ErrTabNotFound || !errors.As(err, &none) || len(none.Tabs) != 3 || none.Tabs[2].URL != "https://a.test/3" || none.Tabs[2].Title != "Title" {
			t.Fatalf("got %v, want the three tabs", err)
		}
	}
	if list, err := s.Tabs(t.Context()); err != nil || slices.ContainsFunc(list, func(x executor.Tab) bool { return x.Active }) {
		t.Errorf("the list has %+v, %v", list, err)
	}
	for _, tab := range h.browser.Tabs()[1:] {
		if _, err := h.browser.CloseTab(t.Context(), tab); err != nil {
			t.Fatal(err)
		}
	}
	if tab, err := s.activeTab(t.Context(), h.browser); err != nil || tab != first {
		t.Errorf("a call uses %v, %v, want the only tab", tab, err)
	}
}

// TestSharedTabAtOpening opens a tab in the first call of a session. The user has
// shared a tab since the session started.
func TestSharedTabAtOpening(t *testing.T) {
	h := newHost(t)
	h.kind = executor.BackendExtension
	s := h.open(t, executor.SessionOptions{})
	shared := h.adopt(t, "https://a.test/")
	shared.ShareSequence, shared.SharedByUserAt = 1, time.Now().Add(time.Minute)
	var reported []executor.SharedTab
	ctx := executor.WithCallOptions(t.Context(), executor.CallOptions{OnSharedTab: func(sh executor.SharedTab) { reported = append(reported, sh) }})
	_, own, err := s.NewPage(ctx, nil)
	if err != nil || !own.Active {
		t.Fatalf("got %+v, %v", own, err)
	}
	if tab, err := s.activeTab(ctx, h.browser); err != nil || s.ids.of(h.browser, tab) != own.ID {
		t.Errorf("a call uses %v, %v, want the tab that was opened", tab, err)
	}
	if len(reported) != 1 || reported[0].Tab.ID != s.ids.of(h.browser, shared) || reported[0].Tab.Active {
		t.Errorf("reported %+v, want the shared tab", reported)
	}
}

// TestDeniedTab checks that a denied tab can be neither selected nor closed.
func TestDeniedTab(t *testing.T) {
	h := newHost(t)
	h.adopt(t, "https://a.test/secret")
	s := h.open(t, executor.SessionOptions{Gate: denyURL("secret")})
	if _, err := s.SelectTab(t.Context(), "cdp:run:t1"); executor.CodeOf(err) != executor.ErrPolicyDenied {
		t.Errorf("select: %v, want ErrPolicyDenied", err)
	}
	if _, err := pagetest.Of(s, "cdp:run:t1").Close(t.Context()); executor.CodeOf(err) != executor.ErrPolicyDenied {
		t.Errorf("close: %v, want ErrPolicyDenied", err)
	}
	if len(h.browser.closing) != 0 || s.selection.tab() != "" {
		t.Errorf("%d closed, %q is active", len(h.browser.closing), s.selection.tab())
	}
}

// TestViews checks that a client has one view of a tab until the tab is closed.
func TestViews(t *testing.T) {
	h := newHost(t)
	s := h.open(t, executor.SessionOptions{})
	first, second := h.adopt(t, "https://a.test/1"), h.adopt(t, "https://a.test/2")
	view := s.view(first)
	if again := s.view(first); again != view || view == s.view(second) {
		t.Error("wrong view")
	}
	if _, err := h.browser.CloseTab(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	s.view(h.adopt(t, "https://a.test/3"))
	if _, found := s.views[first]; found || len(s.views) != 2 {
		t.Errorf("%d views are stored", len(s.views))
	}
}

// TestOpenedBy checks that each tab that a page opened is reported once, when its document has
// loaded. openedBy waits for the requested number of tabs, but not longer than its context.
func TestOpenedBy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		opener := h.adopt(t, "https://a.test/")
		s := h.open(t, executor.SessionOptions{})
		got := make(chan []executor.Tab, 1)
		waits := func(when string) {
			t.Helper()
			synctest.Wait()
			if len(got) != 0 {
				t.Fatalf("%s: reported %+v", when, <-got)
			}
		}
		go func() { got <- s.openedBy(t.Context(), opener, time.Time{}, 2) }()
		waits("no tab is open")
		h.popup(t, opener, "https://a.test/popup1")
		waits("one tab is open")
		second, err := h.browser.add(t.Context(), nil, opener)
		if err != nil {
			t.Fatal(err)
		}
		waits("the second is blank")
		h.browser.show(t, second, "https://a.test/popup2")
		if list := <-got; len(list) != 2 || list[0].URL != "https://a.test/popup1" || list[1].URL != "https://a.test/popup2" {
			t.Errorf("got %+v", list)
		}
		if list := s.openedBy(t.Context(), opener, time.Time{}, 0); len(list) != 0 {
			t.Errorf("reported twice: %+v", list)
		}
		h.popup(t, opener, "https://a.test/popup3")
		h.popup(t, nil, "https://a.test/another")
		done, cancel := context.WithCancel(t.Context())
		cancel()
		if list := s.openedBy(done, opener, time.Time{}, 5); len(list) != 1 || list[0].URL != "https://a.test/popup3" {
			t.Errorf("got %+v, want the only one", list)
		}
	})
}

// TestBrowserEnded uses a tab of an earlier browser instance.
func TestBrowserEnded(t *testing.T) {
	h := newHost(t)
	s := h.open(t, executor.SessionOptions{})
	s.selection.active = "cdp:earlier:t1"
	_, err := pagetest.Of(s, "").Text(t.Context(), nil)
	if executor.CodeOf(err) != executor.ErrTabNotFound || !strings.Contains(err.Error(), "the browser exited") {
		t.Errorf("got %v", err)
	}
	s.selection.active = ""
	if _, err := pagetest.Of(s, "").Text(t.Context(), nil); executor.CodeOf(err) != executor.ErrTabNotFound || strings.Contains(err.Error(), "exited") {
		t.Errorf("with no tab before: %v", err)
	}
}

// TestFailedLoad checks that calls of a client without a tab say that the tab of its last page was
// closed because the page did not load, until the client opens or selects a tab.
func TestFailedLoad(t *testing.T) {
	gate := executor.GateFunc(func(_ context.Context, a executor.Access) error {
		if strings.Contains(a.Destination, "unreachable") {
			return executor.Errorf(executor.ErrPolicyDenied, "", "the host is unreachable")
		}
		return nil
	})
	const url = "https://unreachable.test/"
	for _, kind := range []executor.BackendKind{executor.BackendCDP, executor.BackendExtension} {
		t.Run(string(kind), func(t *testing.T) {
			h := newHost(t)
			h.kind = kind
			s := h.open(t, executor.SessionOptions{Gate: gate})
			reports := func(when string, want bool) {
				t.Helper()
				_, err := pagetest.Of(s, "").Text(t.Context(), nil)
				if executor.CodeOf(err) != executor.ErrTabNotFound || strings.Contains(err.Error(), "did not load (the host is unreachable)") != want {
					t.Errorf("%s: %v, want ErrTabNotFound that names the failed load: %v", when, err, want)
				}
			}
			reports("before a page", false)
			if _, err := s.Navigate(t.Context(), url, nil); executor.CodeOf(err) != executor.ErrPolicyDenied {
				t.Fatalf("the first navigation: %v", err)
			}
			if tabs := h.browser.Tabs(); len(tabs) != 0 {
				t.Errorf("%d tabs are open", len(tabs))
			}
			reports("after a failed navigation", true)
			p, _, err := s.NewPage(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := s.NewPage(t.Context(), &executor.NewPageOptions{URL: url}); executor.CodeOf(err) != executor.ErrPolicyDenied {
				t.Fatalf("a further page: %v", err)
			}
			if _, err := p.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			reports("after the only tab was closed by the client", false)
		})
	}
}
