package executortest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

// goTo navigates the tab of the case and fails it if that fails. The default timeout is
// await.HangLimit.
func (c *testCase) goTo(url string, opts *executor.NavigateOptions) *executor.Navigation {
	c.Helper()
	o := *cmp.Or(opts, new(executor.NavigateOptions))
	o.Timeout = cmp.Or(o.Timeout, await.HangLimit)
	nav, err := c.page().Navigate(c.ctx, url, &o)
	if err != nil {
		c.Fatalf("navigate to %s: %v", url, err)
	}
	return nav
}

// wantAt checks the result of a navigation. A status of 0 means no status.
func (c *testCase) wantAt(nav *executor.Navigation, url, title string, status int) {
	c.Helper()
	if nav.URL != url || nav.Title != title || nav.HTTPStatus != status || nav.TabID != c.tab {
		c.Errorf("ended at %+v, want %s %q %d in %s", *nav, url, title, status, c.tab)
	}
}

func (s *suite) navigate(t *testing.T) {
	for _, until := range []executor.WaitUntil{"", executor.UntilLoad, executor.UntilDOMContentLoaded, executor.UntilNetworkIdle, executor.UntilCommit} {
		s.page(t, "until="+string(until), "second.html", func(c *testCase) {
			nav := c.goTo(c.url("nav.html"), &executor.NavigateOptions{Until: until})
			if nav.URL != c.url("nav.html") || nav.HTTPStatus != 200 || nav.TabID != c.tab {
				c.Errorf("ended at %+v", *nav)
			}
			c.await("load", "nav")
			c.wantValue("document.title", "Navigation")
		})
	}
	s.page(t, "until=unknown", "second.html", func(c *testCase) {
		_, err := c.page().Navigate(c.ctx, c.url("nav.html"), &executor.NavigateOptions{Until: "tomorrow"})
		c.wantCode(err, executor.ErrBadArgs, "tomorrow")
		c.wantValue("document.title", "Second")
	})
	s.page(t, "slow subresource", "second.html", func(c *testCase) {
		nav := c.goTo(c.url("pending-image.html"), &executor.NavigateOptions{Until: executor.UntilDOMContentLoaded})
		c.wantAt(nav, c.url("pending-image.html"), "Held image", 200) // the image is still loading
		c.awaitRequest("image")
		c.timesOut("load of", func(timeout time.Duration) error {
			return errOf(c.page().Navigate(c.ctx, c.url("pending-image.html"), &executor.NavigateOptions{Timeout: timeout}))
		})
		c.release("image")
		c.wantAt(c.goTo(c.url("pending-image.html"), nil), c.url("pending-image.html"), "Held image", 200)
		c.await("load", "page")
	})
	s.page(t, "networkidle waits for requests", "second.html", func(c *testCase) {
		_, err := c.page().Navigate(c.ctx, c.url("idle.html"), &executor.NavigateOptions{Until: executor.UntilNetworkIdle, Timeout: 1500 * time.Millisecond})
		c.wantCode(err, executor.ErrTimeout)
		c.release("data")
		c.goTo(c.url("idle.html"), &executor.NavigateOptions{Until: executor.UntilNetworkIdle})
		c.await("fetched", "data")
	})
	for _, code := range []int{404, 500} {
		s.page(t, fmt.Sprint("status ", code), "second.html", func(c *testCase) {
			nav := c.goTo(c.path(fmt.Sprint("/status/", code)), nil)
			c.wantAt(nav, c.path(fmt.Sprint("/status/", code)), fmt.Sprint("Status ", code), code)
			c.wantIn(c.snap(nil), fmt.Sprint("This is status ", code))
		})
	}
	s.page(t, "error status without a body", "second.html", func(c *testCase) {
		_, err := c.page().Navigate(c.ctx, c.path("/status/500?body=none"), nil)
		c.wantCode(err, executor.ErrNavigationFailed, "500")
	})
	s.page(t, "204 does not change the page", "second.html", func(c *testCase) {
		nav := c.goTo(c.path("/nothing"), nil)
		if nav.URL != c.url("second.html") || nav.HTTPStatus != 204 || nav.Note == "" {
			c.Errorf("ended at %+v, want the old page, 204 and a note", *nav)
		}
		c.wantValue("document.title", "Second")
	})
	s.page(t, "interrupted load: error", "second.html", func(c *testCase) {
		ended := make(chan error, 1)
		go func() { ended <- errOf(c.page().Navigate(c.ctx, c.heldURL("slow"), nil)) }()
		c.awaitRequest("slow")
		s.h.Raw(c.T, c.url("second.html"), "Page.stopLoading", map[string]any{})
		c.wantCode(<-ended, executor.ErrNavigationFailed, "net::ERR_ABORTED")
		c.wantValue("document.title", "Second")
	})
	s.page(t, "redirects", "nav.html", func(c *testCase) {
		nav := c.goTo(c.path("/redirect/3?to="+url.QueryEscape(c.otherURL("second.html"))), nil)
		c.wantAt(nav, c.otherURL("second.html"), "Second", 200)
	})
	s.page(t, "redirect loop", "nav.html", func(c *testCase) {
		_, err := c.page().Navigate(c.ctx, c.path("/redirect/100?to=/nothing"), nil)
		c.wantCode(err, executor.ErrNavigationFailed, "net::ERR_TOO_MANY_REDIRECTS")
	})
	s.page(t, "hash", "nav.html", func(c *testCase) {
		nav := c.goTo(c.url("nav.html#part"), nil)
		c.wantAt(nav, c.url("nav.html#part"), "Navigation", 0)
		c.wantValue("log.length", "1") // the document was not replaced
	})
	s.page(t, "refused", "nav.html", func(c *testCase) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			c.Fatal(err)
		}
		address := l.Addr().String()
		l.Close()
		_, err = c.page().Navigate(c.ctx, "http://"+address+"/", nil)
		c.wantCode(err, executor.ErrNavigationFailed, "net::ERR_CONNECTION_REFUSED")
		c.wantAt(c.goTo(c.url("second.html"), nil), c.url("second.html"), "Second", 200)
	})
	for name, path := range sorted(map[string]string{"endless": "/endless", "no answer": ""}) {
		s.page(t, name, "nav.html", func(c *testCase) {
			address := c.heldURL("never")
			if path != "" {
				address = c.path(path)
			}
			_, err := c.page().Navigate(c.ctx, address, &executor.NavigateOptions{Timeout: 700 * time.Millisecond})
			c.wantCode(err, executor.ErrTimeout)
			c.wantAt(c.goTo(c.url("second.html"), nil), c.url("second.html"), "Second", 200)
		})
	}
	s.page(t, "invalid URL", "nav.html", func(c *testCase) {
		for _, bad := range []string{"", "second.html", "http://", "http://[::1", "javascript:report('bad','url')", "http://%zz/"} {
			_, err := c.page().Navigate(c.ctx, bad, nil)
			c.wantCode(err, executor.ErrBadArgs)
		}
		c.wantUntouched("url")
		c.wantValue("document.title", "Navigation")
	})
	s.page(t, "canceled", "nav.html", func(c *testCase) {
		ctx, cancel := context.WithCancel(c.ctx)
		done := make(chan error, 1)
		go func() { done <- errOf(c.page().Navigate(ctx, c.heldURL("page"), nil)) }()
		c.awaitRequest("page")
		cancel()
		// The response is still pending.
		if err := await.Receive(c, "the canceled call", done); !errors.Is(err, context.Canceled) {
			c.Errorf("error %v, want one that is context.Canceled", err)
		}
		c.wantAt(c.goTo(c.url("second.html"), nil), c.url("second.html"), "Second", 200)
	})
}

func (s *suite) history(t *testing.T) {
	s.page(t, "back and forward", "nav.html", func(c *testCase) {
		c.goTo(c.url("second.html"), nil)
		nav := c.back()
		if nav.URL != c.url("nav.html") || nav.Title != "Navigation" {
			c.Errorf("back ended at %+v", *nav)
		}
		c.wantValue("document.title", "Navigation")
		nav = c.forward()
		if nav.URL != c.url("second.html") || nav.Title != "Second" {
			c.Errorf("forward ended at %+v", *nav)
		}
	})
	s.page(t, "back over a hash", "nav.html", func(c *testCase) {
		c.click(css("#hash"), nil)
		c.wantValue("location.hash", "#part")
		nav := c.back()
		c.wantAt(nav, c.url("nav.html"), "Navigation", 0)
	})
	s.page(t, "back over pushState", "nav.html", func(c *testCase) {
		a := c.click(css("#push"), nil)
		if a.URL != c.url("pushed.html") || a.Title != "Pushed" {
			c.Errorf("the click reports URL %q and title %q", a.URL, a.Title)
		}
		nav := c.back()
		if nav.URL != c.url("nav.html") || nav.HTTPStatus != 0 {
			c.Errorf("back ended at %+v", *nav)
		}
	})
	s.page(t, "no history entry", "nav.html", func(c *testCase) {
		_, err := c.page().Forward(c.ctx, nil)
		c.wantCode(err, executor.ErrNavigationFailed)
		for range 2 { // at most one: the tab's initial blank page
			if _, err = c.page().Back(c.ctx, nil); err != nil {
				break
			}
		}
		c.wantCode(err, executor.ErrNavigationFailed)
	})
	s.page(t, "reload", "nav.html", func(c *testCase) {
		c.await("load", "nav")
		c.eval("window.mark = 1", nil)
		nav := c.reload()
		c.wantAt(nav, c.url("nav.html"), "Navigation", 200)
		c.await("load", "nav")
		c.wantValue("typeof window.mark", "undefined")
	})
	s.page(t, "reload after the page navigated", "second.html", func(c *testCase) {
		c.release("page")
		c.goTo(c.heldURL("page"), nil)
		c.eval("history.replaceState({}, '', '/status/500?body=none')", nil)
		_, err := c.page().Reload(c.ctx, nil)
		c.wantCode(err, executor.ErrNavigationFailed, "500")
	})
	s.page(t, "link", "nav.html", func(c *testCase) {
		a := c.click(css("#next"), nil)
		if a.URL != c.url("second.html") || a.Title != "Second" {
			c.Errorf("the click reports URL %q and title %q", a.URL, a.Title)
		}
		c.wantIn(c.snap(nil), "the second page")
	})
}
