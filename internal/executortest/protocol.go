package executortest

import (
	"encoding/json"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

func protocol(s *suite.Runner, t *testing.T) {
	s.Page(t, "raw call", "second.html", func(c *suite.Case) {
		raw, err := c.Page().CDP(c.Ctx, "Runtime.evaluate", map[string]any{"expression": "document.title", "returnByValue": true})
		if err != nil {
			c.Fatal(err)
		}
		var res struct{ Result struct{ Value string } }
		if err := json.Unmarshal(raw, &res); err != nil || res.Result.Value != "Second" {
			c.Errorf("result %s, %v", raw, err)
		}
		if _, err := c.Page().CDP(c.Ctx, "Page.getNavigationHistory", nil); err != nil {
			c.Errorf("without parameters: %v", err)
		}
	})
	s.Shared().Page(t, "the browser's error", "second.html", func(c *suite.Case) {
		_, err := c.Page().CDP(c.Ctx, "Runtime.evaluate", map[string]any{"expression": 7})
		c.WantCode(err, executor.ErrCDP)
		_, err = c.Page().CDP(c.Ctx, "No.suchMethod", nil)
		switch executor.CodeOf(err) {
		case executor.ErrCDP, executor.ErrUnknownMethod:
		case executor.ErrPolicyDenied: // if unknown commands are not sent to the browser
		default:
			c.Errorf("error %v", err)
		}
		_, err = c.Page().CDP(c.Ctx, "", nil)
		c.WantCode(err, executor.ErrBadArgs)
	})
	s.Shared().Gated(t, "consults the gate", "second.html", func(c *suite.Case, k *suite.Keeper) {
		k.Deny(func(a executor.Access) bool { return a.Op == executor.OpCDP })
		_, err := c.Page().CDP(c.Ctx, "Runtime.evaluate", map[string]any{"expression": "document.title = 'Broken in'"})
		c.WantCode(err, executor.ErrPolicyDenied)
		c.WantValue("document.title", "Second")
	})
}

func events(s *suite.Runner, t *testing.T) {
	s.Shared().Watched(t, "navigation", "nav.html", func(c *suite.Case, next func(executor.EventKind) executor.Event) {
		c.GoTo(c.URL("second.html"), nil)
		for {
			e := next(executor.EventNavigated)
			if e.Tab != c.Tab {
				c.Fatalf("event %+v, want one of tab %s", e, c.Tab)
			}
			if e.URL == c.URL("second.html") {
				return
			}
		}
	})
	s.Shared().Watched(t, "dialog", "dialogs.html", func(c *suite.Case, next func(executor.EventKind) executor.Event) {
		c.Click(suite.Selector("#alert"), nil)
		e := next(executor.EventDialog)
		if e.Tab != c.Tab || e.Dialog == nil || e.Dialog.Message != "Saved!" || e.Dialog.Type != executor.DialogAlert {
			c.Errorf("event %+v", e)
		}
		c.Answer(executor.DialogAlert, "Saved!", executor.DialogAnswer{Accept: true})
	})
	s.Watched(t, "tabs", "tabs.html", func(c *suite.Case, next func(executor.EventKind) executor.Event) {
		if e := next(executor.EventTabOpened); e.Tab != c.Tab {
			c.Errorf("event %+v, want one of tab %s", e, c.Tab)
		}
		a := c.Click(suite.Selector("#window"), nil)
		if len(a.NewTabs) != 1 {
			c.Fatalf("new tabs: %+v, want one", a.NewTabs)
		}
		if e := next(executor.EventTabOpened); e.Tab != a.NewTabs[0].ID {
			c.Errorf("event %+v, want one of tab %s", e, a.NewTabs[0].ID)
		}
		c.Must(pagetest.Of(c.Exec, a.NewTabs[0].ID).Close(c.Ctx))
		if e := next(executor.EventTabClosed); e.Tab != a.NewTabs[0].ID {
			c.Errorf("event %+v, want one of tab %s", e, a.NewTabs[0].ID)
		}
	})
	s.Watched(t, "download", "download.html", func(c *suite.Case, next func(executor.EventKind) executor.Event) {
		d := c.Fetch(executor.DownloadOptions{Target: suite.Selector("#report")})
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
