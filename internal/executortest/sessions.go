package executortest

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

func sessions(s *suite.Runner, t *testing.T) {
	allowAll := executor.SessionOptions{Gate: executor.AllowAll}
	s.Shared().Page(t, "separate active tabs and refs", "click.html", func(c *suite.Case) {
		other := c.Session(allowAll)
		_, tab, err := other.NewPage(c.Ctx, &executor.NewPageOptions{URL: c.URL("type.html")})
		if err != nil {
			c.Fatal(err)
		}
		ref := c.Ref("button", "Plain")
		_, err = pagetest.Of(other, "").Click(c.Ctx, suite.ByRef(ref), nil)
		c.WantCode(err, executor.ErrRefExpired) // this session has not taken a snapshot
		if _, err := pagetest.Of(c.Exec, "").Click(c.Ctx, suite.ByRef(ref), nil); err != nil {
			c.Fatalf("the first session's active tab: %v", err)
		}
		c.Await("click", "plain")
		if _, err := pagetest.Of(other, "").Type(c.Ctx, suite.Selector("#name"), "Bo", nil); err != nil {
			c.Fatalf("the second session's active tab: %v", err)
		}
		c.Await("input", "name")
		if c.Exec.Status(c.Ctx).ActiveTabID != c.Tab || other.Status(c.Ctx).ActiveTabID != tab.ID {
			c.Errorf("active tabs are %s and %s", c.Exec.Status(c.Ctx).ActiveTabID, other.Status(c.Ctx).ActiveTabID)
		}
	})
	s.Page(t, "close", "tabs.html", func(c *suite.Case) {
		other := c.Session(allowAll)
		_, tab, err := other.NewPage(c.Ctx, &executor.NewPageOptions{URL: c.URL("tabs.html")})
		if err != nil {
			c.Fatal(err)
		}
		for range 2 { // Close is idempotent
			if err := other.Close(); err != nil {
				c.Fatal(err)
			}
		}
		c.Await("pagehide", "page")
		if _, ok := c.Find(tab.ID); ok {
			c.Error("a tab of the closed session is still there")
		}
		c.WantValue("document.title", "Tabs") // the tab of the other session is still open
		if _, err := other.Tabs(c.Ctx); err == nil {
			c.Error("a closed session still works")
		}
	})
	s.Page(t, "status and ping", "click.html", func(c *suite.Case) {
		if err := c.Exec.Ready(c.Ctx); err != nil {
			c.Error(err)
		}
		if err := c.Exec.Ping(c.Ctx); err != nil {
			c.Error(err)
		}
		if st := c.Exec.Status(c.Ctx); !st.Ready || st.Backend == "" || st.ActiveTabID != c.Tab {
			c.Errorf("status %+v", st)
		}
	})
}

func concurrency(s *suite.Runner, t *testing.T) {
	s.Page(t, "calls on one tab are ordered, tabs are parallel", "second.html", func(c *suite.Case) {
		slow := c.Open("nav.html")
		type title struct {
			value string
			err   error
		}
		navigated, evaluated := make(chan error, 1), make(chan title, 1)
		go func() { navigated <- suite.ErrOf(pagetest.Of(c.Exec, slow).Navigate(c.Ctx, c.HeldURL("page"), nil)) }()
		c.AwaitRequest("page")
		go func() {
			res, err := pagetest.Of(c.Exec, slow).Text(c.Ctx, nil)
			if err != nil {
				evaluated <- title{err: err}
				return
			}
			evaluated <- title{value: res.Content}
		}()
		// The other tab is not slowed down.
		for range 10 {
			c.WantValue("document.title", "Second")
		}
		select {
		case got := <-evaluated:
			c.Errorf("a call overtook the one before it: %+v", got)
		case err := <-navigated:
			c.Errorf("the navigation ended before its response: %v", err)
		default:
		}
		c.Release("page")
		if err := <-navigated; err != nil {
			c.Error(err)
		}
		if got := <-evaluated; got.err != nil || got.value != "held page" {
			c.Errorf("the call after the navigation returned %+v, want the new page", got)
		}
	})
	s.Shared().Page(t, "queued call can be canceled", "second.html", func(c *suite.Case) {
		navigated, queued := make(chan error, 1), make(chan error, 1)
		go func() { navigated <- suite.ErrOf(c.Page().Navigate(c.Ctx, c.HeldURL("page"), nil)) }()
		c.AwaitRequest("page")
		ctx, cancel := context.WithCancel(c.Ctx)
		go func() { queued <- suite.ErrOf(c.Page().Text(ctx, nil)) }()
		cancel()
		// The call before it is still running.
		if err := await.Receive(c, "the canceled call", queued); err == nil {
			c.Error("a canceled call succeeded")
		}
		c.Release("page")
		if err := <-navigated; err != nil {
			c.Error(err)
		}
	})
	s.Shared().Page(t, "many concurrent tabs", "click.html", func(c *suite.Case) {
		tabs := []executor.TabID{c.Tab, c.Open("click.html"), c.Open("click.html"), c.Open("click.html")}
		var wg sync.WaitGroup
		for _, tab := range tabs {
			wg.Go(func() {
				for range 5 {
					if _, err := pagetest.Of(c.Exec, tab).Click(c.Ctx, suite.Selector("#plain"), nil); err != nil {
						c.Errorf("click in %s: %v", tab, err)
					}
				}
			})
		}
		wg.Wait()
		for range 5 * len(tabs) {
			c.Await("click", "plain")
		}
	})
	s.Shared().Page(t, "many calls on one tab", "type.html", func(c *suite.Case) {
		var wg sync.WaitGroup
		for _, letter := range []string{"a", "b", "c", "d", "e", "f"} {
			wg.Go(func() {
				if _, err := c.Page().Type(c.Ctx, suite.Selector("#name"), letter+letter, nil); err != nil {
					c.Errorf("type: %v", err)
				}
			})
		}
		wg.Wait()
		typed := c.EvalString("document.querySelector('#name').value")
		var pairs []string
		for i := 0; i+1 < len(typed); i += 2 {
			pairs = append(pairs, typed[i:i+2])
		}
		slices.Sort(pairs)
		if !slices.Equal(pairs, []string{"aa", "bb", "cc", "dd", "ee", "ff"}) {
			c.Errorf("typed %q, want six pairs of letters in any order", typed)
		}
	})
}
