package executortest

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// serveOrder serves a form, and counts the orders that it is sent for. No cache has the page of an
// order, unless the form was opened with ?cache=.
func (s *site) serveOrder(w http.ResponseWriter, r *http.Request) {
	st := s.stage(r)
	if st == nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if r.Method != http.MethodPost {
		fmt.Fprintf(w, "<!doctype html><title>Shop</title><form method=post action='?%s'><button>Buy</button></form>", r.URL.RawQuery)
		return
	}
	st.mu.Lock()
	st.orders++
	n := st.orders
	st.mu.Unlock()
	if r.URL.Query().Get("cache") == "" {
		w.Header().Set("Cache-Control", "no-store")
		// A page that has a lock does not enter the back/forward cache.
		defer fmt.Fprint(w, "<script>navigator.locks.request('order', () => new Promise(() => {}))</script>")
	}
	fmt.Fprintf(w, "<!doctype html><title>Order %d</title><h1>Thank you</h1>", n)
}

// wantOrders checks how many orders the server received, and the title of the page that is shown.
func (c *testCase) wantOrders(n int, title string) {
	c.Helper()
	c.wantValue("document.title", title)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.orders != n {
		c.Errorf("the form was sent %d times, want %d", c.orders, n)
	}
}

func (s *suite) resubmission(t *testing.T) {
	order := func(c *testCase, query string) {
		c.Helper()
		c.goTo(c.navigationURL("order"+query), nil)
		c.click(css("button"), nil)
		c.wantOrders(1, "Order 1")
	}
	const again = "loading it again sends it again"
	s.page(t, "reload sends a form again only with resubmit", "second.html", func(c *testCase) {
		order(c, "")
		_, err := c.page().Reload(c.ctx, nil)
		c.wantCode(err, executor.ErrNavigationFailed, again)
		c.wantOrders(1, "Order 1")
		nav, err := c.page().Reload(c.ctx, &executor.NavigateOptions{Resubmit: true})
		if err != nil || nav.Title != "Order 2" {
			c.Fatalf("reload with resubmit: %+v, %v", nav, err)
		}
		c.wantOrders(2, "Order 2")
		c.goTo(c.navigationURL("order"), nil)
		c.reload()
		c.wantOrders(2, "Shop")
		c.click(css("button"), nil)
		c.wantOrders(3, "Order 3")
	})
	s.page(t, "script that reloads sends no form again", "second.html", func(c *testCase) {
		order(c, "")
		_, err := c.page().Eval(c.ctx, "location.reload()", nil)
		c.wantCode(err, executor.ErrNavigationFailed, again)
		_, err = c.page().WaitFor(c.ctx, executor.WaitCondition{Expression: "(location.reload(), true)"})
		c.wantCode(err, executor.ErrNavigationFailed, again)
		c.wantOrders(1, "Order 1")
	})
	s.page(t, "reload that a beforeunload dialog delays sends no form again", "second.html", func(c *testCase) {
		order(c, "")
		c.eval("onbeforeunload = (e) => e.preventDefault(); 0", nil)
		c.click(css("h1"), nil) // Chrome asks only for pages that the user has used
		_, err := c.page().Reload(c.ctx, nil)
		c.wantCode(err, executor.ErrDialogOpen)
		_, err = c.page().HandleDialog(c.ctx, executor.DialogAnswer{Accept: true})
		c.wantCode(err, executor.ErrNavigationFailed, again)
		c.wantOrders(1, "Order 1")
		_, err = c.page().Reload(c.ctx, &executor.NavigateOptions{Resubmit: true})
		c.wantCode(err, executor.ErrDialogOpen)
		c.must(c.page().HandleDialog(c.ctx, executor.DialogAnswer{Accept: true}))
		c.met(executor.WaitCondition{Expression: `document.title === "Order 2"`})
		c.wantOrders(2, "Order 2")
	})
	s.page(t, "back sends no form again", "second.html", func(c *testCase) {
		order(c, "")
		c.goTo(c.url("second.html"), nil)
		_, err := c.page().Back(c.ctx, nil)
		c.wantCode(err, executor.ErrNavigationFailed, again)
		c.wantOrders(1, "Second")
	})
	s.page(t, "back to a page of a form that a cache has", "second.html", func(c *testCase) {
		order(c, "?cache=1")
		c.goTo(c.url("second.html"), nil)
		c.back()
		c.wantOrders(1, "Order 1")
	})
}
