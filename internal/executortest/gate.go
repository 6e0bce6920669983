package executortest

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

// A keeper is a Gate that denies some origins and records all accesses.
type keeper struct {
	mu     sync.Mutex
	denied func(executor.Access) bool
	asked  []executor.Access
	during func(executor.Access) // called once, during a gate decision
}

func (k *keeper) Check(_ context.Context, a executor.Access) error {
	k.mu.Lock()
	during := k.during
	k.during = nil
	k.mu.Unlock()
	if during != nil {
		during(a)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked = append(k.asked, a)
	if k.denied != nil && k.denied(a) {
		return executor.Errorf(executor.ErrPolicyDenied, "The user decides.", "%s of %s is not allowed", a.Op, a.Origin)
	}
	return nil
}

// deny replaces the function that decides what is denied.
func (k *keeper) deny(denied func(executor.Access) bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.denied = denied
}

// denyOrigin denies documents of and navigations to one origin.
func (k *keeper) denyOrigin(origin string) {
	k.deny(func(a executor.Access) bool {
		if strings.HasPrefix(a.Destination, origin+"/") {
			return true
		}
		leaving := (a.Op == executor.OpNavigate || a.Op == executor.OpDismiss) && a.OpenedBySession // allowed for every site
		return a.Origin == origin && !leaving
	})
}

// accesses returns the recorded accesses of an operation.
func (k *keeper) accesses(op executor.Operation) []executor.Access {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(k.asked), func(a executor.Access) bool { return a.Op != op })
}

func (s *suite) gated(t *testing.T, name, file string, f func(c *testCase, k *keeper)) {
	k := &keeper{}
	s.pageWith(t, name, file, executor.SessionOptions{Gate: k}, func(c *testCase) { f(c, k) })
}

func (s *suite) gate(t *testing.T) {
	s.pageWith(t, "nil denies everything", "", executor.SessionOptions{}, func(c *testCase) {
		_, _, err := c.exec.NewPage(c.ctx, &executor.NewPageOptions{URL: c.url("click.html")})
		c.wantCode(err, executor.ErrPolicyDenied)
		tabs := c.tabs()
		for _, tab := range tabs {
			if tab.URL != executor.DeniedURL || tab.Title != "" {
				c.Errorf("a denied tab is listed as %+v", tab)
			}
		}
	})
	s.gated(t, "access", "frames.html", func(c *testCase, k *keeper) {
		c.snapWith("Words from across")
		var top, same, cross bool
		for _, a := range k.accesses(executor.OpRead) {
			if a.Tab != c.tab || a.Document == "" {
				c.Errorf("access %+v, want tab %s and a document", a, c.tab)
			}
			top = top || a.Frame == "" && a.Origin == c.origin() && a.URL == c.url("frames.html")
			same = same || a.Frame != "" && a.Origin == c.origin() && a.URL == c.url("frame.html")
			cross = cross || a.Frame != "" && a.Origin == c.otherOrigin() && a.URL == c.otherURL("frame.html?id=cross")
		}
		if !top || !same || !cross {
			c.Errorf("accesses: top document %v, same-site frame %v, cross-site frame %v\n%+v", top, same, cross, k.accesses(executor.OpRead))
		}
		c.click(css("#shadow"), nil)
		if len(k.accesses(executor.OpAct)) == 0 {
			c.Error("a click did not consult the gate")
		}
		if slices.ContainsFunc(k.accesses(executor.OpNavigate), func(a executor.Access) bool { return a.Destination != c.url("frames.html") }) {
			c.Errorf("the access of the navigation is %+v", k.accesses(executor.OpNavigate))
		}
	})
	s.gated(t, "denied document is hidden from all methods", "read.html", func(c *testCase, k *keeper) {
		ref := c.ref("link", "map of the coast")
		other := c.open("second.html")
		c.must(c.exec.SelectTab(c.ctx, c.tab))
		k.denyOrigin(c.origin())
		c.wantDenied(map[string]func() error{
			"eval": func() error { return errOf(c.page().Eval(c.ctx, "document.title = 'Broken in'", nil)) },
			"eval ref": func() error {
				return errOf(c.page().Eval(c.ctx, "(element) => element.remove()", &executor.EvalOptions{Target: byRef(ref)}))
			},
			"cdp":       func() error { return errOf(c.page().CDP(c.ctx, "Page.getNavigationHistory", nil)) },
			"click":     func() error { return errOf(c.page().Click(c.ctx, css("#map"), nil)) },
			"click ref": func() error { return errOf(c.page().Click(c.ctx, byRef(ref), nil)) },
			"hover":     func() error { return errOf(c.page().Hover(c.ctx, css("#map"), nil)) },
			"press":     func() error { return errOf(c.page().Press(c.ctx, "Tab", nil)) },
			"type":      func() error { return errOf(c.page().Type(c.ctx, css("#map"), "x", nil)) },
			"scroll":    func() error { return errOf(c.page().Scroll(c.ctx, executor.ScrollOptions{DeltaY: 1})) },
			"wait_for":  func() error { return errOf(c.page().WaitFor(c.ctx, executor.WaitCondition{Text: "x"})) },
			"download": func() error {
				return errOf(c.page().Download(c.ctx, executor.DownloadOptions{URL: c.path("/file/x.csv")}))
			},
			"reload": func() error { return errOf(c.page().Reload(c.ctx, nil)) },
		})
		for _, id := range []executor.TabID{c.tab, other} {
			if tab := c.listed(id); tab.URL != executor.DeniedURL || tab.Title != "" {
				c.Errorf("a denied tab is listed as %+v", tab)
			}
		}
		k.deny(nil)
		c.wantValue("document.title", "The lighthouse")
	})
	s.gated(t, "frame of a denied origin", "frames.html", func(c *testCase, k *keeper) {
		allowed := c.snapWith("Words from across")
		across := c.refIn(allowed, "button", "Across")
		k.denyOrigin(c.otherOrigin())
		text := c.snap(nil)
		c.wantIn(text, "In the shadow", "Words of the frame")
		c.wantNotIn(text, "Across", "Words from across", "Card across")
		_, err := c.page().Click(c.ctx, byRef(across), nil)
		c.wantCode(err, executor.ErrPolicyDenied)
		_, err = c.page().Click(c.ctx, css("#cross"), nil) // its center is inside the frame
		c.wantCode(err, executor.ErrPolicyDenied)
		_, err = c.page().Text(c.ctx, &executor.TextOptions{Target: byRef(across)})
		c.wantCode(err, executor.ErrPolicyDenied)
		page, err := c.page().Text(c.ctx, nil)
		if err != nil {
			c.Fatal(err)
		}
		c.wantNotIn(page.Content, "Words from across")
	})
	s.gated(t, "destination", "nav.html", func(c *testCase, k *keeper) {
		k.denyOrigin(c.otherOrigin())
		_, err := c.page().Navigate(c.ctx, c.otherURL("second.html"), nil)
		c.wantCode(err, executor.ErrPolicyDenied)
		c.wantValue("document.title", "Navigation")
		_, _, err = c.exec.NewPage(c.ctx, &executor.NewPageOptions{URL: c.otherURL("second.html")})
		c.wantCode(err, executor.ErrPolicyDenied)
		if !c.listed(c.tab).Active {
			c.Error("the tab that was not opened is the active one")
		}
	})
	s.gated(t, "redirect", "nav.html", func(c *testCase, k *keeper) {
		k.denyOrigin(c.otherOrigin())
		_, err := c.page().Navigate(c.ctx, c.path("/redirect/2?to="+url.QueryEscape(c.otherURL("second.html"))), nil)
		c.wantCode(err, executor.ErrPolicyDenied)
		if snap, err := c.page().Snapshot(c.ctx, nil); err == nil {
			c.wantNotIn(snap.Text, "the second page")
		}
		c.wantAt(c.goTo(c.url("nav.html"), nil), c.url("nav.html"), "Navigation", 200) // and away again
	})
	s.gated(t, "page navigates to a denied origin", "nav.html", func(c *testCase, k *keeper) {
		k.denyOrigin(c.otherOrigin())
		c.eval("next.href = "+quote(c.otherURL("second.html"))+"; 0", nil)
		a, err := c.page().Click(c.ctx, css("#next"), nil)
		if err != nil {
			c.wantCode(err, executor.ErrPolicyDenied)
		} else {
			c.wantNotIn(a.URL+a.Title+a.Diff+a.Snapshot, "localhost", "Second", "the second page")
		}
		// The click waited for the navigation, so the current document is the denied one.
		_, err = c.page().Text(c.ctx, nil)
		c.wantCode(err, executor.ErrPolicyDenied)
		if tab := c.listed(c.tab); tab.URL != executor.DeniedURL || tab.Title != "" {
			c.Errorf("the tab is listed as %+v", tab)
		}
	})
	// The page navigates after the gate decision and before the call accesses it.
	for _, call := range []struct {
		name string
		do   func(c *testCase) (any, error)
	}{
		{"eval", func(c *testCase) (any, error) { return c.page().Eval(c.ctx, "document.title", nil) }},
		{"eval on an element", func(c *testCase) (any, error) {
			return c.page().Eval(c.ctx, "(element) => document.title", &executor.EvalOptions{Target: css("h1")})
		}},
		{"text", func(c *testCase) (any, error) { return c.page().Text(c.ctx, nil) }},
		{"snapshot", func(c *testCase) (any, error) { return c.page().Snapshot(c.ctx, nil) }},
		{"click", func(c *testCase) (any, error) { return c.page().Click(c.ctx, css("h1"), nil) }},
	} {
		s.gated(t, "page navigates while the gate decides about "+call.name, "second.html", func(c *testCase, k *keeper) {
			k.denyOrigin(c.otherOrigin())
			c.eval("fetch('/held/"+c.id+"/leave').then(() => location.assign("+quote(c.otherURL("nav.html"))+")); 0", nil)
			c.awaitRequest("leave")
			k.mu.Lock()
			k.during = func(executor.Access) {
				c.release("leave")
				c.await("load", "nav")
			}
			k.mu.Unlock()
			got, err := call.do(c)
			if err == nil {
				c.Errorf("the call succeeded: %+v", got)
			}
			c.wantNotIn(fmt.Sprint(err), "Navigation")
		})
	}
	s.gated(t, "pushState to a denied path", "frames.html", func(c *testCase, k *keeper) {
		c.snapWith("Words from across")
		k.deny(func(a executor.Access) bool { return strings.Contains(a.URL, "/denied") && a.Op != executor.OpNavigate })
		c.eval("same.contentWindow.history.replaceState({}, '', 'denied-frame'); 0", nil)
		text := c.snap(nil)
		c.wantIn(text, "Words from across")
		c.wantNotIn(text, "Words of the frame")
		c.eval("history.pushState({}, '', 'denied'); 0", nil)
		c.wantDenied(map[string]func() error{
			"eval":  func() error { return errOf(c.page().Eval(c.ctx, "1", nil)) },
			"click": func() error { return errOf(c.page().Click(c.ctx, css("#shadow"), nil)) },
		})
		if tab := c.listed(c.tab); tab.URL != executor.DeniedURL || tab.Title != "" {
			c.Errorf("a denied tab is listed as %+v", tab)
		}
		c.must(c.page().Back(c.ctx, nil))
		c.wantIn(c.snap(nil), "Frames", "Words from across") // the URL is allowed again
	})
	s.gated(t, "history", "second.html", func(c *testCase, k *keeper) {
		c.goTo(c.otherURL("nav.html"), nil)
		c.goTo(c.url("second.html"), nil)
		k.denyOrigin(c.otherOrigin())
		_, err := c.page().Back(c.ctx, nil)
		c.wantCode(err, executor.ErrPolicyDenied)
	})
	s.gated(t, "popup", "tabs.html", func(c *testCase, k *keeper) {
		k.denyOrigin(c.otherOrigin())
		c.eval("blank.href = "+quote(c.otherURL("popup.html"))+"; 0", nil)
		a := c.click(css("#blank"), nil)
		if len(a.NewTabs) != 1 {
			c.Fatalf("the click opened %+v, want one tab", a.NewTabs)
		}
		for _, tab := range a.NewTabs {
			if tab.URL != executor.DeniedURL || tab.Title != "" {
				c.Errorf("a denied popup window is reported as %+v", tab)
			}
			_, err := pagetest.Of(c.exec, tab.ID).Text(c.ctx, nil)
			c.wantCode(err, executor.ErrPolicyDenied)
			if _, err := pagetest.Of(c.exec, tab.ID).Close(c.ctx); err != nil && executor.CodeOf(err) != executor.ErrPolicyDenied {
				c.Error(err)
			}
		}
	})
	s.gated(t, "operations", "click.html", func(c *testCase, k *keeper) {
		k.deny(func(a executor.Access) bool { return a.Op == executor.OpAct || a.Op == executor.OpEval })
		_, err := c.page().Click(c.ctx, css("#plain"), nil)
		c.wantCode(err, executor.ErrPolicyDenied)
		_, err = c.page().Eval(c.ctx, "1", nil)
		c.wantCode(err, executor.ErrPolicyDenied)
		_, err = c.page().WaitFor(c.ctx, executor.WaitCondition{Expression: "true"})
		c.wantCode(err, executor.ErrPolicyDenied)
		c.wantIn(c.snap(nil), `button "Plain"`)
		k.deny(nil)
		c.wantUntouched("plain")
	})
}

// wantDenied checks that the calls that read the page are denied, and others too.
func (c *testCase) wantDenied(others map[string]func() error) {
	c.Helper()
	calls := map[string]func() error{
		"snapshot":   func() error { return errOf(c.page().Snapshot(c.ctx, nil)) },
		"text":       func() error { return errOf(c.page().Text(c.ctx, nil)) },
		"html":       func() error { return errOf(c.page().HTML(c.ctx, nil)) },
		"markdown":   func() error { return errOf(c.page().Markdown(c.ctx, nil)) },
		"links":      func() error { return errOf(c.page().Links(c.ctx, nil)) },
		"screenshot": func() error { return errOf(c.page().Screenshot(c.ctx, nil)) },
	}
	maps.Copy(calls, others)
	for name, call := range calls {
		if err := call(); executor.CodeOf(err) != executor.ErrPolicyDenied {
			c.Errorf("%s: error %v, want %s", name, err, executor.ErrPolicyDenied)
		}
	}
}
