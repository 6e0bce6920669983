package page

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	cdppage "github.com/chromedp/cdproto/page"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/record"
)

// popups are the popup windows and new tabs that a page requested. The zero value is ready to use.
// It is safe for concurrent use.
type popups struct {
	tabsKnown func(context.Context) error // Options.TabsKnown

	mu    sync.Mutex  // guards total
	total popupCounts // without newTabClicks
	// newTabURLs are the URLs of new tabs that clicks requested, without an opener.
	newTabURLs record.EventLog[string]
}

// popupCounts counts the popup windows that a page requested.
type popupCounts struct {
	opens        int              // requests by a script, a link or a form; the browser may block them
	gestures     int              // those of opens with a user gesture; the browser does not block them
	newTabClicks int              // requests by a click with the middle button or with Control
	opened       int              // tabs that the browser opened for opens
	opener       *cdpconn.Session // CDP session of the last request in opens
}

// requested counts a window that the page of s requested.
func (p *popups) requested(s *cdpconn.Session, e cdppage.EventWindowOpen) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total.opens++
	if e.UserGesture {
		p.total.gestures++
	}
	p.total.opener = s
}

// counts returns the current counts.
func (p *popups) counts() popupCounts {
	p.mu.Lock()
	defer p.mu.Unlock()
	counts := p.total
	counts.newTabClicks = p.newTabURLs.Count()
	return counts
}

// Opened counts a tab that the browser opened for the page. The backend calls it if it sets
// [Options].TabsKnown.
func (p *popups) Opened() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total.opened++
}

// newTabs returns the tabs that the page opened, and a note on the popup windows that the browser
// blocked.
func (w *changeTracker) newTabs(ctx context.Context) (list []executor.Tab, note string) {
	ctx, cancel := context.WithTimeout(ctx, w.v.tab.timing.NewWindow)
	defer cancel()
	t, before := w.v.tab, w.popups
	now := t.Popups.counts()
	want, requested := now.gestures-before.gestures, now.newTabClicks-before.newTabClicks
	known := now.opens > before.opens && t.Popups.awaitTabs(ctx, now.opener)
	if known {
		want = t.Popups.counts().opened - before.opened
	}
	list = w.v.opts.NewTabs(ctx, w.start, want+requested)
	if !known {
		want = max(want, len(list)-requested)
	}
	list = slices.DeleteFunc(list, func(tab executor.Tab) bool { return tab.ID == "" })
	return list, blockedPopupsNote(now.opens - before.opens - want)
}

// awaitTabs waits until all tabs that were opened for the requests of s are counted, and reports
// whether they are. Opening a window blocks the page until the tab exists, so the page responds
// only after that.
func (p *popups) awaitTabs(ctx context.Context, s *cdpconn.Session) bool {
	if p.tabsKnown == nil {
		return false
	}
	err := s.Call(ctx, "Runtime.releaseObjectGroup", map[string]any{"objectGroup": "none"}, nil) // does nothing
	return (err == nil || errors.Is(err, executor.ErrCDP)) && p.tabsKnown(ctx) == nil
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
func (p *popups) OpenedWithoutOpener(ctx context.Context, other *Tab) bool {
	if p.newTabURLs.Empty() {
		return false
	}
	var url string
	other.tree.Await(ctx, func(s *frames.State) (bool, error) {
		url = s.FirstURL()
		if at := s.Top().URL(); url == "" && at != "about:blank" {
			url = at // the navigation started before we attached
		}
		return url != "", nil
	})
	return p.newTabURLs.Remove(func(requested string) bool { return requested == url })
}

// WaitForInitialNavigation waits until the tab, which a page opened, has loaded the content of the
// document that it was opened for, or ctx is done.
func (t *Tab) WaitForInitialNavigation(ctx context.Context) {
	if t.EnsureAttached(ctx) != nil {
		return
	}
	t.tree.Await(ctx, func(s *frames.State) (bool, error) {
		f := s.Top()
		_, navigating := s.TopNavigation()
		blank := f.URL() == "" || f.URL() == "about:blank"
		return t.dialogs.Open() != nil || (f.World() != "" && !navigating && f.Reached("DOMContentLoaded") && (!blank || s.FirstURL() == "" && f.Reached("load"))), nil
	})
}
