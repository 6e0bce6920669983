package executortest

import (
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

func (s *suite) navigationLoading(t *testing.T) {
	until := func(u executor.WaitUntil, timeout time.Duration) *executor.NavigateOptions {
		return &executor.NavigateOptions{Until: u, Timeout: timeout}
	}
	s.page(t, "slow response: commit, then DOMContentLoaded and load", "second.html", func(c *testCase) {
		nav := c.goTo(c.navigationURL("parts/rest"), until(executor.UntilCommit, 0))
		if nav.URL != c.navigationURL("parts/rest") || nav.HTTPStatus != 200 {
			c.Errorf("ended at %+v", *nav)
		}
		c.wantIn(c.snap(nil), "the first part") // the received part is readable
		for _, u := range []executor.WaitUntil{executor.UntilDOMContentLoaded, executor.UntilLoad, executor.UntilNetworkIdle} {
			_, err := c.page().Navigate(c.ctx, c.navigationURL("parts/rest"), &executor.NavigateOptions{Until: u, Timeout: 300 * time.Millisecond})
			c.wantCode(err, executor.ErrTimeout)
		}
		c.wantIn(c.snap(nil), "the first part")
		c.release("rest")
		c.goTo(c.navigationURL("parts/rest"), nil)
		c.wantIn(c.snap(nil), "the second part")
	})
	s.page(t, "truncated response: received part is usable", "second.html", func(c *testCase) {
		for _, u := range []executor.WaitUntil{executor.UntilDOMContentLoaded, executor.UntilLoad, executor.UntilNetworkIdle} {
			nav := c.goTo(c.navigationURL("short"), until(u, 0))
			if nav.HTTPStatus != 200 || nav.Title != "Short" {
				c.Errorf("%s: ended at %+v", u, *nav)
			}
			c.wantIn(nav.Note, "ended early", "net::ERR_CONTENT_LENGTH_MISMATCH")
		}
		c.wantIn(c.snap(nil), "the part that came")
		c.click(css("button"), nil)
		c.wantValue("document.querySelector('button').textContent", "clicked")
		if tier.LongEnabled() {
			c.quick(css("button"), 700*time.Millisecond)
		}
		if nav := c.goTo(c.url("second.html"), nil); nav.Note != "" {
			c.Errorf("the next page's note: %q", nav.Note)
		}
	})
	s.page(t, "page with scripts disabled by sandbox", "second.html", func(c *testCase) {
		c.goTo(c.navigationURL("scriptless"), nil)
		c.snap(nil)
		a := c.click(css("input[type=checkbox]"), nil)
		c.wantIn(a.Diff, "[checked]")
		c.wantNotIn(a.Note, "busy")
		typed := c.typeInto("[aria-label=Name]", "Ann", nil)
		c.wantIn(typed.Diff, "Ann")
		c.wantNotIn(typed.Note, "busy")
		c.wantIn(c.click(css("summary"), nil).Diff, "what is in it")
		if tier.LongEnabled() {
			c.quick(css("input[type=checkbox]"), 700*time.Millisecond)
		}
	})
	s.page(t, "slow server: each waitUntil ends at its timeout", "navigation.html", func(c *testCase) {
		for _, u := range []executor.WaitUntil{executor.UntilCommit, executor.UntilDOMContentLoaded, executor.UntilLoad, executor.UntilNetworkIdle} {
			_, err := c.page().Navigate(c.ctx, c.heldURL("late"), until(u, await.Soon))
			c.wantCode(err, executor.ErrTimeout)
			c.wantValue("document.title", "Travel") // the old page still works
		}
		c.click(css("#push"), nil)
		c.wantValue("document.title", "View 1")
	})
	s.page(t, "polling page loads but never reaches networkidle", "second.html", func(c *testCase) {
		c.goTo(c.url("navigation-poll.html"), nil)
		c.timesOut("networkidle of", func(timeout time.Duration) error {
			return errOf(c.page().Navigate(c.ctx, c.url("navigation-poll.html"), until(executor.UntilNetworkIdle, timeout)))
		})
		c.click(css("p"), nil)
	})
	s.page(t, "connection reset", "navigation.html", func(c *testCase) {
		_, err := c.page().Navigate(c.ctx, c.navigationURL("reset"), nil)
		c.wantCode(err, executor.ErrNavigationFailed, "net::ERR_")
		_, err = c.page().Reload(c.ctx, nil)
		c.wantCode(err, executor.ErrNavigationFailed, "net::ERR_") // the error page causes no requests
		nav := c.back()
		c.wantAt(nav, c.url("navigation.html"), "Travel", nav.HTTPStatus)
	})
	s.page(t, "unknown host", "navigation.html", func(c *testCase) {
		_, err := c.page().Navigate(c.ctx, "http://nowhere.invalid/", nil)
		c.wantCode(err, executor.ErrNavigationFailed, "nowhere.invalid", "net::ERR_")
	})
	s.page(t, "redirect to itself", "navigation.html", func(c *testCase) {
		_, err := c.page().Navigate(c.ctx, c.navigationURL("loop"), nil)
		c.wantCode(err, executor.ErrNavigationFailed, "net::ERR_TOO_MANY_REDIRECTS")
	})
	s.page(t, "redirect, meta refresh and script redirect: wait_for sees the final page", "second.html", func(c *testCase) {
		c.goTo(c.path("/redirect/3?to=/p/"+c.id+"/navigation-hop.html"), nil)
		c.met(executor.WaitCondition{URL: "*/second.html", Text: "the second page"})
		c.wantValue("document.title", "Second")
	})
	s.page(t, "Refresh header", "navigation.html", func(c *testCase) {
		c.goTo(c.navigationURL("refresh?to="+c.url("second.html")), nil)
		c.met(executor.WaitCondition{Text: "the second page"})
	})
	s.page(t, "page that redirects during load: final URL reported", "navigation.html", func(c *testCase) {
		nav := c.goTo(c.url("navigation-hop2.html"), nil)
		c.wantAt(nav, c.url("second.html"), "Second", 200)
	})
	for name, url := range sorted(map[string]string{"javascript": "javascript:document.title='Broken in'", "JavaScript": "JavaScript:document.title='Broken in'"}) {
		s.page(t, "a "+name+": URL is rejected", "navigation.html", func(c *testCase) {
			_, err := c.page().Navigate(c.ctx, url, nil)
			c.wantCode(err, executor.ErrBadArgs, "eval")
			_, _, err = c.exec.NewPage(c.ctx, &executor.NewPageOptions{URL: url})
			c.wantCode(err, executor.ErrBadArgs)
			c.wantValue("document.title", "Travel")
		})
	}
	s.page(t, "fragment navigation", "navigation.html", func(c *testCase) {
		nav := c.goTo(c.url("navigation.html#part"), nil)
		c.wantAt(nav, c.url("navigation.html#part"), "Travel", 0)
		c.await("hashchange", "travel")
		nav = c.goTo(c.url("navigation.html#part"), nil) // repeated: no navigation, no wait
		if nav.URL != c.url("navigation.html#part") {
			c.Errorf("ended at %+v", *nav)
		}
	})
	s.page(t, "server error page: status reported", "navigation.html", func(c *testCase) {
		for _, code := range []string{"403", "410", "503"} {
			nav := c.goTo(c.path("/status/"+code), nil)
			if nav.Title != "Status "+code || nav.HTTPStatus < 400 {
				c.Errorf("ended at %+v", *nav)
			}
		}
		_, err := c.page().Navigate(c.ctx, c.path("/status/404?body=none"), nil)
		c.wantCode(err, executor.ErrNavigationFailed, "404")
	})
	s.page(t, "second navigate during the first", "navigation.html", func(c *testCase) {
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { first <- errOf(c.page().Navigate(c.ctx, c.heldURL("slow"), nil)) }()
		c.awaitRequest("slow")
		go func() { second <- errOf(c.page().Navigate(c.ctx, c.url("second.html"), nil)) }()
		for range 20 { // the second call has time to enter the queue of the tab
			c.tabs()
		}
		c.release("slow")
		for _, done := range []<-chan error{first, second} { // the second one did not interrupt the first
			if err := <-done; err != nil {
				c.Error(err)
			}
		}
		c.wantValue("document.title", "Second")
	})
	s.page(t, "click that navigates to a slow page waits for it", "navigation.html", func(c *testCase) {
		done := make(chan *executor.Action, 1)
		go func() {
			a, err := c.page().Click(c.ctx, css("#held"), nil)
			if err != nil {
				c.Error(err)
			}
			done <- a
		}()
		c.awaitRequest("slow")
		c.release("slow")
		if a := <-done; a != nil && (a.URL != c.heldURL("slow") || a.Title != "Held slow") {
			c.Errorf("the click reports %+v", a.Changes)
		}
	})
	s.page(t, "click on link to stalled page returns after commit", "navigation.html", func(c *testCase) {
		a := c.click(css("#parts"), nil) // the rest of the document is not sent
		if a.URL != c.navigationURL("parts/rest") || a.Title != "Parts" {
			c.Errorf("the click reports %+v", a.Changes)
		}
	})
	s.page(t, "click on link with 204 and with dead server", "navigation.html", func(c *testCase) {
		a := c.click(css("#nothing"), nil)
		if a.URL != "" || a.Title != "" {
			c.Errorf("the click reports %+v", a.Changes)
		}
		a = c.click(css("#dead"), nil)
		if !strings.Contains(a.Note, "net::ERR_") {
			c.Errorf("the click reports %+v", a.Changes)
		}
		nav, err := c.page().Back(c.ctx, nil)
		if err != nil || nav.Title != "Travel" {
			c.Errorf("back ended at %+v, %v", nav, err)
		}
	})
	s.page(t, "click through a redirect chain", "navigation.html", func(c *testCase) {
		c.click(css("#chain"), nil)
		c.met(executor.WaitCondition{Text: "the second page"})
	})
}
