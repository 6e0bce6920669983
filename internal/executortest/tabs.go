package executortest

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// listed returns the entry of tab in the list, or fails the case.
func (c *testCase) listed(tab executor.TabID) executor.Tab {
	c.Helper()
	t, ok := c.find(tab)
	if !ok {
		c.Fatalf("tab %s is not in the list", tab)
	}
	return t
}

func (c *testCase) find(tab executor.TabID) (executor.Tab, bool) {
	c.Helper()
	tabs := c.tabs()
	i := slices.IndexFunc(tabs, func(t executor.Tab) bool { return t.ID == tab })
	if i < 0 {
		return executor.Tab{}, false
	}
	return tabs[i], true
}

// tabs lists the tabs.
func (c *testCase) tabs() []executor.Tab {
	c.Helper()
	tabs, err := c.exec.Tabs(c.ctx)
	if err != nil {
		c.Fatalf("list tabs: %v", err)
	}
	return tabs
}

// stale returns an id in the form of tab, but of another browser instance.
func stale(tab executor.TabID) executor.TabID {
	backend, _, raw, err := tab.Split()
	if err != nil {
		panic(err)
	}
	return executor.NewTabID(backend, "bygone", raw)
}

func (s *suite) tabs(t *testing.T) {
	s.page(t, "list", "tabs.html", func(c *testCase) {
		second := c.open("popup.html")
		a, b := c.listed(c.tab), c.listed(second)
		if a.URL != c.url("tabs.html") || a.Title != "Tabs" || b.URL != c.url("popup.html") || b.Title != "Popup" {
			c.Errorf("listed %+v and %+v", a, b)
		}
		if a.Active || !b.Active {
			c.Errorf("the tab opened last is not the only active one: %+v, %+v", a, b)
		}
		if a.Index >= b.Index {
			c.Errorf("tabs are not in the order they were opened: %d, %d", a.Index, b.Index)
		}
	})
	s.page(t, "select", "tabs.html", func(c *testCase) {
		second := c.open("popup.html")
		sel, err := c.exec.SelectTab(c.ctx, c.tab)
		if err != nil {
			c.Fatal(err)
		}
		if sel.ID != c.tab || !sel.Active || sel.Title != "Tabs" {
			c.Errorf("selected %+v", sel)
		}
		if c.listed(second).Active || !c.listed(c.tab).Active {
			c.Error("the list does not show the selection")
		}
		text, err := pagetest.Of(c.exec, "").Text(c.ctx, nil)
		if err != nil {
			c.Fatal(err)
		}
		c.wantIn(text.Content, "Open window") // an empty id means the active tab
	})
	s.page(t, "inactive", "tabs.html", func(c *testCase) {
		_, tab, err := c.exec.NewPage(c.ctx, &executor.NewPageOptions{URL: c.url("popup.html"), Inactive: true})
		if err != nil {
			c.Fatal(err)
		}
		c.await("open", "")
		if tab.Active || c.listed(tab.ID).Active || !c.listed(c.tab).Active {
			c.Error("a tab opened inactive became active")
		}
		if _, err := pagetest.Of(c.exec, tab.ID).Click(c.ctx, css("#inside"), nil); err != nil {
			c.Fatalf("clicking in the inactive tab: %v", err)
		}
		if !c.await("click", "inside").Trusted {
			c.Error("the click in the inactive tab was not trusted")
		}
	})
	s.pageWith(t, "empty", "", executor.SessionOptions{Gate: executor.AllowAll}, func(c *testCase) {
		tab := c.openURL("")
		if tab.URL != "about:blank" || !tab.Active {
			c.Errorf("opened %+v", tab)
		}
		nav, err := c.exec.Navigate(c.ctx, c.url("popup.html"), nil)
		if err != nil {
			c.Fatal(err)
		}
		if nav.TabID != tab.ID {
			c.Errorf("navigated tab %s, want the active one, %s", nav.TabID, tab.ID)
		}
	})
	s.page(t, "close", "tabs.html", func(c *testCase) {
		second := c.open("tabs.html")
		closed, err := pagetest.Of(c.exec, second).Close(c.ctx)
		if err != nil {
			c.Fatal(err)
		}
		if *closed != (executor.ClosedTab{Tab: second, Closed: true}) {
			c.Errorf("closing our tab returned %+v", *closed)
		}
		c.await("pagehide", "page")
		if _, ok := c.find(second); ok {
			c.Error("the closed tab is still listed")
		}
		_, err = pagetest.Of(c.exec, second).Text(c.ctx, nil)
		c.wantGone(err)
		_, err = pagetest.Of(c.exec, second).Close(c.ctx)
		c.wantGone(err)
	})
	s.page(t, "close during a call", "tabs.html", func(c *testCase) {
		done := make(chan error, 1)
		go func() { done <- errOf(c.page().Navigate(c.ctx, c.heldURL("page"), nil)) }()
		c.awaitRequest("page")
		if _, err := c.page().Close(c.ctx); err != nil {
			c.Errorf("closing the tab that loads: %v", err)
		}
		c.wantCode(<-done, executor.ErrTargetGone)
	})
	s.page(t, "page closes itself", "tabs.html", func(c *testCase) {
		a := c.click(css("#window"), nil)
		if len(a.NewTabs) != 1 {
			c.Fatalf("new tabs: %+v, want one", a.NewTabs)
		}
		popup := a.NewTabs[0].ID
		c.await("open", "window")
		// The tab may close before or after the call that closes it returns.
		if _, err := pagetest.Of(c.exec, popup).Click(c.ctx, css("#suicide"), nil); err != nil {
			c.wantCode(err, executor.ErrTargetGone)
		}
		c.await("click", "suicide")
		_, err := pagetest.Of(c.exec, popup).Text(c.ctx, nil)
		c.wantGone(err)
	})
	s.page(t, "crash", "tabs.html", func(c *testCase) {
		_, err := c.page().CDP(c.ctx, "Page.crash", nil)
		c.wantCode(err, executor.ErrTargetGone)
		_, err = c.page().Text(c.ctx, nil)
		c.wantCode(err, executor.ErrTargetGone, "crash")
		if _, err := c.page().Close(c.ctx); err != nil {
			c.Errorf("closing the crashed tab: %v", err)
		}
		c.tab = c.open("popup.html") // the browser still works
		c.wantValue("document.title", "Popup")
	})
	s.page(t, "unknown", "tabs.html", func(c *testCase) {
		backend, session, _, err := c.tab.Split()
		if err != nil {
			c.Fatal(err)
		}
		unknown := executor.NewTabID(backend, session, "nosuch")
		_, err = c.exec.SelectTab(c.ctx, unknown)
		c.wantCode(err, executor.ErrTabNotFound)
		_, err = pagetest.Of(c.exec, unknown).Snapshot(c.ctx, nil)
		c.wantCode(err, executor.ErrTabNotFound)
		_, err = pagetest.Of(c.exec, unknown).Close(c.ctx)
		c.wantCode(err, executor.ErrTabNotFound)
	})
	s.page(t, "stale", "tabs.html", func(c *testCase) {
		_, err := pagetest.Of(c.exec, stale(c.tab)).Click(c.ctx, css("#window"), nil)
		c.wantCode(err, executor.ErrStaleTab)
		_, err = c.exec.SelectTab(c.ctx, stale(c.tab))
		c.wantCode(err, executor.ErrStaleTab)
		c.wantUntouched("window")
	})
	s.page(t, "malformed", "tabs.html", func(c *testCase) {
		for _, id := range []executor.TabID{"7", "cdp:", "tab:1:2", "cdp::x"} {
			_, err := c.exec.Page(c.ctx, id)
			c.wantCode(err, executor.ErrBadArgs, string(id))
		}
	})
	s.page(t, "invalid URL", "tabs.html", func(c *testCase) {
		_, _, err := c.exec.NewPage(c.ctx, &executor.NewPageOptions{URL: "http://127.0.0.1:1/"})
		c.wantCode(err, executor.ErrNavigationFailed, "net::ERR_")
		if !c.listed(c.tab).Active {
			c.Error("a tab that did not open became active")
		}
	})
	s.page(t, "next call reports that the first page did not load", "tabs.html", func(c *testCase) {
		other := c.session(executor.SessionOptions{Gate: executor.AllowAll})
		_, err := other.Navigate(c.ctx, "http://127.0.0.1:1/", nil)
		c.wantCode(err, executor.ErrNavigationFailed, "net::ERR_")
		_, err = pagetest.Of(other, "").Text(c.ctx, nil)
		c.wantCode(err, executor.ErrTabNotFound, "its page did not load", "net::ERR_")
		p, _, err := other.NewPage(c.ctx, &executor.NewPageOptions{URL: c.url("popup.html")})
		c.must(p, err)
		c.must(p.Close(c.ctx))
		if _, err = pagetest.Of(other, "").Text(c.ctx, nil); err == nil || strings.Contains(err.Error(), "did not load") {
			c.Errorf("after a page that loaded: %v", err)
		}
	})
}

// wantGone checks for the error of a tab that was closed.
func (c *testCase) wantGone(err error) {
	c.Helper()
	if code := executor.CodeOf(err); code != executor.ErrTabNotFound && code != executor.ErrTargetGone {
		c.Errorf("error %v, want %s or %s", err, executor.ErrTabNotFound, executor.ErrTargetGone)
	}
}

func (s *suite) popups(t *testing.T) {
	s.recorded(t, "requests from the first one", "second.html", func(c *testCase, _ *keeper) {
		address := c.heldURL("landing") + "?to=" + url.QueryEscape(c.url("inspect.html"))
		c.eval("document.body.innerHTML = '<h1>Opener</h1><button id=open>Open</button>'; document.querySelector('#open').onclick = () => window.open("+quote(address)+"); 0", nil)
		c.tab = c.opened("#open", nil).ID
		c.awaitRequest("landing")
		c.release("landing")
		c.met(executor.WaitCondition{Selector: "iframe"})
		for part, status := range sorted(map[string]int{"/held/": 302, "/inspect.html": 200, "reading-data.json?v=1": 200}) {
			if q := c.request(part); q.Status != status || q.Method != "" && q.Method != "GET" {
				c.Errorf("%s: %+v", part, q)
			}
		}
		c.console("loading now")
	})
	for _, by := range []string{"window", "blank", "noopener"} {
		s.page(t, by, "tabs.html", func(c *testCase) {
			a := c.click(css("#"+by), nil)
			c.await("open", by)
			if len(a.NewTabs) != 1 {
				c.Fatalf("new tabs: %+v, want one", a.NewTabs)
			}
			popup := a.NewTabs[0]
			if want := c.url("popup.html?by=" + by); popup.URL != want || popup.Active {
				c.Errorf("new tab %+v, want %s and not active", popup, want)
			}
			c.wantNotIn(a.Note, "blocked")
			if !c.listed(c.tab).Active || c.listed(popup.ID).Active {
				c.Error("the popup became the active tab")
			}
			if _, err := pagetest.Of(c.exec, popup.ID).Click(c.ctx, css("#inside"), nil); err != nil {
				c.Fatalf("clicking in the popup: %v", err)
			}
			if !c.await("click", "inside").Trusted {
				c.Error("the click in the popup was not trusted")
			}
			// The opener still works, although it is in the background.
			if _, err := c.page().Hover(c.ctx, css("#window"), nil); err != nil {
				c.Errorf("hovering in the opener: %v", err)
			}
			if _, err := pagetest.Of(c.exec, popup.ID).Close(c.ctx); err != nil {
				c.Errorf("closing the popup: %v", err)
			}
		})
	}
	s.page(t, "several window.open calls: opened tab listed, blocked ones counted", "tabs.html", func(c *testCase) {
		c.eval(`document.querySelector("#window").onclick = () => { for (const by of [1, 2, 3]) report("after", "window", { value: String(!!window.open("popup.html?by=" + by)) }); }; 0`, nil)
		a := c.click(css("#window"), nil)
		opened := 0
		for range 3 { // the reports may arrive in any order
			if c.await("after", "window").Value == "true" {
				opened++
			}
		}
		if opened != 1 {
			c.Fatalf("the browser opened %d windows, want 1", opened)
		}
		if len(a.NewTabs) != 1 || a.NewTabs[0].URL != c.url("popup.html?by=1") || a.NewTabs[0].Title != "Popup" {
			c.Errorf("new tabs %+v, want one with its title", a.NewTabs)
		}
		c.wantIn(a.Note, "2 popup windows of the page were blocked")
	})
	s.page(t, "sandboxed window.open does not delay the call", "navigation-popups.html", func(c *testCase) {
		button := byRef(c.ref("button", "Sandboxed"))
		a := c.click(button, nil)
		if len(a.NewTabs) != 0 {
			c.Errorf("the sandbox opened %+v", a.NewTabs)
		}
		if !c.h.UserAnswers { // in the user's Chrome, a tab that another case has just opened may be the page's
			c.wantIn(a.Note, "blocked")
		}
		if tier.LongEnabled() {
			c.quick(button, 700*time.Millisecond)
		}
	})
	s.page(t, "popup window closed by its opener", "tabs.html", func(c *testCase) {
		a := c.click(css("#window"), nil)
		if len(a.NewTabs) != 1 {
			c.Fatalf("new tabs: %+v, want one", a.NewTabs)
		}
		c.await("open", "window")
		c.click(css("#close"), nil)
		_, err := pagetest.Of(c.exec, a.NewTabs[0].ID).Text(c.ctx, nil)
		c.wantGone(err)
	})
}
