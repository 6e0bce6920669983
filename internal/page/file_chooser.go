package page

import (
	"context"

	cdppage "github.com/chromedp/cdproto/page"
)

// interceptFileChoosers sets whether the browser reports a requested file chooser to us instead of
// showing it to the user. It does not wait for the browser.
func (t *Tab) interceptFileChoosers(enabled bool) {
	for _, s := range t.tree.Sessions() {
		s.Start(context.Background(), "Page.setInterceptFileChooserDialog", cdppage.SetInterceptFileChooserDialogParams{Enabled: enabled})
	}
}

// chooserNote is the note on an action after which the page requested a file chooser.
const chooserNote = "the page opened a file chooser; no file was provided"
