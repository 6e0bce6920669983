package page

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	cdppage "github.com/chromedp/cdproto/page"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

// windowLimit bounds the wait for the tabs that a page opens, and for their content.
const windowLimit = time.Second

// popupCounts counts the popup windows that a page requested.
type popupCounts struct {
	opens        int              // requests by a script, a link or a form; the browser may block them
	gestures     int              // those of opens with a user gesture; the browser does not block them
	newTabClicks int              // requests by a click with the middle button or with Control
	opened       int              // tabs that the browser opened for opens
	opener       *cdpconn.Session // CDP session of the last request in opens
}

// add counts a window that the page of s requested.
func (n *popupCounts) add(s *cdpconn.Session, e cdppage.EventWindowOpen) {
	n.opens++
	if e.UserGesture {
		n.gestures++
	}
	n.opener = s
}

// OpenedTab counts a tab that the browser opened for the page. The backend calls it if it sets
// [Options].TabsKnown.
func (t *Tab) OpenedTab() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.popupsRequested.opened++
}

// newTabs returns the tabs that the page opened, and a note on the popup windows that the browser
// blocked.
func (w *changeTracker) newTabs(ctx context.Context) (list []executor.Tab, note string) {
	ctx, cancel := context.WithTimeout(ctx, windowLimit)
	defer cancel()
	t, before := w.v.tab, w.popups
	t.mu.Lock()
	now := t.popupsRequested
	t.mu.Unlock()
	known := now.opens > before.opens && t.tabsKnown(ctx, now.opener)
	if known {
		t.mu.Lock()
		now.opened = t.popupsRequested.opened
		t.mu.Unlock()
	}
	want, requested := now.gestures-before.gestures, now.newTabClicks-before.newTabClicks
	if known {
		want = now.opened - before.opened
	}
	list = w.v.opts.NewTabs(ctx, want+requested)
	if !known {
		want = max(want, len(list)-requested)
	}
	return list, blockedPopupsNote(now.opens - before.opens - want)
}

// tabsKnown waits until all tabs that were opened for the requests of s are counted, and reports
// whether they are. Opening a window blocks the page until the tab exists, so the page responds
// only after that.
func (t *Tab) tabsKnown(ctx context.Context, s *cdpconn.Session) bool {
	if t.opts.TabsKnown == nil {
		return false
	}
	err := s.Call(ctx, "Runtime.evaluate", map[string]any{"expression": "0", "silent": true}, nil)
	return (err == nil || errors.Is(err, executor.ErrCDP)) && t.opts.TabsKnown(ctx) == nil
}

// blockedPopupsNote returns the note on n blocked popup windows, or "".
func blockedPopupsNote(n int) string {
	switch {
	case n <= 0:
		return ""
	case n == 1:
		return "a popup window of the page was blocked"
	}
	return fmt.Sprintf("%d popup windows of the page were blocked", n)
}

// OpenedWithoutOpener reports whether the tab's page made the browser open other in a way for which
// the browser reports no opener, such as a click with the middle button. It waits until other has
// started a navigation or ctx is done. It returns true at most once for each tab that was opened.
func (t *Tab) OpenedWithoutOpener(ctx context.Context, other *Tab) bool {
	t.mu.Lock()
	none := len(t.newTabURLs) == 0
	t.mu.Unlock()
	if none {
		return false
	}
	var url string
	other.await(ctx, func() (bool, error) {
		url = other.first
		if at := other.frames[other.main].url; url == "" && at != "about:blank" {
			url = at // the navigation started before we attached
		}
		return url != "", nil
	})
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.newTabURLs, url)
	if i < 0 {
		return false
	}
	t.newTabURLs = slices.Delete(t.newTabURLs, i, i+1)
	return true
}

// WaitForInitialNavigation waits until the tab, which a page opened, has loaded the content of the
// document that it was opened for, or ctx is done.
func (t *Tab) WaitForInitialNavigation(ctx context.Context) {
	if t.EnsureAttached(ctx) != nil {
		return
	}
	t.await(ctx, func() (bool, error) {
		f := t.frames[t.main]
		_, navigating := t.started[t.main]
		blank := f.url == "" || f.url == "about:blank"
		return t.dialog != nil || (f.world != nil && !navigating && f.reached["DOMContentLoaded"] && (!blank || t.first == "" && f.reached["load"])), nil
	})
}
