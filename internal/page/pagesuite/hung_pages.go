package pagesuite

import (
	"context"
	"errors"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

// spins starts an endless loop in the page of the case, navigation-spin.html.
func spins(c *suite.Case) {
	c.Helper()
	c.Eval("setTimeout(spin); 0", nil)
	c.Await("begin", "spin")
}

// wantEnded checks that a call on a hung page ended at its deadline.
func wantEnded(c *suite.Case, what string, err error) {
	c.Helper()
	if err == nil || executor.CodeOf(err) != executor.ErrTimeout {
		c.Errorf("%s: error %v, want %s", what, err, executor.ErrTimeout)
	}
}

func hungPages(s *suite.Runner, t *testing.T) {
	ways := map[string]string{
		"a loop in a timer": "setTimeout(spin); 0",
		"microtasks":        "setTimeout(() => { report('begin', 'spin'); const f = () => Promise.resolve().then(f); f(); }); 0",
	}
	for way, expression := range suite.Sorted(ways) {
		s.Page(t, "hung page can be navigated, other tabs work: "+way, "navigation-spin.html", func(c *suite.Case) {
			other := c.Session(executor.SessionOptions{Gate: executor.AllowAll})
			_, tab, err := other.NewPage(c.Ctx, &executor.NewPageOptions{URL: c.URL("popup.html")})
			if err != nil {
				c.Fatal(err)
			}
			c.Eval(expression, nil)
			c.Await("begin", "spin")
			if _, err := pagetest.Of(other, tab.ID).Click(c.Ctx, suite.Selector("#inside"), nil); err != nil {
				c.Errorf("a click in another tab: %v", err)
			}
			c.Await("click", "inside")
			c.WantAt(c.GoTo(c.URL("second.html"), nil), c.URL("second.html"), "Second", 200)
		})
	}
	for _, in := range []string{"load", "parse"} {
		s.Page(t, "page that hangs during load can be navigated: "+in, "second.html", func(c *suite.Case) {
			c.Eval("setTimeout(() => location.assign('navigation-spin.html?in="+in+"')); 0", nil)
			c.Await("begin", "spin")
			c.WantAt(c.GoTo(c.URL("popup.html"), nil), c.URL("popup.html"), "Popup", 200)
		})
	}
	s.Page(t, "page that hangs in unload handlers can be navigated", "navigation-spin.html?in=unload", func(c *suite.Case) {
		c.WantAt(c.GoTo(c.URL("second.html"), nil), c.URL("second.html"), "Second", 200)
	})
	s.Page(t, "hung page can be closed", "navigation-spin.html", func(c *suite.Case) {
		spins(c)
		if _, err := c.Page().Close(c.Ctx); err != nil {
			c.Error(err)
		}
		if _, ok := c.Find(c.Tab); ok {
			c.Error("the tab is still listed")
		}
	})
	s.Page(t, "calls on a hung page end at their deadline", "navigation-spin.html", func(c *suite.Case) {
		ref := c.Ref("button", "Button")
		spins(c)
		field, box := executor.Field{Target: suite.Selector("#field"), Value: "x"}, suite.Selector("#field")
		calls := map[string]func(context.Context) error{
			"snapshot":   func(ctx context.Context) error { return suite.ErrOf(c.Page().Snapshot(ctx, nil)) },
			"text":       func(ctx context.Context) error { return suite.ErrOf(c.Page().Text(ctx, nil)) },
			"html":       func(ctx context.Context) error { return suite.ErrOf(c.Page().HTML(ctx, nil)) },
			"markdown":   func(ctx context.Context) error { return suite.ErrOf(c.Page().Markdown(ctx, nil)) },
			"links":      func(ctx context.Context) error { return suite.ErrOf(c.Page().Links(ctx, nil)) },
			"screenshot": func(ctx context.Context) error { return suite.ErrOf(c.Page().Screenshot(ctx, nil)) },
			"eval":       func(ctx context.Context) error { return suite.ErrOf(c.Page().Eval(ctx, "1", nil)) },
			"cdp":        func(ctx context.Context) error { return suite.ErrOf(c.Page().CDP(ctx, "DOM.getDocument", nil)) },
			"click":      func(ctx context.Context) error { return suite.ErrOf(c.Page().Click(ctx, suite.ByRef(ref), nil)) },
			"type":       func(ctx context.Context) error { return suite.ErrOf(c.Page().Type(ctx, box, "x", nil)) },
			"press":      func(ctx context.Context) error { return suite.ErrOf(c.Page().Press(ctx, "a", nil)) },
			"hover":      func(ctx context.Context) error { return suite.ErrOf(c.Page().Hover(ctx, suite.ByRef(ref), nil)) },
			"scroll": func(ctx context.Context) error {
				return suite.ErrOf(c.Page().Scroll(ctx, &executor.ScrollOptions{DeltaY: 100}))
			},
			"select_option": func(ctx context.Context) error {
				return suite.ErrOf(c.Page().SelectOption(ctx, suite.Selector("#select"), []string{"two"}, nil))
			},
			"fill_form": func(ctx context.Context) error {
				return suite.ErrOf(c.Page().FillForm(ctx, []executor.Field{field}, nil))
			},
			"wait_for": func(ctx context.Context) error {
				return suite.ErrOf(c.Page().WaitFor(ctx, &executor.WaitCondition{Text: "never"}))
			},
			"download_file": func(ctx context.Context) error {
				return suite.ErrOf(c.Page().Download(ctx, &executor.DownloadOptions{Target: suite.Selector("#button")}))
			},
		}
		for name, call := range suite.Sorted(calls) {
			wantEnded(c, name, call(await.Expiring(c)))
		}
		if got := c.Listed(c.Tab); got.URL != c.URL("navigation-spin.html") {
			c.Errorf("listed %+v", got)
		}
	})
	s.Page(t, "click that hangs the page ends at the deadline or on cancel", "navigation-stuck.html", func(c *suite.Case) {
		ctx, cancel := context.WithCancel(c.Ctx)
		done := make(chan error, 1)
		go func() { done <- suite.ErrOf(c.Page().Click(ctx, suite.Selector("#loop"), nil)) }()
		c.Await("begin", "loop")
		cancel()
		err := <-done
		if !errors.Is(err, context.Canceled) {
			c.Errorf("error %v, want one that is context.Canceled", err)
		}
		c.WantUncertain(err, executor.ErrTimeout)
		_, err = c.Page().Reload(await.Expiring(c), nil)
		wantEnded(c, "reload", err)
	})
	s.Page(t, "endless expression ends at the deadline", "navigation-stuck.html", func(c *suite.Case) {
		suite.LoopsForever(c)
		c.WantValue("document.title", "Travel stuck")
	})
	s.Page(t, "crash ends pending calls, page can be reloaded", "tabs.html", func(c *suite.Case) {
		popup := c.Click(suite.Selector("#window"), nil).NewTabs // it shares the renderer process
		if len(popup) != 1 {
			c.Fatalf("new tabs: %+v, want one", popup)
		}
		c.Await("open", "window")
		done := make(chan error, 1)
		go func() {
			done <- suite.ErrOf(c.Page().WaitFor(c.Ctx, &executor.WaitCondition{Expression: `(window.asked ??= (report("asked", "crash"), 1)) && false`, Timeout: suite.NeverTimeout}))
		}()
		c.Await("asked", "crash")
		_, err := pagetest.Of(c.Exec, popup[0].ID).CDP(c.Ctx, "Page.crash", nil)
		c.WantCode(err, executor.ErrTargetGone)
		c.WantCode(<-done, executor.ErrTargetGone, "crash")
		nav := c.Reload()
		c.WantAt(nav, c.URL("tabs.html"), "Tabs", 200)
		c.WantValue("document.title", "Tabs")
	})
	s.Page(t, "page of 5,000 rows is readable and clickable", "navigation-huge.html", func(c *suite.Case) {
		c.Click(suite.Selector("#wide"), nil)
		c.Await("done", "wide")
		if text := c.Snap(nil); len([]rune(text)) > executor.DefaultMaxChars {
			c.Errorf("a snapshot of %d characters", len([]rune(text)))
		}
		c.Click(suite.ByRef(c.RefIn(c.Snap(&executor.SnapshotOptions{Find: "Last"}), "button", "Last")), nil)
		c.Await("click", "last")
	})
	s.Page(t, "page nested 1,500 levels is readable and clickable", "navigation-huge.html", func(c *suite.Case) {
		c.Click(suite.Selector("#deep"), nil)
		c.Await("done", "deep")
		c.Click(suite.ByRef(c.Ref("button", "Bottom")), nil)
		c.Await("click", "bottom")
		text, err := c.Page().Text(c.Ctx, nil)
		if err != nil {
			c.Fatal(err)
		}
		c.WantIn(text.Content, "Bottom")
	})
	s.Page(t, "page that uses 200 MB works", "navigation-huge.html", func(c *suite.Case) {
		c.Click(suite.Selector("#fat"), nil)
		if got := c.Await("done", "fat"); got.Value != "true" {
			c.Errorf("a gigabyte of text was accepted: %+v", got)
		}
		c.WantIn(c.Snap(nil), "Fat")
		c.Eval("delete window.kept", nil)
	})
}
