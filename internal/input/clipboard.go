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

// checkClipboard checks input to d that uses the clipboard. It returns ErrNotActionable in a shared
// browser. With the clipboard of the user's desktop, the gate decides.
func (a *Actor) checkClipboard(ctx context.Context, d *frames.Document) error {
	switch {
	case a.opts.SharedBrowser:
		return executor.Errorf(executor.ErrNotActionable, "Read the text from the page, and enter it with Page.Type.",
			"copying, cutting and pasting is not available: the sessions of this browser share one clipboard")
	case a.opts.UserClipboard:
		return a.client.Check(ctx, d, executor.OpClipboard, "")
	}
	return nil
}

// checkMiddleButton checks a press of the middle button at a point of the viewport, which in an
// editable element may paste what the user has selected. See also blockPaste.
func (a *Actor) checkMiddleButton(ctx context.Context, x, y float64) error {
	if !a.opts.UserClipboard {
		return nil
	}
	d, editable, err := a.documentAt(ctx, x, y)
	if err != nil || !editable {
		return err
	}
	return a.checkClipboard(ctx, d)
}
