package suite

import (
	"cmp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

// GoTo navigates the tab of the case and fails it if that fails. The default timeout is
// await.HangLimit.
func (c *Case) GoTo(url string, opts *executor.NavigateOptions) *executor.Navigation {
	c.Helper()
	o := *cmp.Or(opts, new(executor.NavigateOptions))
	o.Timeout = cmp.Or(o.Timeout, await.HangLimit)
	nav, err := c.Page().Navigate(c.Ctx, url, &o)
	if err != nil {
		c.Fatalf("navigate to %s: %v", url, err)
	}
	return nav
}

// WantAt checks the result of a navigation. A status of 0 means no status.
func (c *Case) WantAt(nav *executor.Navigation, url, title string, status int) {
	c.Helper()
	if nav.URL != url || nav.Title != title || nav.HTTPStatus != status || nav.TabID != c.Tab {
		c.Errorf("ended at %+v, want %s %q %d in %s", *nav, url, title, status, c.Tab)
	}
}

// Back goes back and fails the case if that fails.
func (c *Case) Back() *executor.Navigation {
	c.Helper()
	nav, err := c.Page().Back(c.Ctx, nil)
	if err != nil {
		c.Fatalf("back: %v", err)
	}
	return nav
}

// Forward goes forward and fails the case if that fails.
func (c *Case) Forward() *executor.Navigation {
	c.Helper()
	nav, err := c.Page().Forward(c.Ctx, nil)
	if err != nil {
		c.Fatalf("forward: %v", err)
	}
	return nav
}

// Reload reloads the page and fails the case if that fails.
func (c *Case) Reload() *executor.Navigation {
	c.Helper()
	nav, err := c.Page().Reload(c.Ctx, nil)
	if err != nil {
		c.Fatalf("reload: %v", err)
	}
	return nav
}

// AwaitDialog waits until a dialog is open that no call has reported, and checks its message.
func (c *Case) AwaitDialog(tab executor.TabID, message string) {
	c.Helper()
	for c.Ctx.Err() == nil {
		// A call before the dialog opens succeeds or fails otherwise.
		if _, err := pagetest.Of(c.Exec, tab).Text(c.Ctx, nil); err != nil {
			c.WantCode(err, executor.ErrDialogOpen, message)
			return
		}
	}
	c.Fatalf("no dialog %q opened", message)
}

// Answer answers the open dialog and checks its type and message.
func (c *Case) Answer(kind executor.DialogType, message string, with executor.DialogAnswer) *executor.DialogResult {
	c.Helper()
	res, err := c.Page().HandleDialog(c.Ctx, &with)
	if err != nil {
		c.Fatalf("answering the %s: %v", kind, err)
	}
	if res.Type != kind || res.Message != message || !res.Handled {
		c.Errorf("answered %+v, want %s %q", *res, kind, message)
	}
	return res
}
