package executortest

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

func (s *suite) protocol(t *testing.T) {
	s.page(t, "raw call", "second.html", func(c *testCase) {
		raw, err := c.page().CDP(c.ctx, "Runtime.evaluate", map[string]any{"expression": "document.title", "returnByValue": true})
		if err != nil {
			c.Fatal(err)
		}
		var res struct{ Result struct{ Value string } }
		if err := json.Unmarshal(raw, &res); err != nil || res.Result.Value != "Second" {
			c.Errorf("result %s, %v", raw, err)
		}
		if _, err := c.page().CDP(c.ctx, "Page.getNavigationHistory", nil); err != nil {
			c.Errorf("without parameters: %v", err)
		}
	})
	s.page(t, "the browser's error", "second.html", func(c *testCase) {
		_, err := c.page().CDP(c.ctx, "Runtime.evaluate", map[string]any{"expression": 7})
		c.wantCode(err, executor.ErrCDP)
		_, err = c.page().CDP(c.ctx, "No.suchMethod", nil)
		switch executor.CodeOf(err) {
		case executor.ErrCDP, executor.ErrUnknownMethod:
		case executor.ErrPolicyDenied: // if unknown commands are not sent to the browser
		default:
			c.Errorf("error %v", err)
		}
		_, err = c.page().CDP(c.ctx, "", nil)
		c.wantCode(err, executor.ErrBadArgs)
	})
	s.gated(t, "consults the gate", "second.html", func(c *testCase, k *keeper) {
		k.deny(func(a executor.Access) bool { return a.Op == executor.OpCDP })
		_, err := c.page().CDP(c.ctx, "Runtime.evaluate", map[string]any{"expression": "document.title = 'Broken in'"})
		c.wantCode(err, executor.ErrPolicyDenied)
		c.wantValue("document.title", "Second")
	})
}

// watched runs a case in a session that sends its events to next.
func (s *suite) watched(t *testing.T, name, file string, f func(c *testCase, next func(executor.EventKind) executor.Event)) {
	events := make(chan executor.Event, 1000)
	opts := executor.SessionOptions{Gate: executor.AllowAll, OnEvent: func(e executor.Event) { events <- e }}
	s.pageWith(t, name, file, opts, func(c *testCase) {
		f(c, func(kind executor.EventKind) executor.Event {
			c.Helper()
			for {
				if e := await.Receive(c, fmt.Sprintf("an event of kind %s", kind), events); e.Kind == kind {
					return e
				}
			}
		})
	})
}

func (s *suite) events(t *testing.T) {
	s.watched(t, "navigation", "nav.html", func(c *testCase, next func(executor.EventKind) executor.Event) {
		c.goTo(c.url("second.html"), nil)
		for {
			e := next(executor.EventNavigated)
			if e.Tab != c.tab {
				c.Fatalf("event %+v, want one of tab %s", e, c.tab)
			}
			if e.URL == c.url("second.html") {
				return
			}
		}
	})
	s.watched(t, "dialog", "dialogs.html", func(c *testCase, next func(executor.EventKind) executor.Event) {
		c.click(css("#alert"), nil)
		e := next(executor.EventDialog)
		if e.Tab != c.tab || e.Dialog == nil || e.Dialog.Message != "Saved!" || e.Dialog.Type != executor.DialogAlert {
			c.Errorf("event %+v", e)
		}
		c.answer(executor.DialogAlert, "Saved!", executor.DialogAnswer{Accept: true})
	})
	s.watched(t, "tabs", "tabs.html", func(c *testCase, next func(executor.EventKind) executor.Event) {
		if e := next(executor.EventTabOpened); e.Tab != c.tab {
			c.Errorf("event %+v, want one of tab %s", e, c.tab)
		}
		a := c.click(css("#window"), nil)
		if len(a.NewTabs) != 1 {
			c.Fatalf("new tabs: %+v, want one", a.NewTabs)
		}
		if e := next(executor.EventTabOpened); e.Tab != a.NewTabs[0].ID {
			c.Errorf("event %+v, want one of tab %s", e, a.NewTabs[0].ID)
		}
		c.must(pagetest.Of(c.exec, a.NewTabs[0].ID).Close(c.ctx))
		if e := next(executor.EventTabClosed); e.Tab != a.NewTabs[0].ID {
			c.Errorf("event %+v, want one of tab %s", e, a.NewTabs[0].ID)
		}
	})
	s.watched(t, "download", "download.html", func(c *testCase, next func(executor.EventKind) executor.Event) {
		d := c.fetch(executor.DownloadOptions{Target: css("#report")})
		for {
			e := next(executor.EventDownload)
			if e.Download == nil {
				c.Fatalf("event %+v has no download", e)
			}
			if e.Download.Path == d.Path && e.Download.State == "completed" {
				return
			}
		}
	})
}
