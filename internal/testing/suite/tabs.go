package suite

import (
	"encoding/json"
	"slices"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// Listed returns the entry of tab in the list, or fails the case.
func (c *Case) Listed(tab executor.TabID) executor.Tab {
	c.Helper()
	t, ok := c.Find(tab)
	if !ok {
		c.Fatalf("tab %s is not in the list", tab)
	}
	return t
}

// Find returns the entry of tab in the list, and whether there is one.
func (c *Case) Find(tab executor.TabID) (executor.Tab, bool) {
	c.Helper()
	tabs := c.Tabs()
	i := slices.IndexFunc(tabs, func(t executor.Tab) bool { return t.ID == tab })
	if i < 0 {
		return executor.Tab{}, false
	}
	return tabs[i], true
}

// Tabs lists the tabs.
func (c *Case) Tabs() []executor.Tab {
	c.Helper()
	tabs, err := c.Exec.Tabs(c.Ctx)
	if err != nil {
		c.Fatalf("list tabs: %v", err)
	}
	return tabs
}

// Opened clicks target, and returns the one tab that this opened, which must not be active.
func (c *Case) Opened(selector string, opts *executor.ClickOptions) executor.Tab {
	c.Helper()
	tabs := c.Click(Selector(selector), opts).NewTabs
	for len(tabs) == 0 && c.Ctx.Err() == nil { // a busy browser may report it late
		tabs = c.Click(Selector("h1"), nil).NewTabs
	}
	if len(tabs) != 1 {
		c.Fatalf("clicking %s opened %+v, want one tab", selector, tabs)
	}
	if tabs[0].Active || !c.Listed(c.Tab).Active {
		c.Errorf("the tab that %s opened became active", selector)
	}
	return tabs[0]
}

// Fetch downloads and fails the case if that fails.
func (c *Case) Fetch(opts executor.DownloadOptions) *executor.DownloadedFiles {
	c.Helper()
	d, err := c.Page().Download(c.Ctx, &opts)
	if err != nil {
		c.Fatalf("download %+v: %v", opts, err)
	}
	c.WantSaved(d)
	return d
}

// Quote returns s as a JavaScript string.
func Quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings always marshal
	}
	return string(b)
}
