package page

import (
	"context"

	cdppage "github.com/chromedp/cdproto/page"

	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// interceptFileChoosers sets whether the browser reports a requested file chooser to us instead of
// showing it to the user. It does not wait for the browser.
func interceptFileChoosers(tree *frames.Tree, enabled bool) {
	for _, s := range tree.Sessions() {
		s.Start(context.Background(), "Page.setInterceptFileChooserDialog", cdppage.SetInterceptFileChooserDialogParams{Enabled: enabled})
	}
}

// chooserNote is the note on an action after which the page requested a file chooser.
const chooserNote = "the page opened a file chooser; no file was provided"
