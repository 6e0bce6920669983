package page

import (
	"context"

	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"

	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

// A fileChooser is a file chooser that a page requested.
type fileChooser struct {
	frame cdp.FrameID
	node  cdp.BackendNodeID // the file input; 0 if the request has none
}

// interceptFileChoosers sets whether the browser reports a requested file chooser to us instead of
// showing it to the user. It does not wait for the browser.
func (t *Tab) interceptFileChoosers(enabled bool) {
	t.mu.Lock()
	sessions := map[*cdpconn.Session]bool{t.sess: true}
	for _, f := range t.frames {
		if f.sess != nil {
			sessions[f.sess] = true
		}
	}
	t.mu.Unlock()
	for s := range sessions {
		s.Start(context.Background(), "Page.setInterceptFileChooserDialog", cdppage.SetInterceptFileChooserDialogParams{Enabled: enabled})
	}
}

// chooserNote is the note on an action after which the page requested a file chooser.
const chooserNote = "the page opened a file chooser; no file was provided"
