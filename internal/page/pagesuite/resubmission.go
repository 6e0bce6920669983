package pagesuite

import (
	"net/http"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

// wantOrders checks how many orders the server received, and the title of the page that is shown.
func wantOrders(c *suite.Case, n int, title string) {
	c.Helper()
	c.WantValue("document.title", title)
	c.Mu.Lock()
	defer c.Mu.Unlock()
	if c.Orders != n {
		c.Errorf("the form was sent %d times, want %d", c.Orders, n)
	}
}

func resubmission(s *suite.Runner, t *testing.T) {
	order := func(c *suite.Case, query string) {
		c.Helper()
		c.GoTo(c.NavigationURL("order"+query), nil)
		c.Click(suite.Selector("button"), nil)
		wantOrders(c, 1, "Order 1")
	}
	const again = "loading it again sends it again"
	s.Page(t, "reload sends a form again only with resubmit", "second.html", func(c *suite.Case) {
		order(c, "")
		_, err := c.Page().Reload(c.Ctx, nil)
		c.WantCode(err, executor.ErrNavigationFailed, again)
		wantOrders(c, 1, "Order 1")
		nav, err := c.Page().Reload(c.Ctx, &executor.NavigateOptions{Resubmit: true})
		if err != nil || nav.Title != "Order 2" {
			c.Fatalf("reload with resubmit: %+v, %v", nav, err)
		}
		wantOrders(c, 2, "Order 2")
		c.GoTo(c.NavigationURL("order"), nil)
		c.Reload()
		wantOrders(c, 2, "Shop")
		c.Click(suite.Selector("button"), nil)
		wantOrders(c, 3, "Order 3")
	})
	s.Page(t, "form that was sent again without an answer is not to be sent once more", "second.html", func(c *suite.Case) {
		order(c, "?again=again")
		ctx, pass := await.Deadline(c.Ctx)
		done := make(chan error, 1)
		go func() {
			done <- suite.ErrOf(c.Page().Reload(ctx, &executor.NavigateOptions{Resubmit: true}))
		}()
		c.AwaitRequest("again")
		pass()
		c.WantUncertain(<-done, executor.ErrTimeout)
	})
	s.Page(t, "script that reloads sends no form again", "second.html", func(c *suite.Case) {
		order(c, "")
		_, err := c.Page().Eval(c.Ctx, "location.reload()", nil)
		c.WantCode(err, executor.ErrNavigationFailed, again)
		_, err = c.Page().WaitFor(c.Ctx, &executor.WaitCondition{Expression: "(location.reload(), true)"})
		c.WantCode(err, executor.ErrNavigationFailed, again)
		wantOrders(c, 1, "Order 1")
	})
	s.Page(t, "reload that a beforeunload dialog delays sends no form again", "second.html", func(c *suite.Case) {
		order(c, "")
		c.Eval("onbeforeunload = (e) => e.preventDefault(); 0", nil)
		c.Click(suite.Selector("h1"), nil) // Chrome asks only for pages that the user has used
		_, err := c.Page().Reload(c.Ctx, nil)
		c.WantCode(err, executor.ErrDialogOpen)
		_, err = c.Page().HandleDialog(c.Ctx, &executor.DialogAnswer{Accept: true})
		c.WantCode(err, executor.ErrNavigationFailed, again)
		wantOrders(c, 1, "Order 1")
		_, err = c.Page().Reload(c.Ctx, &executor.NavigateOptions{Resubmit: true})
		c.WantCode(err, executor.ErrDialogOpen)
		c.Must(c.Page().HandleDialog(c.Ctx, &executor.DialogAnswer{Accept: true}))
		c.Met(executor.WaitCondition{Expression: `document.title === "Order 2"`})
		wantOrders(c, 2, "Order 2")
	})
	s.Page(t, "back sends no form again", "second.html", func(c *suite.Case) {
		order(c, "")
		c.GoTo(c.URL("second.html"), nil)
		_, err := c.Page().Back(c.Ctx, nil)
		c.WantCode(err, executor.ErrNavigationFailed, again)
		wantOrders(c, 1, "Second")
	})
	s.Page(t, "back and forward send a form again with resubmit", "second.html", func(c *suite.Case) {
		order(c, "")
		c.GoTo(c.URL("second.html"), nil)
		again := &executor.NavigateOptions{Resubmit: true}
		nav, err := c.Page().Back(c.Ctx, again)
		if err != nil || nav.Title != "Order 2" || nav.HTTPStatus != http.StatusOK {
			c.Fatalf("back: %+v, %v", nav, err)
		}
		wantOrders(c, 2, "Order 2")
		c.Back() // to the form, which was loaded by GET
		if nav, err = c.Page().Forward(c.Ctx, again); err != nil || nav.Title != "Order 3" {
			c.Fatalf("forward: %+v, %v", nav, err)
		}
		wantOrders(c, 3, "Order 3")
		c.Forward()
		c.WantValue("document.title", "Second") // the entry after it is still there
	})
	s.Page(t, "back to a page of a form that a cache has", "second.html", func(c *suite.Case) {
		order(c, "?cache=1")
		c.GoTo(c.URL("second.html"), nil)
		c.Back()
		wantOrders(c, 1, "Order 1")
		c.Forward()
		if _, err := c.Page().Back(c.Ctx, &executor.NavigateOptions{Resubmit: true}); err != nil {
			c.Fatal(err)
		}
		wantOrders(c, 1, "Order 1")
	})
}
