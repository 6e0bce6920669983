package input

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// Chromium has one clipboard for all browser contexts, and some domains of CDP are not limited to
// the context of the page. Clients that share a browser could exchange data through both, so
// clipboard shortcuts and these domains are rejected there. A browser with a window, and one that
// the user started, has the clipboard of the user's desktop. Shortcuts for it need a grant.

// A clipboard is the clipboard of a browser, which input may use.
type clipboard struct {
	client *frames.Client
	shared bool // by the browser contexts of several clients
	user   bool // it is that of the user's desktop
}

// check checks input to d that uses the clipboard. It returns ErrNotActionable in a shared browser.
// With the clipboard of the user's desktop, the gate decides.
func (c clipboard) check(ctx context.Context, d *frames.Document) error {
	switch {
	case c.shared:
		return executor.Errorf(executor.ErrNotActionable, "Read the text from the page, and enter it with Page.Type.",
			"copying, cutting and pasting are not available: the sessions of this browser share one clipboard")
	case c.user:
		return c.client.Check(ctx, d, executor.OpClipboard, "")
	}
	return nil
}
