package executortest

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

// quote returns s as a JavaScript string.
func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings always marshal
	}
	return string(b)
}

func (s *suite) sessions(t *testing.T) {
	allowAll := executor.SessionOptions{Gate: executor.AllowAll}
	s.page(t, "separate active tabs and refs", "click.html", func(c *testCase) {
		other := c.session(allowAll)
		_, tab, err := other.NewPage(c.ctx, &executor.NewPageOptions{URL: c.url("type.html")})
		if err != nil {
			c.Fatal(err)
		}
		ref := c.ref("button", "Plain")
		_, err = pagetest.Of(other, "").Click(c.ctx, byRef(ref), nil)
		c.wantCode(err, executor.ErrRefExpired) // this session has not taken a snapshot
		if _, err := pagetest.Of(c.exec, "").Click(c.ctx, byRef(ref), nil); err != nil {
			c.Fatalf("the first session's active tab: %v", err)
		}
		c.await("click", "plain")
		if _, err := pagetest.Of(other, "").Type(c.ctx, css("#name"), "Bo", nil); err != nil {
			c.Fatalf("the second session's active tab: %v", err)
		}
		c.await("input", "name")
		if c.exec.Status(c.ctx).ActiveTabID != c.tab || other.Status(c.ctx).ActiveTabID != tab.ID {
			c.Errorf("active tabs are %s and %s", c.exec.Status(c.ctx).ActiveTabID, other.Status(c.ctx).ActiveTabID)
		}
	})
	s.page(t, "close", "tabs.html", func(c *testCase) {
		other := c.session(allowAll)
		_, tab, err := other.NewPage(c.ctx, &executor.NewPageOptions{URL: c.url("tabs.html")})
		if err != nil {
			c.Fatal(err)
		}
		for range 2 { // Close is idempotent
			if err := other.Close(); err != nil {
				c.Fatal(err)
			}
		}
		c.await("pagehide", "page")
		if _, ok := c.find(tab.ID); ok {
			c.Error("a tab of the closed session is still there")
		}
		c.wantValue("document.title", "Tabs") // the tab of the other session is still open
		if _, err := other.Tabs(c.ctx); err == nil {
			c.Error("a closed session still works")
		}
	})
	s.page(t, "status and ping", "click.html", func(c *testCase) {
		if err := c.exec.Ready(c.ctx); err != nil {
			c.Error(err)
		}
		if err := c.exec.Ping(c.ctx); err != nil {
			c.Error(err)
		}
		if st := c.exec.Status(c.ctx); !st.Ready || st.Backend == "" || st.ActiveTabID != c.tab {
			c.Errorf("status %+v", st)
		}
	})
}

func (s *suite) concurrency(t *testing.T) {
	s.page(t, "calls on one tab are ordered, tabs are parallel", "second.html", func(c *testCase) {
		slow := c.open("nav.html")
		type title struct {
			value string
			err   error
		}
		navigated, evaluated := make(chan error, 1), make(chan title, 1)
		go func() { navigated <- errOf(pagetest.Of(c.exec, slow).Navigate(c.ctx, c.heldURL("page"), nil)) }()
		c.awaitRequest("page")
		go func() {
			res, err := pagetest.Of(c.exec, slow).Text(c.ctx, nil)
			if err != nil {
				evaluated <- title{err: err}
				return
			}
			evaluated <- title{value: res.Content}
		}()
		// The other tab is not slowed down.
		for range 10 {
			c.wantValue("document.title", "Second")
		}
		select {
		case got := <-evaluated:
			c.Errorf("a call overtook the one before it: %+v", got)
		case err := <-navigated:
			c.Errorf("the navigation ended before its response: %v", err)
		default:
		}
		c.release("page")
		if err := <-navigated; err != nil {
			c.Error(err)
		}
		if got := <-evaluated; got.err != nil || got.value != "held page" {
			c.Errorf("the call after the navigation returned %+v, want the new page", got)
		}
	})
	s.page(t, "queued call can be canceled", "second.html", func(c *testCase) {
		navigated, queued := make(chan error, 1), make(chan error, 1)
		go func() { navigated <- errOf(c.page().Navigate(c.ctx, c.heldURL("page"), nil)) }()
		c.awaitRequest("page")
		ctx, cancel := context.WithCancel(c.ctx)
		go func() { queued <- errOf(c.page().Text(ctx, nil)) }()
		cancel()
		// The call before it is still running.
		if err := await.Receive(c, "the canceled call", queued); err == nil {
			c.Error("a canceled call succeeded")
		}
		c.release("page")
		if err := <-navigated; err != nil {
			c.Error(err)
		}
	})
	s.page(t, "many concurrent tabs", "click.html", func(c *testCase) {
		tabs := []executor.TabID{c.tab, c.open("click.html"), c.open("click.html"), c.open("click.html")}
		var wg sync.WaitGroup
		for _, tab := range tabs {
			wg.Go(func() {
				for range 5 {
					if _, err := pagetest.Of(c.exec, tab).Click(c.ctx, css("#plain"), nil); err != nil {
						c.Errorf("click in %s: %v", tab, err)
					}
				}
			})
		}
		wg.Wait()
		for range 5 * len(tabs) {
			c.await("click", "plain")
		}
	})
	s.page(t, "many calls on one tab", "type.html", func(c *testCase) {
		var wg sync.WaitGroup
		for _, letter := range []string{"a", "b", "c", "d", "e", "f"} {
			wg.Go(func() {
				if _, err := c.page().Type(c.ctx, css("#name"), letter+letter, nil); err != nil {
					c.Errorf("type: %v", err)
				}
			})
		}
		wg.Wait()
		typed := c.evalString("document.querySelector('#name').value")
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
