package executortest

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

func gate(s *suite.Runner, t *testing.T) {
	s.PageWith(t, "nil denies everything", "", executor.SessionOptions{}, func(c *suite.Case) {
		_, _, err := c.Exec.NewPage(c.Ctx, &executor.NewPageOptions{URL: c.URL("click.html")})
		c.WantCode(err, executor.ErrPolicyDenied)
		tabs := c.Tabs()
		for _, tab := range tabs {
			if tab.URL != executor.DeniedURL || tab.Title != "" {
				c.Errorf("a denied tab is listed as %+v", tab)
			}
		}
	})
	s.Gated(t, "access", "frames.html", func(c *suite.Case, k *suite.Keeper) {
		c.SnapWith("Words from across")
		var top, same, cross bool
		for _, a := range k.Accesses(executor.OpRead) {
			if a.Tab != c.Tab || a.Document == "" {
				c.Errorf("access %+v, want tab %s and a document", a, c.Tab)
			}
			top = top || a.Frame == "" && a.Origin == c.Origin() && a.URL == c.URL("frames.html")
			same = same || a.Frame != "" && a.Origin == c.Origin() && a.URL == c.URL("frame.html")
			cross = cross || a.Frame != "" && a.Origin == c.OtherOrigin() && a.URL == c.OtherURL("frame.html?id=cross")
		}
		if !top || !same || !cross {
			c.Errorf("accesses: top document %v, same-site frame %v, cross-site frame %v\n%+v", top, same, cross, k.Accesses(executor.OpRead))
		}
		c.Click(suite.Selector("#shadow"), nil)
		if len(k.Accesses(executor.OpAct)) == 0 {
			c.Error("a click did not consult the gate")
		}
		if slices.ContainsFunc(k.Accesses(executor.OpNavigate), func(a executor.Access) bool { return a.Destination != c.URL("frames.html") }) {
			c.Errorf("the access of the navigation is %+v", k.Accesses(executor.OpNavigate))
		}
	})
	s.Shared().Gated(t, "denied document is hidden from all methods", "read.html", func(c *suite.Case, k *suite.Keeper) {
		ref := c.Ref("link", "map of the coast")
		other := c.Open("second.html")
		c.Must(c.Exec.SelectTab(c.Ctx, c.Tab))
		k.DenyOrigin(c.Origin())
		wantDenied(c, map[string]func() error{
			"eval": func() error { return suite.ErrOf(c.Page().Eval(c.Ctx, "document.title = 'Broken in'", nil)) },
			"eval ref": func() error {
				return suite.ErrOf(c.Page().Eval(c.Ctx, "(element) => element.remove()", &executor.EvalOptions{Target: suite.ByRef(ref)}))
			},
			"cdp":       func() error { return suite.ErrOf(c.Page().CDP(c.Ctx, "Page.getNavigationHistory", nil)) },
			"click":     func() error { return suite.ErrOf(c.Page().Click(c.Ctx, suite.Selector("#map"), nil)) },
			"click ref": func() error { return suite.ErrOf(c.Page().Click(c.Ctx, suite.ByRef(ref), nil)) },
			"hover":     func() error { return suite.ErrOf(c.Page().Hover(c.Ctx, suite.Selector("#map"), nil)) },
			"press":     func() error { return suite.ErrOf(c.Page().Press(c.Ctx, "Tab", nil)) },
			"type":      func() error { return suite.ErrOf(c.Page().Type(c.Ctx, suite.Selector("#map"), "x", nil)) },
			"scroll":    func() error { return suite.ErrOf(c.Page().Scroll(c.Ctx, &executor.ScrollOptions{DeltaY: 1})) },
			"wait_for":  func() error { return suite.ErrOf(c.Page().WaitFor(c.Ctx, &executor.WaitCondition{Text: "x"})) },
			"download": func() error {
				return suite.ErrOf(c.Page().Download(c.Ctx, &executor.DownloadOptions{URL: c.Path("/file/x.csv")}))
			},
			"reload": func() error { return suite.ErrOf(c.Page().Reload(c.Ctx, nil)) },
		})
		for _, id := range []executor.TabID{c.Tab, other} {
			if tab := c.Listed(id); tab.URL != executor.DeniedURL || tab.Title != "" {
				c.Errorf("a denied tab is listed as %+v", tab)
			}
		}
		k.Deny(nil)
		c.WantValue("document.title", "The lighthouse")
	})
	s.Shared().Gated(t, "frame of a denied origin", "frames.html", func(c *suite.Case, k *suite.Keeper) {
		allowed := c.SnapWith("Words from across")
		across := c.RefIn(allowed, "button", "Across")
		k.DenyOrigin(c.OtherOrigin())
		text := c.Snap(nil)
		c.WantIn(text, "In the shadow", "Words of the frame")
		c.WantNotIn(text, "Across", "Words from across", "Card across")
		_, err := c.Page().Click(c.Ctx, suite.ByRef(across), nil)
		c.WantCode(err, executor.ErrPolicyDenied)
		_, err = c.Page().Click(c.Ctx, suite.Selector("#cross"), nil) // its center is inside the frame
		c.WantCode(err, executor.ErrPolicyDenied)
		_, err = c.Page().Text(c.Ctx, &executor.TextOptions{Target: suite.ByRef(across)})
		c.WantCode(err, executor.ErrPolicyDenied)
		page, err := c.Page().Text(c.Ctx, nil)
		if err != nil {
			c.Fatal(err)
		}
		c.WantNotIn(page.Content, "Words from across")
	})
	s.Shared().Gated(t, "destination", "nav.html", func(c *suite.Case, k *suite.Keeper) {
		k.DenyOrigin(c.OtherOrigin())
		_, err := c.Page().Navigate(c.Ctx, c.OtherURL("second.html"), nil)
		c.WantCode(err, executor.ErrPolicyDenied)
		c.WantValue("document.title", "Navigation")
		_, _, err = c.Exec.NewPage(c.Ctx, &executor.NewPageOptions{URL: c.OtherURL("second.html")})
		c.WantCode(err, executor.ErrPolicyDenied)
		if !c.Listed(c.Tab).Active {
			c.Error("the tab that was not opened is the active one")
		}
	})
	s.Gated(t, "redirect", "nav.html", func(c *suite.Case, k *suite.Keeper) {
		k.DenyOrigin(c.OtherOrigin())
		_, err := c.Page().Navigate(c.Ctx, c.Path("/redirect/2?to="+url.QueryEscape(c.OtherURL("second.html"))), nil)
		c.WantCode(err, executor.ErrPolicyDenied)
		if snap, err := c.Page().Snapshot(c.Ctx, nil); err == nil {
			c.WantNotIn(snap.Text, "the second page")
		}
		c.WantAt(c.GoTo(c.URL("nav.html"), nil), c.URL("nav.html"), "Navigation", 200) // and away again
	})
	s.Shared().Gated(t, "page navigates to a denied origin", "nav.html", func(c *suite.Case, k *suite.Keeper) {
		k.DenyOrigin(c.OtherOrigin())
		c.Eval("next.href = "+suite.Quote(c.OtherURL("second.html"))+"; 0", nil)
		a, err := c.Page().Click(c.Ctx, suite.Selector("#next"), nil)
		if err != nil {
			c.WantCode(err, executor.ErrPolicyDenied)
		} else {
			c.WantNotIn(a.URL+a.Title+a.Diff+a.Snapshot, "localhost", "Second", "the second page")
		}
		// The click waited for the navigation, so the current document is the denied one.
		_, err = c.Page().Text(c.Ctx, nil)
		c.WantCode(err, executor.ErrPolicyDenied)
		if tab := c.Listed(c.Tab); tab.URL != executor.DeniedURL || tab.Title != "" {
			c.Errorf("the tab is listed as %+v", tab)
		}
	})
	// The page navigates after the gate decision and before the call accesses it.
	for _, call := range []struct {
		name string
		do   func(c *suite.Case) (any, error)
	}{
		{"eval", func(c *suite.Case) (any, error) { return c.Page().Eval(c.Ctx, "document.title", nil) }},
		{"eval on an element", func(c *suite.Case) (any, error) {
			return c.Page().Eval(c.Ctx, "(element) => document.title", &executor.EvalOptions{Target: suite.Selector("h1")})
		}},
		{"text", func(c *suite.Case) (any, error) { return c.Page().Text(c.Ctx, nil) }},
		{"snapshot", func(c *suite.Case) (any, error) { return c.Page().Snapshot(c.Ctx, nil) }},
		{"click", func(c *suite.Case) (any, error) { return c.Page().Click(c.Ctx, suite.Selector("h1"), nil) }},
	} {
		s.Shared().Gated(t, "page navigates while the gate decides about "+call.name, "second.html", func(c *suite.Case, k *suite.Keeper) {
			k.DenyOrigin(c.OtherOrigin())
			c.Eval("fetch('/held/"+c.ID+"/leave').then(() => location.assign("+suite.Quote(c.OtherURL("nav.html"))+")); 0", nil)
			c.AwaitRequest("leave")
			k.Mu.Lock()
			k.During = func(executor.Access) {
				c.Release("leave")
				c.Await("load", "nav")
			}
			k.Mu.Unlock()
			got, err := call.do(c)
			if err == nil {
				c.Errorf("the call succeeded: %+v", got)
			}
			c.WantNotIn(fmt.Sprint(err), "Navigation")
		})
	}
	s.Shared().Gated(t, "pushState to a denied path", "frames.html", func(c *suite.Case, k *suite.Keeper) {
		c.SnapWith("Words from across")
		k.Deny(func(a executor.Access) bool { return strings.Contains(a.URL, "/denied") && a.Op != executor.OpNavigate })
		c.Eval("same.contentWindow.history.replaceState({}, '', 'denied-frame'); 0", nil)
		text := c.Snap(nil)
		c.WantIn(text, "Words from across")
		c.WantNotIn(text, "Words of the frame")
		c.Eval("history.pushState({}, '', 'denied'); 0", nil)
		wantDenied(c, map[string]func() error{
			"eval":  func() error { return suite.ErrOf(c.Page().Eval(c.Ctx, "1", nil)) },
			"click": func() error { return suite.ErrOf(c.Page().Click(c.Ctx, suite.Selector("#shadow"), nil)) },
		})
		if tab := c.Listed(c.Tab); tab.URL != executor.DeniedURL || tab.Title != "" {
			c.Errorf("a denied tab is listed as %+v", tab)
		}
		c.Must(c.Page().Back(c.Ctx, nil))
		c.WantIn(c.Snap(nil), "Frames", "Words from across") // the URL is allowed again
	})
	s.Shared().Gated(t, "history", "second.html", func(c *suite.Case, k *suite.Keeper) {
		c.GoTo(c.OtherURL("nav.html"), nil)
		c.GoTo(c.URL("second.html"), nil)
		k.DenyOrigin(c.OtherOrigin())
		_, err := c.Page().Back(c.Ctx, nil)
		c.WantCode(err, executor.ErrPolicyDenied)
	})
	s.Gated(t, "popup", "tabs.html", func(c *suite.Case, k *suite.Keeper) {
		k.DenyOrigin(c.OtherOrigin())
		c.Eval("blank.href = "+suite.Quote(c.OtherURL("popup.html"))+"; 0", nil)
		a := c.Click(suite.Selector("#blank"), nil)
		if len(a.NewTabs) != 1 {
			c.Fatalf("the click opened %+v, want one tab", a.NewTabs)
		}
		for _, tab := range a.NewTabs {
			if tab.URL != executor.DeniedURL || tab.Title != "" {
				c.Errorf("a denied popup window is reported as %+v", tab)
			}
			_, err := pagetest.Of(c.Exec, tab.ID).Text(c.Ctx, nil)
			c.WantCode(err, executor.ErrPolicyDenied)
			if _, err := pagetest.Of(c.Exec, tab.ID).Close(c.Ctx); err != nil && executor.CodeOf(err) != executor.ErrPolicyDenied {
				c.Error(err)
			}
		}
	})
	s.Shared().Gated(t, "operations", "click.html", func(c *suite.Case, k *suite.Keeper) {
		k.Deny(func(a executor.Access) bool { return a.Op == executor.OpAct || a.Op == executor.OpEval })
		_, err := c.Page().Click(c.Ctx, suite.Selector("#plain"), nil)
		c.WantCode(err, executor.ErrPolicyDenied)
		_, err = c.Page().Eval(c.Ctx, "1", nil)
		c.WantCode(err, executor.ErrPolicyDenied)
		_, err = c.Page().WaitFor(c.Ctx, &executor.WaitCondition{Expression: "true"})
		c.WantCode(err, executor.ErrPolicyDenied)
		c.WantIn(c.Snap(nil), `button "Plain"`)
		k.Deny(nil)
		c.WantUntouched("plain")
	})
}

// wantDenied checks that the calls that read the page are denied, and others too.
func wantDenied(c *suite.Case, others map[string]func() error) {
	c.Helper()
	calls := map[string]func() error{
		"snapshot":   func() error { return suite.ErrOf(c.Page().Snapshot(c.Ctx, nil)) },
		"text":       func() error { return suite.ErrOf(c.Page().Text(c.Ctx, nil)) },
		"html":       func() error { return suite.ErrOf(c.Page().HTML(c.Ctx, nil)) },
		"markdown":   func() error { return suite.ErrOf(c.Page().Markdown(c.Ctx, nil)) },
		"links":      func() error { return suite.ErrOf(c.Page().Links(c.Ctx, nil)) },
		"screenshot": func() error { return suite.ErrOf(c.Page().Screenshot(c.Ctx, nil)) },
	}
	maps.Copy(calls, others)
	for name, call := range calls {
		if err := call(); executor.CodeOf(err) != executor.ErrPolicyDenied {
			c.Errorf("%s: error %v, want %s", name, err, executor.ErrPolicyDenied)
		}
	}
}
