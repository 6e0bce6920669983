package executortest

import (
	"slices"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

// opened clicks target, and returns the one tab that this opened, which must not be active.
func (c *testCase) opened(selector string, opts *executor.ClickOptions) executor.Tab {
	c.Helper()
	tabs := c.click(css(selector), opts).NewTabs
	for len(tabs) == 0 && c.ctx.Err() == nil { // a busy browser may report it late
		tabs = c.click(css("h1"), nil).NewTabs
	}
	if len(tabs) != 1 {
		c.Fatalf("clicking %s opened %+v, want one tab", selector, tabs)
	}
	if tabs[0].Active || !c.listed(c.tab).Active {
		c.Errorf("the tab that %s opened became active", selector)
	}
	return tabs[0]
}

// hasFocus checks that the page of the case has focus and is visible.
func (c *testCase) hasFocus() {
	c.Helper()
	c.wantValue("document.hasFocus() + ' ' + document.visibilityState", "true visible")
}

func (s *suite) navigationPopups(t *testing.T) {
	s.page(t, "delayed popup: reported once", "navigation-popups.html", func(c *testCase) {
		tabs := c.click(css("#later"), nil).NewTabs
		c.await("open", "later")
		for len(tabs) == 0 && c.ctx.Err() == nil {
			tabs = append(tabs, c.click(css("h1"), nil).NewTabs...)
		}
		if len(tabs) != 1 || tabs[0].URL != c.url("popup.html?by=later") {
			c.Errorf("opened %+v", tabs)
		}
		if again := c.click(css("h1"), nil).NewTabs; len(again) != 0 {
			c.Errorf("reported again: %+v", again)
		}
	})
	s.page(t, "popup that opened before the action", "navigation-popups.html", func(c *testCase) {
		want := 2
		for ; len(c.click(css("#much-later"), nil).NewTabs) > 0; want++ { // the window opened during the click
			c.await("open", "much-later")
		}
		c.await("open", "much-later")
		for len(c.tabs()) < want { // the window exists before it is listed
		}
		tabs := c.click(css("h1"), nil).NewTabs
		if len(tabs) != 1 || tabs[0].Note != "opened before this action" {
			c.Errorf("the click reported %+v", tabs)
		}
	})
	s.page(t, "opened blank, then navigated", "navigation-popups.html", func(c *testCase) {
		tab := c.opened("#moved", nil)
		c.await("open", "moved")
		c.must(pagetest.Of(c.exec, tab.ID).Click(c.ctx, css("#inside"), nil))
		c.await("click", "inside")
		if got := c.listed(tab.ID); got.URL != c.url("popup.html?by=moved") || got.Title != "Popup" {
			c.Errorf("listed %+v", got)
		}
	})
	s.page(t, "opened and closed immediately", "navigation-popups.html", func(c *testCase) {
		a := c.click(css("#gone"), nil)
		c.await("after", "gone")
		for _, tab := range a.NewTabs {
			_, err := pagetest.Of(c.exec, tab.ID).Text(c.ctx, nil)
			c.wantGone(err)
		}
		c.hasFocus()
	})
	s.page(t, "popup window opens a popup window", "navigation-popups.html", func(c *testCase) {
		first := c.opened("#chain", nil)
		a, err := pagetest.Of(c.exec, first.ID).Click(c.ctx, css("#small"), nil)
		if err != nil {
			c.Fatal(err)
		}
		if len(a.NewTabs) != 1 || a.NewTabs[0].URL != c.url("popup.html?by=small") {
			c.Fatalf("the click in the popup opened %+v", a.NewTabs)
		}
		if again := c.click(css("h1"), nil).NewTabs; len(again) != 0 {
			c.Errorf("the first page reports the nested popup window: %+v", again)
		}
		if _, err := pagetest.Of(c.exec, a.NewTabs[0].ID).Click(c.ctx, css("#inside"), nil); err != nil {
			c.Error(err)
		}
		c.await("click", "inside")
	})
	s.page(t, "named window is reused: no new tab", "navigation-popups.html", func(c *testCase) {
		tab := c.opened("#named", nil)
		c.await("open", "named1")
		a := c.click(css("#named"), nil)
		c.await("open", "named2")
		if len(a.NewTabs) != 0 {
			c.Errorf("opened %+v", a.NewTabs)
		}
		if got := c.listed(tab.ID); got.URL != c.url("popup.html?by=named2") {
			c.Errorf("listed %+v", got)
		}
	})
	for id, title := range sorted(map[string]string{"written": "Written", "blob": "Blob", "script": "Script"}) {
		s.page(t, "popup window without URL: "+id, "navigation-popups.html", func(c *testCase) {
			tab := c.opened("#"+id, nil)
			c.metIn(tab.ID, executor.WaitCondition{Expression: "document.title === " + quote(title)})
			snap, err := pagetest.Of(c.exec, tab.ID).Snapshot(c.ctx, nil)
			if err != nil {
				c.Fatal(err)
			}
			c.wantIn(snap.Text, title)
			if id == "written" {
				if _, err := pagetest.Of(c.exec, tab.ID).Click(c.ctx, css("button"), nil); err != nil {
					c.Error(err)
				}
			}
		})
	}
	s.page(t, "form submitted to a new tab", "navigation-popups.html", func(c *testCase) {
		tab := c.opened("#form", nil)
		c.metIn(tab.ID, executor.WaitCondition{Text: `asked by POST with "from a form"`})
	})
	for name, opts := range sorted(map[string]*executor.ClickOptions{
		"middle click":  {Button: executor.ButtonMiddle},
		"Control+click": {Modifiers: []executor.Modifier{executor.ModControl}},
	}) {
		s.page(t, name+" opens a link in the background", "navigation-popups.html", func(c *testCase) {
			tab := c.opened("#link", opts)
			c.await("open", "link")
			if got := c.listed(tab.ID); got.URL != c.url("popup.html?by=link") {
				c.Errorf("listed %+v", got)
			}
			c.wantValue("document.title", "Travel popups")
			c.hasFocus()
			if _, err := pagetest.Of(c.exec, tab.ID).Click(c.ctx, css("#inside"), nil); err != nil {
				c.Error(err)
			}
			c.await("click", "inside")
		})
	}
	s.page(t, "slow new tab does not delay the click", "navigation-popups.html", func(c *testCase) {
		tab := c.opened("#slow", nil)
		c.awaitRequest("slow")
		c.release("slow")
		c.metIn(tab.ID, executor.WaitCondition{Text: "held slow"})
	})
	s.page(t, "page behind a popup window behaves like a foreground page", "navigation-popups.html", func(c *testCase) {
		c.opened("#chain", nil)
		c.hasFocus()
		c.wantValue("await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done('drawn'))))", "drawn")
		tab := c.opened("#small", nil)
		tabs := c.tabs()
		if !slices.ContainsFunc(tabs, func(l executor.Tab) bool { return l.ID == tab.ID && strings.Contains(l.URL, "by=small") }) {
			c.Errorf("the small window is not listed: %+v", tabs)
		}
	})
}
