package executortest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

func navigate(s *suite.Runner, t *testing.T) {
	for _, until := range []executor.WaitUntil{"", executor.UntilLoad, executor.UntilDOMContentLoaded, executor.UntilNetworkIdle, executor.UntilCommit} {
		s.Shared().Page(t, "until="+string(until), "second.html", func(c *suite.Case) {
			nav := c.GoTo(c.URL("nav.html"), &executor.NavigateOptions{Until: until})
			if nav.URL != c.URL("nav.html") || nav.HTTPStatus != 200 || nav.TabID != c.Tab {
				c.Errorf("ended at %+v", *nav)
			}
			c.Await("load", "nav")
			c.WantValue("document.title", "Navigation")
		})
	}
	s.Shared().Page(t, "until=unknown", "second.html", func(c *suite.Case) {
		_, err := c.Page().Navigate(c.Ctx, c.URL("nav.html"), &executor.NavigateOptions{Until: "tomorrow"})
		c.WantCode(err, executor.ErrBadArgs, "tomorrow")
		c.WantValue("document.title", "Second")
	})
	s.Shared().Page(t, "slow subresource", "second.html", func(c *suite.Case) {
		nav := c.GoTo(c.URL("pending-image.html"), &executor.NavigateOptions{Until: executor.UntilDOMContentLoaded})
		c.WantAt(nav, c.URL("pending-image.html"), "Held image", 200) // the image is still loading
		c.AwaitRequest("image")
		c.TimesOut("load of", func(timeout time.Duration) error {
			return suite.ErrOf(c.Page().Navigate(c.Ctx, c.URL("pending-image.html"), &executor.NavigateOptions{Timeout: timeout}))
		})
		c.Release("image")
		c.WantAt(c.GoTo(c.URL("pending-image.html"), nil), c.URL("pending-image.html"), "Held image", 200)
		c.Await("load", "page")
	})
	s.Shared().Page(t, "networkidle waits for requests", "second.html", func(c *suite.Case) {
		_, err := c.Page().Navigate(c.Ctx, c.URL("idle.html"), &executor.NavigateOptions{Until: executor.UntilNetworkIdle, Timeout: 1500 * time.Millisecond})
		c.WantCode(err, executor.ErrTimeout)
		c.Release("data")
		c.GoTo(c.URL("idle.html"), &executor.NavigateOptions{Until: executor.UntilNetworkIdle})
		c.Await("fetched", "data")
	})
	for _, code := range []int{404, 500} {
		s.Shared().Page(t, fmt.Sprint("status ", code), "second.html", func(c *suite.Case) {
			nav := c.GoTo(c.Path(fmt.Sprint("/status/", code)), nil)
			c.WantAt(nav, c.Path(fmt.Sprint("/status/", code)), fmt.Sprint("Status ", code), code)
			c.WantIn(c.Snap(nil), fmt.Sprint("This is status ", code))
		})
	}
	s.Shared().Page(t, "error status without a body", "second.html", func(c *suite.Case) {
		_, err := c.Page().Navigate(c.Ctx, c.Path("/status/500?body=none"), nil)
		c.WantCode(err, executor.ErrNavigationFailed, "500")
	})
	s.Shared().Page(t, "204 does not change the page", "second.html", func(c *suite.Case) {
		nav := c.GoTo(c.Path("/nothing"), nil)
		if nav.URL != c.URL("second.html") || nav.HTTPStatus != 204 || nav.Note == "" {
			c.Errorf("ended at %+v, want the old page, 204 and a note", *nav)
		}
		c.WantValue("document.title", "Second")
	})
	s.Shared().Page(t, "interrupted load: error", "second.html", func(c *suite.Case) {
		ended := make(chan error, 1)
		go func() { ended <- suite.ErrOf(c.Page().Navigate(c.Ctx, c.HeldURL("slow"), nil)) }()
		c.AwaitRequest("slow")
		s.H.Raw(c.T, c.URL("second.html"), "Page.stopLoading", map[string]any{})
		c.WantCode(<-ended, executor.ErrNavigationFailed, "net::ERR_ABORTED")
		c.WantValue("document.title", "Second")
	})
	s.Shared().Page(t, "redirects", "nav.html", func(c *suite.Case) {
		nav := c.GoTo(c.Path("/redirect/3?to="+url.QueryEscape(c.OtherURL("second.html"))), nil)
		c.WantAt(nav, c.OtherURL("second.html"), "Second", 200)
	})
	s.Shared().Page(t, "redirect loop", "nav.html", func(c *suite.Case) {
		_, err := c.Page().Navigate(c.Ctx, c.Path("/redirect/100?to=/nothing"), nil)
		c.WantCode(err, executor.ErrNavigationFailed, "net::ERR_TOO_MANY_REDIRECTS")
	})
	s.Shared().Page(t, "hash", "nav.html", func(c *suite.Case) {
		nav := c.GoTo(c.URL("nav.html#part"), nil)
		c.WantAt(nav, c.URL("nav.html#part"), "Navigation", 0)
		c.WantValue("log.length", "1") // the document was not replaced
	})
	s.Shared().Page(t, "refused", "nav.html", func(c *suite.Case) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			c.Fatal(err)
		}
		address := l.Addr().String()
		l.Close()
		_, err = c.Page().Navigate(c.Ctx, "http://"+address+"/", nil)
		c.WantCode(err, executor.ErrNavigationFailed, "net::ERR_CONNECTION_REFUSED")
		c.WantAt(c.GoTo(c.URL("second.html"), nil), c.URL("second.html"), "Second", 200)
	})
	for name, path := range suite.Sorted(map[string]string{"endless": "/endless", "no answer": ""}) {
		s.Shared().Page(t, name, "nav.html", func(c *suite.Case) {
			address := c.HeldURL("never")
			if path != "" {
				address = c.Path(path)
			}
			_, err := c.Page().Navigate(c.Ctx, address, &executor.NavigateOptions{Timeout: 700 * time.Millisecond})
			c.WantCode(err, executor.ErrTimeout)
			c.WantAt(c.GoTo(c.URL("second.html"), nil), c.URL("second.html"), "Second", 200)
		})
	}
	s.Shared().Page(t, "invalid URL", "nav.html", func(c *suite.Case) {
		for _, bad := range []string{"", "second.html", "http://", "http://[::1", "javascript:report('bad','url')", "http://%zz/"} {
			_, err := c.Page().Navigate(c.Ctx, bad, nil)
			c.WantCode(err, executor.ErrBadArgs)
		}
		c.WantUntouched("url")
		c.WantValue("document.title", "Navigation")
	})
	s.Shared().Page(t, "canceled", "nav.html", func(c *suite.Case) {
		ctx, cancel := context.WithCancel(c.Ctx)
		done := make(chan error, 1)
		go func() { done <- suite.ErrOf(c.Page().Navigate(ctx, c.HeldURL("page"), nil)) }()
		c.AwaitRequest("page")
		cancel()
		// The response is still pending.
		if err := await.Receive(c, "the canceled call", done); !errors.Is(err, context.Canceled) {
			c.Errorf("error %v, want one that is context.Canceled", err)
		}
		c.WantAt(c.GoTo(c.URL("second.html"), nil), c.URL("second.html"), "Second", 200)
	})
}

func history(s *suite.Runner, t *testing.T) {
	s.Shared().Page(t, "back and forward", "nav.html", func(c *suite.Case) {
		c.GoTo(c.URL("second.html"), nil)
		nav := c.Back()
		if nav.URL != c.URL("nav.html") || nav.Title != "Navigation" {
			c.Errorf("back ended at %+v", *nav)
		}
		c.WantValue("document.title", "Navigation")
		nav = c.Forward()
		if nav.URL != c.URL("second.html") || nav.Title != "Second" {
			c.Errorf("forward ended at %+v", *nav)
		}
	})
	s.Shared().Page(t, "back over a hash", "nav.html", func(c *suite.Case) {
		c.Click(suite.Selector("#hash"), nil)
		c.WantValue("location.hash", "#part")
		nav := c.Back()
		c.WantAt(nav, c.URL("nav.html"), "Navigation", 0)
	})
	s.Shared().Page(t, "back over pushState", "nav.html", func(c *suite.Case) {
		a := c.Click(suite.Selector("#push"), nil)
		if a.URL != c.URL("pushed.html") || a.Title != "Pushed" {
			c.Errorf("the click reports URL %q and title %q", a.URL, a.Title)
		}
		nav := c.Back()
		if nav.URL != c.URL("nav.html") || nav.HTTPStatus != 0 {
			c.Errorf("back ended at %+v", *nav)
		}
	})
	s.Shared().Page(t, "no history entry", "nav.html", func(c *suite.Case) {
		_, err := c.Page().Forward(c.Ctx, nil)
		c.WantCode(err, executor.ErrNavigationFailed)
		for range 2 { // at most one: the tab's initial blank page
			if _, err = c.Page().Back(c.Ctx, nil); err != nil {
				break
			}
		}
		c.WantCode(err, executor.ErrNavigationFailed)
	})
	s.Shared().Page(t, "reload", "nav.html", func(c *suite.Case) {
		c.Await("load", "nav")
		c.Eval("window.mark = 1", nil)
		nav := c.Reload()
		c.WantAt(nav, c.URL("nav.html"), "Navigation", 200)
		c.Await("load", "nav")
		c.WantValue("typeof window.mark", "undefined")
	})
	s.Shared().Page(t, "reload after the page navigated", "second.html", func(c *suite.Case) {
		c.Release("page")
		c.GoTo(c.HeldURL("page"), nil)
		c.Eval("history.replaceState({}, '', '/status/500?body=none')", nil)
		_, err := c.Page().Reload(c.Ctx, nil)
		c.WantCode(err, executor.ErrNavigationFailed, "500")
	})
	s.Shared().Page(t, "link", "nav.html", func(c *suite.Case) {
		a := c.Click(suite.Selector("#next"), nil)
		if a.URL != c.URL("second.html") || a.Title != "Second" {
			c.Errorf("the click reports URL %q and title %q", a.URL, a.Title)
		}
		c.WantIn(c.Snap(nil), "the second page")
	})
}
