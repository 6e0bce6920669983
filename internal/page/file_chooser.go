package page

import (
	"context"
	"sync"

	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"
)

// A fileChooser is a file chooser that a page requested.
type fileChooser struct {
	frame cdp.FrameID
	node  cdp.BackendNodeID // the file input; 0 if the request has none
}

// fileChoosers are the file choosers that a tab's page requested. The zero value is ready to use. It
// is safe for concurrent use.
type fileChoosers struct {
	mu    sync.Mutex // guards the fields below
	total int
	last  fileChooser
}

// requested records a file chooser.
func (c *fileChoosers) requested(f fileChooser) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total++
	c.last = f
}

// count returns the number of file choosers.
func (c *fileChoosers) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total
}

// lastSince returns the last file chooser, and whether there were more than count.
func (c *fileChoosers) lastSince(count int) (fileChooser, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last, c.total > count
}

// interceptFileChoosers sets whether the browser reports a requested file chooser to us instead of
// showing it to the user. It does not wait for the browser.
func (t *Tab) interceptFileChoosers(enabled bool) {
	t.mu.Lock()
	sessions := t.sessions()
	t.mu.Unlock()
	for _, s := range sessions {
		s.Start(context.Background(), "Page.setInterceptFileChooserDialog", cdppage.SetInterceptFileChooserDialogParams{Enabled: enabled})
	}
}

// chooserNote is the note on an action after which the page requested a file chooser.
const chooserNote = "the page opened a file chooser; no file was provided"
