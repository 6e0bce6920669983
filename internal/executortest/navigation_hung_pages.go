package executortest

import (
	"context"
	"errors"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

// spins starts an endless loop in the page of the case, navigation-spin.html.
func (c *testCase) spins() {
	c.Helper()
	c.eval("setTimeout(spin); 0", nil)
	c.await("begin", "spin")
}

// wantEnded checks that a call on a hung page ended at its deadline.
func (c *testCase) wantEnded(what string, err error) {
	c.Helper()
	if err == nil || executor.CodeOf(err) != executor.ErrTimeout {
		c.Errorf("%s: error %v, want %s", what, err, executor.ErrTimeout)
	}
}

func (s *suite) hungPages(t *testing.T) {
	ways := map[string]string{
		"a loop in a timer": "setTimeout(spin); 0",
		"microtasks":        "setTimeout(() => { report('begin', 'spin'); const f = () => Promise.resolve().then(f); f(); }); 0",
	}
	for way, expression := range sorted(ways) {
		s.page(t, "hung page can be navigated, other tabs work: "+way, "navigation-spin.html", func(c *testCase) {
			other := c.session(executor.SessionOptions{Gate: executor.AllowAll})
			_, tab, err := other.NewPage(c.ctx, &executor.NewPageOptions{URL: c.url("popup.html")})
			if err != nil {
				c.Fatal(err)
			}
			c.eval(expression, nil)
			c.await("begin", "spin")
			if _, err := pagetest.Of(other, tab.ID).Click(c.ctx, css("#inside"), nil); err != nil {
				c.Errorf("a click in another tab: %v", err)
			}
			c.await("click", "inside")
			c.wantAt(c.goTo(c.url("second.html"), nil), c.url("second.html"), "Second", 200)
		})
	}
	for _, in := range []string{"load", "parse"} {
		s.page(t, "page that hangs during load can be navigated: "+in, "second.html", func(c *testCase) {
			c.eval("setTimeout(() => location.assign('navigation-spin.html?in="+in+"')); 0", nil)
			c.await("begin", "spin")
			c.wantAt(c.goTo(c.url("popup.html"), nil), c.url("popup.html"), "Popup", 200)
		})
	}
	s.page(t, "page that hangs in unload handlers can be navigated", "navigation-spin.html?in=unload", func(c *testCase) {
		c.wantAt(c.goTo(c.url("second.html"), nil), c.url("second.html"), "Second", 200)
	})
	s.page(t, "hung page can be closed", "navigation-spin.html", func(c *testCase) {
		c.spins()
		if _, err := c.page().Close(c.ctx); err != nil {
			c.Error(err)
		}
		if _, ok := c.find(c.tab); ok {
			c.Error("the tab is still listed")
		}
	})
	s.page(t, "calls on a hung page end at their deadline", "navigation-spin.html", func(c *testCase) {
		ref := c.ref("button", "Button")
		c.spins()
		field, box := executor.Field{Target: css("#field"), Value: "x"}, css("#field")
		calls := map[string]func(context.Context) error{
			"snapshot":   func(ctx context.Context) error { return errOf(c.page().Snapshot(ctx, nil)) },
			"text":       func(ctx context.Context) error { return errOf(c.page().Text(ctx, nil)) },
			"html":       func(ctx context.Context) error { return errOf(c.page().HTML(ctx, nil)) },
			"markdown":   func(ctx context.Context) error { return errOf(c.page().Markdown(ctx, nil)) },
			"links":      func(ctx context.Context) error { return errOf(c.page().Links(ctx, nil)) },
			"screenshot": func(ctx context.Context) error { return errOf(c.page().Screenshot(ctx, nil)) },
			"eval":       func(ctx context.Context) error { return errOf(c.page().Eval(ctx, "1", nil)) },
			"cdp":        func(ctx context.Context) error { return errOf(c.page().CDP(ctx, "DOM.getDocument", nil)) },
			"click":      func(ctx context.Context) error { return errOf(c.page().Click(ctx, byRef(ref), nil)) },
			"type":       func(ctx context.Context) error { return errOf(c.page().Type(ctx, box, "x", nil)) },
			"press":      func(ctx context.Context) error { return errOf(c.page().Press(ctx, "a", nil)) },
			"hover":      func(ctx context.Context) error { return errOf(c.page().Hover(ctx, byRef(ref), nil)) },
			"scroll": func(ctx context.Context) error {
				return errOf(c.page().Scroll(ctx, executor.ScrollOptions{DeltaY: 100}))
			},
			"select_option": func(ctx context.Context) error {
				return errOf(c.page().SelectOption(ctx, css("#select"), []string{"two"}, nil))
			},
			"fill_form": func(ctx context.Context) error { return errOf(c.page().FillForm(ctx, []executor.Field{field}, nil)) },
			"wait_for": func(ctx context.Context) error {
				return errOf(c.page().WaitFor(ctx, executor.WaitCondition{Text: "never"}))
			},
			"download_file": func(ctx context.Context) error {
				return errOf(c.page().Download(ctx, executor.DownloadOptions{Target: css("#button")}))
			},
		}
		for name, call := range sorted(calls) {
			c.wantEnded(name, call(await.Expiring(c)))
		}
		if got := c.listed(c.tab); got.URL != c.url("navigation-spin.html") {
			c.Errorf("listed %+v", got)
		}
	})
	s.page(t, "click that hangs the page ends at the deadline or on cancel", "navigation-stuck.html", func(c *testCase) {
		ctx, cancel := context.WithCancel(c.ctx)
		done := make(chan error, 1)
		go func() { done <- errOf(c.page().Click(ctx, css("#loop"), nil)) }()
		c.await("begin", "loop")
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			c.Errorf("error %v, want one that is context.Canceled", err)
		}
		_, err := c.page().Reload(await.Expiring(c), nil)
		c.wantEnded("reload", err)
	})
	s.page(t, "endless expression ends at the deadline", "navigation-stuck.html", func(c *testCase) {
		c.loopsForever()
		c.wantValue("document.title", "Travel stuck")
	})
	s.page(t, "crash ends pending calls, page can be reloaded", "tabs.html", func(c *testCase) {
		popup := c.click(css("#window"), nil).NewTabs // it shares the renderer process
		if len(popup) != 1 {
			c.Fatalf("new tabs: %+v, want one", popup)
		}
		c.await("open", "window")
		done := make(chan error, 1)
		go func() {
			done <- errOf(c.page().WaitFor(c.ctx, executor.WaitCondition{Expression: `(window.asked ??= (report("asked", "crash"), 1)) && false`, Timeout: neverTimeout}))
		}()
		c.await("asked", "crash")
		_, err := pagetest.Of(c.exec, popup[0].ID).CDP(c.ctx, "Page.crash", nil)
		c.wantCode(err, executor.ErrTargetGone)
		c.wantCode(<-done, executor.ErrTargetGone, "crash")
		nav := c.reload()
		c.wantAt(nav, c.url("tabs.html"), "Tabs", 200)
		c.wantValue("document.title", "Tabs")
	})
	s.page(t, "page of 5,000 rows is readable and clickable", "navigation-huge.html", func(c *testCase) {
		c.click(css("#wide"), nil)
		c.await("done", "wide")
		if text := c.snap(nil); len([]rune(text)) > executor.DefaultMaxChars {
			c.Errorf("a snapshot of %d characters", len([]rune(text)))
		}
		c.click(byRef(c.refIn(c.snap(&executor.SnapshotOptions{Find: "Last"}), "button", "Last")), nil)
		c.await("click", "last")
	})
	s.page(t, "page nested 1,500 levels is readable and clickable", "navigation-huge.html", func(c *testCase) {
		c.click(css("#deep"), nil)
		c.await("done", "deep")
		c.click(byRef(c.ref("button", "Bottom")), nil)
		c.await("click", "bottom")
		text, err := c.page().Text(c.ctx, nil)
		if err != nil {
			c.Fatal(err)
		}
		c.wantIn(text.Content, "Bottom")
	})
	s.page(t, "page that uses 200 MB works", "navigation-huge.html", func(c *testCase) {
		c.click(css("#fat"), nil)
		if got := c.await("done", "fat"); got.Value != "true" {
			c.Errorf("a gigabyte of text was accepted: %+v", got)
		}
		c.wantIn(c.snap(nil), "Fat")
		c.eval("delete window.kept", nil)
	})
}
