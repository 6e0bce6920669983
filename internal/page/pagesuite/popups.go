package pagesuite

import (
	"slices"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

// hasFocus checks that the page of the case has focus and is visible.
func hasFocus(c *suite.Case) {
	c.Helper()
	c.WantValue("document.hasFocus() + ' ' + document.visibilityState", "true visible")
}

func navigationPopups(s *suite.Runner, t *testing.T) {
	s.Page(t, "delayed popup: reported once", "navigation-popups.html", func(c *suite.Case) {
		tabs := c.Click(suite.Selector("#later"), nil).NewTabs
		c.Await("open", "later")
		for len(tabs) == 0 && c.Ctx.Err() == nil {
			tabs = append(tabs, c.Click(suite.Selector("h1"), nil).NewTabs...)
		}
		if len(tabs) != 1 || tabs[0].URL != c.URL("popup.html?by=later") {
			c.Errorf("opened %+v", tabs)
		}
		if again := c.Click(suite.Selector("h1"), nil).NewTabs; len(again) != 0 {
			c.Errorf("reported again: %+v", again)
		}
	})
	s.Page(t, "popup that opened before the action", "navigation-popups.html", func(c *suite.Case) {
		want := 2
		for ; len(c.Click(suite.Selector("#much-later"), nil).NewTabs) > 0; want++ { // the window opened during the click
			c.Await("open", "much-later")
		}
		c.Await("open", "much-later")
		for len(c.Tabs()) < want { // the window exists before it is listed
		}
		tabs := c.Click(suite.Selector("h1"), nil).NewTabs
		if len(tabs) != 1 || tabs[0].Note != "opened before this action" {
			c.Errorf("the click reported %+v", tabs)
		}
	})
	s.Page(t, "opened blank, then navigated", "navigation-popups.html", func(c *suite.Case) {
		tab := c.Opened("#moved", nil)
		c.Await("open", "moved")
		c.Must(pagetest.Of(c.Exec, tab.ID).Click(c.Ctx, suite.Selector("#inside"), nil))
		c.Await("click", "inside")
		if got := c.Listed(tab.ID); got.URL != c.URL("popup.html?by=moved") || got.Title != "Popup" {
			c.Errorf("listed %+v", got)
		}
	})
	s.Page(t, "opened and closed immediately", "navigation-popups.html", func(c *suite.Case) {
		a := c.Click(suite.Selector("#gone"), nil)
		c.Await("after", "gone")
		for _, tab := range a.NewTabs {
			_, err := pagetest.Of(c.Exec, tab.ID).Text(c.Ctx, nil)
			c.WantGone(err)
		}
		hasFocus(c)
	})
	s.Page(t, "popup window opens a popup window", "navigation-popups.html", func(c *suite.Case) {
		first := c.Opened("#chain", nil)
		a, err := pagetest.Of(c.Exec, first.ID).Click(c.Ctx, suite.Selector("#small"), nil)
		if err != nil {
			c.Fatal(err)
		}
		if len(a.NewTabs) != 1 || a.NewTabs[0].URL != c.URL("popup.html?by=small") {
			c.Fatalf("the click in the popup opened %+v", a.NewTabs)
		}
		if again := c.Click(suite.Selector("h1"), nil).NewTabs; len(again) != 0 {
			c.Errorf("the first page reports the nested popup window: %+v", again)
		}
		if _, err := pagetest.Of(c.Exec, a.NewTabs[0].ID).Click(c.Ctx, suite.Selector("#inside"), nil); err != nil {
			c.Error(err)
		}
		c.Await("click", "inside")
	})
	s.Page(t, "named window is reused: no new tab", "navigation-popups.html", func(c *suite.Case) {
		tab := c.Opened("#named", nil)
		c.Await("open", "named1")
		a := c.Click(suite.Selector("#named"), nil)
		c.Await("open", "named2")
		if len(a.NewTabs) != 0 {
			c.Errorf("opened %+v", a.NewTabs)
		}
		if got := c.Listed(tab.ID); got.URL != c.URL("popup.html?by=named2") {
			c.Errorf("listed %+v", got)
		}
	})
	for id, title := range suite.Sorted(map[string]string{"written": "Written", "blob": "Blob", "script": "Script"}) {
		s.Page(t, "popup window without URL: "+id, "navigation-popups.html", func(c *suite.Case) {
			tab := c.Opened("#"+id, nil)
			c.MetIn(tab.ID, executor.WaitCondition{Expression: "document.title === " + suite.Quote(title)})
			snap, err := pagetest.Of(c.Exec, tab.ID).Snapshot(c.Ctx, nil)
			if err != nil {
				c.Fatal(err)
			}
			c.WantIn(snap.Text, title)
			if id == "written" {
				if _, err := pagetest.Of(c.Exec, tab.ID).Click(c.Ctx, suite.Selector("button"), nil); err != nil {
					c.Error(err)
				}
			}
		})
	}
	s.Page(t, "form submitted to a new tab", "navigation-popups.html", func(c *suite.Case) {
		tab := c.Opened("#form", nil)
		c.MetIn(tab.ID, executor.WaitCondition{Text: `asked by POST with "from a form"`})
	})
	for name, opts := range suite.Sorted(map[string]*executor.ClickOptions{
		"middle click":  {Button: executor.ButtonMiddle},
		"Control+click": {Modifiers: []executor.Modifier{executor.ModControl}},
	}) {
		s.Page(t, name+" opens a link in the background", "navigation-popups.html", func(c *suite.Case) {
			tab := c.Opened("#link", opts)
			c.Await("open", "link")
			if got := c.Listed(tab.ID); got.URL != c.URL("popup.html?by=link") {
				c.Errorf("listed %+v", got)
			}
			c.WantValue("document.title", "Travel popups")
			hasFocus(c)
			if _, err := pagetest.Of(c.Exec, tab.ID).Click(c.Ctx, suite.Selector("#inside"), nil); err != nil {
				c.Error(err)
			}
			c.Await("click", "inside")
		})
	}
	s.Page(t, "slow new tab does not delay the click", "navigation-popups.html", func(c *suite.Case) {
		tab := c.Opened("#slow", nil)
		c.AwaitRequest("slow")
		c.Release("slow")
		c.MetIn(tab.ID, executor.WaitCondition{Text: "held slow"})
	})
	s.Page(t, "page behind a popup window behaves like a foreground page", "navigation-popups.html", func(c *suite.Case) {
		c.Opened("#chain", nil)
		hasFocus(c)
		c.WantValue("await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done('drawn'))))", "drawn")
		tab := c.Opened("#small", nil)
		tabs := c.Tabs()
		if !slices.ContainsFunc(tabs, func(l executor.Tab) bool { return l.ID == tab.ID && strings.Contains(l.URL, "by=small") }) {
			c.Errorf("the small window is not listed: %+v", tabs)
		}
	})
}
