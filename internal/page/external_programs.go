package page

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/cdp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/phrase"
	"github.com/chrome-mcp/chrome-mcp/internal/record"
)

// An externalNavigation is a navigation to a URL that the browser passes to another program.
type externalNavigation struct {
	scheme string
	frame  cdp.FrameID
}

// ownSchemes are the URL schemes that a browser opens itself or denies to pages.
var ownSchemes = []string{"http", "https", "about", "data", "blob", "javascript", "file", "filesystem", "view-source", "devtools"}

// programScheme returns the scheme of a URL that a browser passes to another program, or "" for
// other URLs.
func programScheme(url string) string {
	scheme, _, ok := strings.Cut(url, ":")
	if !ok || len(scheme) > 40 || slices.Contains(ownSchemes, scheme) || strings.HasPrefix(scheme, "chrome") || strings.HasPrefix(scheme, "web+") {
		return ""
	}
	return scheme
}

// externalNavigations are the navigations of a tab to other programs.
type externalNavigations struct {
	record.EventLog[externalNavigation]
	tree *frames.Tree
}

// record records a navigation if the browser passes it to another program, and reports whether it
// does.
func (e *externalNavigations) record(frame cdp.FrameID, url string) bool {
	scheme := programScheme(url)
	if scheme == "" {
		return false
	}
	e.Add(externalNavigation{scheme, frame})
	return true
}

// detached reports whether err is a detachment and the tab has navigated to other programs more than
// count times. Chrome detaches an extension's debugger at such a navigation. The document stays, and
// the next call attaches to it again.
func (e *externalNavigations) detached(err error, count int) bool {
	return errors.Is(err, executor.ErrDetached) && e.Count() > count && e.tree.Gone() == nil
}

// externalNavigationsNote returns the note on the navigations to other programs after the first count.
func (v *View) externalNavigationsNote(ctx context.Context, count int) string {
	var notes []string
	for _, n := range v.tab.externalNavigations.Since(count) {
		link := "a link for another program"
		if v.client.CanRead(ctx, n.frame) {
			link = fmt.Sprintf("the link to %q", n.scheme+":")
		}
		note := link + " was not opened: this browser opens no other programs"
		if !v.tab.opts.NoPrograms {
			note = link + " was passed to the browser, which may ask the user whether to open another program: the tab accepts no input until the user answers"
		}
		if !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	return phrase.Notes(notes...)
}
