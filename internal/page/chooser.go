package page

import (
	"context"

	cdppage "github.com/chromedp/cdproto/page"

	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

// catchChoosers has a page that asks for a file tell us instead of the person
// at the screen, or lets it ask again. It waits for nothing.
func (t *Tab) catchChoosers(catch bool) {
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
const chooserNote = "the page asks for a file, and none was given: files cannot be uploaded; ask the user to choose it in the page"
