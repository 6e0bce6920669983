package page

import (
	"context"
	"sync"

	cdppage "github.com/chromedp/cdproto/page"

	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// A chooserInterception makes the browser report a requested file chooser to us instead of showing it
// to the user, as long as a call tracks changes. A call that answers a dialog may run during another
// call. The methods do not wait for the browser, and are safe for concurrent use.
type chooserInterception struct {
	mu    sync.Mutex
	calls int // that track changes
}

func (c *chooserInterception) begin(tree *frames.Tree) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	interceptFileChoosers(tree, true) // also for the frames that are new
}

func (c *chooserInterception) end(tree *frames.Tree) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls--; c.calls == 0 {
		interceptFileChoosers(tree, false)
	}
}

func interceptFileChoosers(tree *frames.Tree, enabled bool) {
	for _, s := range tree.Sessions() {
		s.Start(context.Background(), "Page.setInterceptFileChooserDialog", cdppage.SetInterceptFileChooserDialogParams{Enabled: enabled})
	}
}

// chooserNote is the note on an action after which the page requested a file chooser.
const chooserNote = "the page opened a file chooser; no file was provided"
