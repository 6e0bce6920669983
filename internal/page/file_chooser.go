package page

import (
	"context"

	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"

	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

// A fileChooser of files is one that a page wanted to open.
type fileChooser struct {
	frame cdp.FrameID
	node  cdp.BackendNodeID // the file input; 0 when it is for none
}

// interceptFileChoosers has a page that asks for a file tell us instead of the person
// at the screen, or lets it ask again. It waits for nothing.
func (t *Tab) interceptFileChoosers(catch bool) {
	t.mu.Lock()
	sessions := map[*cdpconn.Session]bool{t.sess: true}
	for _, f := range t.frames {
		if f.sess != nil {
			sessions[f.sess] = true
		}
	}
	t.mu.Unlock()
	for s := range sessions {
		s.Start(context.Background(), "Page.setInterceptFileChooserDialog", cdppage.SetInterceptFileChooserDialogParams{Enabled: catch})
	}
}

// chooserNote is told of an action that made the page ask for a file.
const chooserNote = "the page opened a file chooser; no file was provided"
