package executortest

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// stale returns an id in the form of tab, but of another browser instance.
func stale(tab executor.TabID) executor.TabID {
	backend, _, raw, err := tab.Split()
	if err != nil {
		panic(err)
	}
	return executor.NewTabID(backend, "bygone", raw)
}

func tabs(s *suite.Runner, t *testing.T) {
	s.Page(t, "list", "tabs.html", func(c *suite.Case) {
		second := c.Open("popup.html")
		a, b := c.Listed(c.Tab), c.Listed(second)
		if a.URL != c.URL("tabs.html") || a.Title != "Tabs" || b.URL != c.URL("popup.html") || b.Title != "Popup" {
			c.Errorf("listed %+v and %+v", a, b)
		}
		if a.Active || !b.Active {
			c.Errorf("the tab opened last is not the only active one: %+v, %+v", a, b)
		}
		if a.Index >= b.Index {
			c.Errorf("tabs are not in the order they were opened: %d, %d", a.Index, b.Index)
		}
	})
	s.Shared().Page(t, "select", "tabs.html", func(c *suite.Case) {
		second := c.Open("popup.html")
		sel, err := c.Exec.SelectTab(c.Ctx, c.Tab)
		if err != nil {
			c.Fatal(err)
		}
		if sel.ID != c.Tab || !sel.Active || sel.Title != "Tabs" {
			c.Errorf("selected %+v", sel)
		}
		if c.Listed(second).Active || !c.Listed(c.Tab).Active {
			c.Error("the list does not show the selection")
		}
		text, err := pagetest.Of(c.Exec, "").Text(c.Ctx, nil)
		if err != nil {
			c.Fatal(err)
		}
		c.WantIn(text.Content, "Open window") // an empty id means the active tab
	})
	s.Shared().Page(t, "inactive", "tabs.html", func(c *suite.Case) {
		_, tab, err := c.Exec.NewPage(c.Ctx, &executor.NewPageOptions{URL: c.URL("popup.html"), Inactive: true})
		if err != nil {
			c.Fatal(err)
		}
		c.Await("open", "")
		if tab.Active || c.Listed(tab.ID).Active || !c.Listed(c.Tab).Active {
			c.Error("a tab opened inactive became active")
		}
		if _, err := pagetest.Of(c.Exec, tab.ID).Click(c.Ctx, suite.Selector("#inside"), nil); err != nil {
			c.Fatalf("clicking in the inactive tab: %v", err)
		}
		if !c.Await("click", "inside").Trusted {
			c.Error("the click in the inactive tab was not trusted")
		}
	})
	s.Shared().PageWith(t, "empty", "", executor.SessionOptions{Gate: executor.AllowAll}, func(c *suite.Case) {
		tab := c.OpenURL("")
		if tab.URL != "about:blank" || !tab.Active {
			c.Errorf("opened %+v", tab)
		}
		nav, err := c.Exec.Navigate(c.Ctx, c.URL("popup.html"), nil)
		if err != nil {
			c.Fatal(err)
		}
		if nav.TabID != tab.ID {
			c.Errorf("navigated tab %s, want the active one, %s", nav.TabID, tab.ID)
		}
	})
	s.Page(t, "close", "tabs.html", func(c *suite.Case) {
		second := c.Open("tabs.html")
		closed, err := pagetest.Of(c.Exec, second).Close(c.Ctx)
		if err != nil {
			c.Fatal(err)
		}
		if *closed != (executor.ClosedTab{Tab: second, Closed: true}) {
			c.Errorf("closing our tab returned %+v", *closed)
		}
		c.Await("pagehide", "page")
		if _, ok := c.Find(second); ok {
			c.Error("the closed tab is still listed")
		}
		_, err = pagetest.Of(c.Exec, second).Text(c.Ctx, nil)
		c.WantGone(err)
		_, err = pagetest.Of(c.Exec, second).Close(c.Ctx)
		c.WantGone(err)
	})
	s.Page(t, "close during a call", "tabs.html", func(c *suite.Case) {
		done := make(chan error, 1)
		go func() { done <- suite.ErrOf(c.Page().Navigate(c.Ctx, c.HeldURL("page"), nil)) }()
		c.AwaitRequest("page")
		if _, err := c.Page().Close(c.Ctx); err != nil {
			c.Errorf("closing the tab that loads: %v", err)
		}
		c.WantCode(<-done, executor.ErrTargetGone)
	})
	s.Page(t, "page closes itself", "tabs.html", func(c *suite.Case) {
		a := c.Click(suite.Selector("#window"), nil)
		if len(a.NewTabs) != 1 {
			c.Fatalf("new tabs: %+v, want one", a.NewTabs)
		}
		popup := a.NewTabs[0].ID
		c.Await("open", "window")
		// The tab may close before or after the call that closes it returns.
		if _, err := pagetest.Of(c.Exec, popup).Click(c.Ctx, suite.Selector("#suicide"), nil); err != nil {
			c.WantCode(err, executor.ErrTargetGone)
		}
		c.Await("click", "suicide")
		_, err := pagetest.Of(c.Exec, popup).Text(c.Ctx, nil)
		c.WantGone(err)
	})
	s.Page(t, "crash", "tabs.html", func(c *suite.Case) {
		_, err := c.Page().CDP(c.Ctx, "Page.crash", nil)
		c.WantCode(err, executor.ErrTargetGone)
		_, err = c.Page().Text(c.Ctx, nil)
		c.WantCode(err, executor.ErrTargetGone, "crash")
		if _, err := c.Page().Close(c.Ctx); err != nil {
			c.Errorf("closing the crashed tab: %v", err)
		}
		c.Tab = c.Open("popup.html") // the browser still works
		c.WantValue("document.title", "Popup")
	})
	s.Shared().Page(t, "unknown", "tabs.html", func(c *suite.Case) {
		backend, session, _, err := c.Tab.Split()
		if err != nil {
			c.Fatal(err)
		}
		unknown := executor.NewTabID(backend, session, "nosuch")
		_, err = c.Exec.SelectTab(c.Ctx, unknown)
		c.WantCode(err, executor.ErrTabNotFound)
		_, err = pagetest.Of(c.Exec, unknown).Snapshot(c.Ctx, nil)
		c.WantCode(err, executor.ErrTabNotFound)
		_, err = pagetest.Of(c.Exec, unknown).Close(c.Ctx)
		c.WantCode(err, executor.ErrTabNotFound)
	})
	s.Shared().Page(t, "stale", "tabs.html", func(c *suite.Case) {
		_, err := pagetest.Of(c.Exec, stale(c.Tab)).Click(c.Ctx, suite.Selector("#window"), nil)
		c.WantCode(err, executor.ErrStaleTab)
		_, err = c.Exec.SelectTab(c.Ctx, stale(c.Tab))
		c.WantCode(err, executor.ErrStaleTab)
		c.WantUntouched("window")
	})
	s.Shared().Page(t, "malformed", "tabs.html", func(c *suite.Case) {
		for _, id := range []executor.TabID{"7", "cdp:", "tab:1:2", "cdp::x"} {
			_, err := c.Exec.Page(c.Ctx, id)
			c.WantCode(err, executor.ErrBadArgs, string(id))
		}
	})
	s.Shared().Page(t, "invalid URL", "tabs.html", func(c *suite.Case) {
		_, _, err := c.Exec.NewPage(c.Ctx, &executor.NewPageOptions{URL: "http://127.0.0.1:1/"})
		c.WantCode(err, executor.ErrNavigationFailed, "net::ERR_")
		if !c.Listed(c.Tab).Active {
			c.Error("a tab that did not open became active")
		}
	})
	s.Shared().Page(t, "next call reports that the first page did not load", "tabs.html", func(c *suite.Case) {
		other := c.Session(executor.SessionOptions{Gate: executor.AllowAll})
		_, err := other.Navigate(c.Ctx, "http://127.0.0.1:1/", nil)
		c.WantCode(err, executor.ErrNavigationFailed, "net::ERR_")
		_, err = pagetest.Of(other, "").Text(c.Ctx, nil)
		c.WantCode(err, executor.ErrTabNotFound, "its page did not load", "net::ERR_")
		p, _, err := other.NewPage(c.Ctx, &executor.NewPageOptions{URL: c.URL("popup.html")})
		c.Must(p, err)
		c.Must(p.Close(c.Ctx))
		if _, err = pagetest.Of(other, "").Text(c.Ctx, nil); err == nil || strings.Contains(err.Error(), "did not load") {
			c.Errorf("after a page that loaded: %v", err)
		}
	})
}

func popups(s *suite.Runner, t *testing.T) {
	recorded(s, t, "requests from the first one", "second.html", func(c *suite.Case, _ *suite.Keeper) {
		address := c.HeldURL("landing") + "?to=" + url.QueryEscape(c.URL("inspect.html"))
		c.Eval("document.body.innerHTML = '<h1>Opener</h1><button id=open>Open</button>'; document.querySelector('#open').onclick = () => window.open("+suite.Quote(address)+"); 0", nil)
		c.Tab = c.Opened("#open", nil).ID
		c.AwaitRequest("landing")
		c.Release("landing")
		c.Met(executor.WaitCondition{Visible: suite.Selector("iframe")})
		for part, status := range suite.Sorted(map[string]int{"/held/": 302, "/inspect.html": 200, "reading-data.json?v=1": 200}) {
			if q := request(c, part); q.Status != status || q.Method != "" && q.Method != "GET" {
				c.Errorf("%s: %+v", part, q)
			}
		}
		console(c, "loading now")
	})
	for by, s := range suite.Sorted(map[string]*suite.Runner{"window": s.Shared(), "blank": s.Shared(), "noopener": s}) {
		s.Page(t, by, "tabs.html", func(c *suite.Case) {
			a := c.Click(suite.Selector("#"+by), nil)
			c.Await("open", by)
			if len(a.NewTabs) != 1 {
				c.Fatalf("new tabs: %+v, want one", a.NewTabs)
			}
			popup := a.NewTabs[0]
			if want := c.URL("popup.html?by=" + by); popup.URL != want || popup.Active {
				c.Errorf("new tab %+v, want %s and not active", popup, want)
			}
			c.WantNotIn(a.Note, "blocked")
			if !c.Listed(c.Tab).Active || c.Listed(popup.ID).Active {
				c.Error("the popup became the active tab")
			}
			if _, err := pagetest.Of(c.Exec, popup.ID).Click(c.Ctx, suite.Selector("#inside"), nil); err != nil {
				c.Fatalf("clicking in the popup: %v", err)
			}
			if !c.Await("click", "inside").Trusted {
				c.Error("the click in the popup was not trusted")
			}
			// The opener still works, although it is in the background.
			if _, err := c.Page().Hover(c.Ctx, suite.Selector("#window"), nil); err != nil {
				c.Errorf("hovering in the opener: %v", err)
			}
			if _, err := pagetest.Of(c.Exec, popup.ID).Close(c.Ctx); err != nil {
				c.Errorf("closing the popup: %v", err)
			}
		})
	}
	s.Page(t, "several window.open calls: opened tab listed, blocked ones counted", "tabs.html", func(c *suite.Case) {
		c.Eval(`document.querySelector("#window").onclick = () => { for (const by of [1, 2, 3]) report("after", "window", { value: String(!!window.open("popup.html?by=" + by)) }); }; 0`, nil)
		a := c.Click(suite.Selector("#window"), nil)
		opened := 0
		for range 3 { // the reports may arrive in any order
			if c.Await("after", "window").Value == "true" {
				opened++
			}
		}
		if opened != 1 {
			c.Fatalf("the browser opened %d windows, want 1", opened)
		}
		if len(a.NewTabs) != 1 || a.NewTabs[0].URL != c.URL("popup.html?by=1") || a.NewTabs[0].Title != "Popup" {
			c.Errorf("new tabs %+v, want one with its title", a.NewTabs)
		}
		c.WantIn(a.Note, "2 popup windows of the page were blocked")
	})
	s.Shared().Page(t, "sandboxed window.open does not delay the call", "navigation-popups.html", func(c *suite.Case) {
		button := suite.ByRef(c.Ref("button", "Sandboxed"))
		a := c.Click(button, nil)
		if len(a.NewTabs) != 0 {
			c.Errorf("the sandbox opened %+v", a.NewTabs)
		}
		if !c.H.UserAnswers { // in the user's Chrome, a tab that another case has just opened may be the page's
			c.WantIn(a.Note, "blocked")
		}
		if tier.DeepEnabled() {
			suite.Quick(c, button, 700*time.Millisecond)
		}
	})
	s.Shared().Page(t, "popup window closed by its opener", "tabs.html", func(c *suite.Case) {
		a := c.Click(suite.Selector("#window"), nil)
		if len(a.NewTabs) != 1 {
			c.Fatalf("new tabs: %+v, want one", a.NewTabs)
		}
		c.Await("open", "window")
		c.Click(suite.Selector("#close"), nil)
		_, err := pagetest.Of(c.Exec, a.NewTabs[0].ID).Text(c.Ctx, nil)
		c.WantGone(err)
	})
}
