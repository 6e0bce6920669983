package pagesuite

import (
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

func navigationLoading(s *suite.Runner, t *testing.T) {
	until := func(u executor.WaitUntil, timeout time.Duration) *executor.NavigateOptions {
		return &executor.NavigateOptions{Until: u, Timeout: timeout}
	}
	s.Page(t, "slow response: commit, then DOMContentLoaded and load", "second.html", func(c *suite.Case) {
		nav := c.GoTo(c.NavigationURL("parts/rest"), until(executor.UntilCommit, 0))
		if nav.URL != c.NavigationURL("parts/rest") || nav.HTTPStatus != 200 {
			c.Errorf("ended at %+v", *nav)
		}
		c.WantIn(c.Snap(nil), "the first part") // the received part is readable
		for _, u := range []executor.WaitUntil{executor.UntilDOMContentLoaded, executor.UntilLoad, executor.UntilNetworkIdle} {
			_, err := c.Page().Navigate(c.Ctx, c.NavigationURL("parts/rest"), &executor.NavigateOptions{Until: u, Timeout: 300 * time.Millisecond})
			c.WantCode(err, executor.ErrTimeout)
		}
		c.WantIn(c.Snap(nil), "the first part")
		c.Release("rest")
		c.GoTo(c.NavigationURL("parts/rest"), nil)
		c.WantIn(c.Snap(nil), "the second part")
	})
	s.Page(t, "truncated response: received part is usable", "second.html", func(c *suite.Case) {
		for _, u := range []executor.WaitUntil{executor.UntilDOMContentLoaded, executor.UntilLoad, executor.UntilNetworkIdle} {
			nav := c.GoTo(c.NavigationURL("short"), until(u, 0))
			if nav.HTTPStatus != 200 || nav.Title != "Short" {
				c.Errorf("%s: ended at %+v", u, *nav)
			}
			c.WantIn(nav.Note, "ended early", "net::ERR_CONTENT_LENGTH_MISMATCH")
		}
		c.WantIn(c.Snap(nil), "the part that came")
		c.Click(suite.Selector("button"), nil)
		c.WantValue("document.querySelector('button').textContent", "clicked")
		if tier.DeepEnabled() {
			suite.Quick(c, suite.Selector("button"), 700*time.Millisecond)
		}
		if nav := c.GoTo(c.URL("second.html"), nil); nav.Note != "" {
			c.Errorf("the next page's note: %q", nav.Note)
		}
	})
	s.Page(t, "page with scripts disabled by sandbox", "second.html", func(c *suite.Case) {
		c.GoTo(c.NavigationURL("scriptless"), nil)
		c.Snap(nil)
		a := c.Click(suite.Selector("input[type=checkbox]"), nil)
		c.WantIn(a.Diff, "[checked]")
		c.WantNotIn(a.Note, "busy")
		typed := c.TypeInto("[aria-label=Name]", "Ann", nil)
		c.WantIn(typed.Diff, "Ann")
		c.WantNotIn(typed.Note, "busy")
		c.WantIn(c.Click(suite.Selector("summary"), nil).Diff, "what is in it")
		if tier.DeepEnabled() {
			suite.Quick(c, suite.Selector("input[type=checkbox]"), 700*time.Millisecond)
		}
	})
	s.Page(t, "slow server: each waitUntil ends at its timeout", "navigation.html", func(c *suite.Case) {
		for _, u := range []executor.WaitUntil{executor.UntilCommit, executor.UntilDOMContentLoaded, executor.UntilLoad, executor.UntilNetworkIdle} {
			_, err := c.Page().Navigate(c.Ctx, c.HeldURL("late"), until(u, await.Soon))
			c.WantCode(err, executor.ErrTimeout)
			c.WantValue("document.title", "Travel") // the old page still works
		}
		c.Click(suite.Selector("#push"), nil)
		c.WantValue("document.title", "View 1")
	})
	s.Page(t, "polling page loads but never reaches networkidle", "second.html", func(c *suite.Case) {
		c.GoTo(c.URL("navigation-poll.html"), nil)
		c.TimesOut("networkidle of", func(timeout time.Duration) error {
			return suite.ErrOf(c.Page().Navigate(c.Ctx, c.URL("navigation-poll.html"), until(executor.UntilNetworkIdle, timeout)))
		})
		c.Click(suite.Selector("p"), nil)
	})
	s.Page(t, "connection reset", "navigation.html", func(c *suite.Case) {
		_, err := c.Page().Navigate(c.Ctx, c.NavigationURL("reset"), nil)
		c.WantCode(err, executor.ErrNavigationFailed, "net::ERR_")
		_, err = c.Page().Reload(c.Ctx, nil)
		c.WantCode(err, executor.ErrNavigationFailed, "net::ERR_") // the error page causes no requests
		nav := c.Back()
		c.WantAt(nav, c.URL("navigation.html"), "Travel", nav.HTTPStatus)
	})
	s.Page(t, "unknown host", "navigation.html", func(c *suite.Case) {
		_, err := c.Page().Navigate(c.Ctx, "http://nowhere.invalid/", nil)
		c.WantCode(err, executor.ErrNavigationFailed, "nowhere.invalid", "net::ERR_")
	})
	s.Page(t, "redirect to itself", "navigation.html", func(c *suite.Case) {
		_, err := c.Page().Navigate(c.Ctx, c.NavigationURL("loop"), nil)
		c.WantCode(err, executor.ErrNavigationFailed, "net::ERR_TOO_MANY_REDIRECTS")
	})
	s.Page(t, "redirect, meta refresh and script redirect: wait_for sees the final page", "second.html", func(c *suite.Case) {
		c.GoTo(c.Path("/redirect/3?to=/p/"+c.ID+"/navigation-hop.html"), nil)
		c.Met(executor.WaitCondition{URL: "*/second.html", Text: "the second page"})
		c.WantValue("document.title", "Second")
	})
	s.Page(t, "Refresh header", "navigation.html", func(c *suite.Case) {
		c.GoTo(c.NavigationURL("refresh?to="+c.URL("second.html")), nil)
		c.Met(executor.WaitCondition{Text: "the second page"})
	})
	s.Page(t, "page that redirects during load: final URL reported", "navigation.html", func(c *suite.Case) {
		nav := c.GoTo(c.URL("navigation-hop2.html"), nil)
		c.WantAt(nav, c.URL("second.html"), "Second", 200)
	})
	for name, url := range suite.Sorted(map[string]string{"javascript": "javascript:document.title='Broken in'", "JavaScript": "JavaScript:document.title='Broken in'"}) {
		s.Page(t, "a "+name+": URL is rejected", "navigation.html", func(c *suite.Case) {
			_, err := c.Page().Navigate(c.Ctx, url, nil)
			c.WantCode(err, executor.ErrBadArgs, "eval")
			_, _, err = c.Exec.NewPage(c.Ctx, &executor.NewPageOptions{URL: url})
			c.WantCode(err, executor.ErrBadArgs)
			c.WantValue("document.title", "Travel")
		})
	}
	s.Page(t, "fragment navigation", "navigation.html", func(c *suite.Case) {
		nav := c.GoTo(c.URL("navigation.html#part"), nil)
		c.WantAt(nav, c.URL("navigation.html#part"), "Travel", 0)
		c.Await("hashchange", "travel")
		nav = c.GoTo(c.URL("navigation.html#part"), nil) // repeated: no navigation, no wait
		if nav.URL != c.URL("navigation.html#part") {
			c.Errorf("ended at %+v", *nav)
		}
	})
	s.Page(t, "server error page: status reported", "navigation.html", func(c *suite.Case) {
		for _, code := range []string{"403", "410", "503"} {
			nav := c.GoTo(c.Path("/status/"+code), nil)
			if nav.Title != "Status "+code || nav.HTTPStatus < 400 {
				c.Errorf("ended at %+v", *nav)
			}
		}
		_, err := c.Page().Navigate(c.Ctx, c.Path("/status/404?body=none"), nil)
		c.WantCode(err, executor.ErrNavigationFailed, "404")
	})
	s.Page(t, "second navigate during the first", "navigation.html", func(c *suite.Case) {
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { first <- suite.ErrOf(c.Page().Navigate(c.Ctx, c.HeldURL("slow"), nil)) }()
		c.AwaitRequest("slow")
		go func() { second <- suite.ErrOf(c.Page().Navigate(c.Ctx, c.URL("second.html"), nil)) }()
		for range 20 { // the second call has time to enter the queue of the tab
			c.Tabs()
		}
		c.Release("slow")
		for _, done := range []<-chan error{first, second} { // the second one did not interrupt the first
			if err := <-done; err != nil {
				c.Error(err)
			}
		}
		c.WantValue("document.title", "Second")
	})
	s.Page(t, "click that navigates to a slow page waits for it", "navigation.html", func(c *suite.Case) {
		done := make(chan *executor.Action, 1)
		go func() {
			a, err := c.Page().Click(c.Ctx, suite.Selector("#held"), nil)
			if err != nil {
				c.Error(err)
			}
			done <- a
		}()
		c.AwaitRequest("slow")
		c.Release("slow")
		if a := <-done; a != nil && (a.URL != c.HeldURL("slow") || a.Title != "Held slow") {
			c.Errorf("the click reports %+v", a.Changes)
		}
	})
	s.Page(t, "click on link to stalled page returns after commit", "navigation.html", func(c *suite.Case) {
		a := c.Click(suite.Selector("#parts"), nil) // the rest of the document is not sent
		if a.URL != c.NavigationURL("parts/rest") || a.Title != "Parts" {
			c.Errorf("the click reports %+v", a.Changes)
		}
	})
	s.Page(t, "click on link with 204 and with dead server", "navigation.html", func(c *suite.Case) {
		a := c.Click(suite.Selector("#nothing"), nil)
		if a.URL != "" || a.Title != "" {
			c.Errorf("the click reports %+v", a.Changes)
		}
		a = c.Click(suite.Selector("#dead"), nil)
		if !strings.Contains(a.Note, "net::ERR_") {
			c.Errorf("the click reports %+v", a.Changes)
		}
		nav, err := c.Page().Back(c.Ctx, nil)
		if err != nil || nav.Title != "Travel" {
			c.Errorf("back ended at %+v, %v", nav, err)
		}
	})
	s.Page(t, "click through a redirect chain", "navigation.html", func(c *suite.Case) {
		c.Click(suite.Selector("#chain"), nil)
		c.Met(executor.WaitCondition{Text: "the second page"})
	})
}
