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

// windowLimit bounds the wait for the tabs that a page opens, and for their
// content.
const windowLimit = time.Second

// windows counts the windows that a page requested.
type windows struct {
	asked     int              // by a script, a link or a form; the browser may block them
	gestures  int              // those with a user gesture; the browser does not block them
	requested int              // by a click with the middle button or with Control
	opened    int              // tabs that the browser opened for these requests
	asker     *cdpconn.Session // session of the last request
}

func (n *windows) ask(s *cdpconn.Session, e cdppage.EventWindowOpen) {
	n.asked++
	if e.UserGesture {
		n.gestures++
	}
	n.asker = s
}

// OpenedTab counts a tab that the browser opened for the page. The backend calls
// it if it sets [Options].TabsKnown.
func (t *Tab) OpenedTab() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.windows.opened++
}

// newTabs returns the tabs that the page opened, and a note on the windows that
// the browser blocked.
func (w *watch) newTabs(ctx context.Context) (list []executor.Tab, note string) {
	ctx, cancel := context.WithTimeout(ctx, windowLimit)
	defer cancel()
	t, before := w.v.tab, w.windows
	t.mu.Lock()
	now := t.windows
	t.mu.Unlock()
	known := now.asked > before.asked && t.tabsKnown(ctx, now.asker)
	if known {
		t.mu.Lock()
		now.opened = t.windows.opened
		t.mu.Unlock()
	}
	want, requested := now.gestures-before.gestures, now.requested-before.requested
	if known {
		want = now.opened - before.opened
	}
	list = w.v.opts.NewTabs(ctx, want+requested)
	if !known {
		want = max(want, len(list)-requested)
	}
	return list, blockedWindows(now.asked - before.asked - want)
}

// tabsKnown waits until all tabs that were opened for the requests of s are
// counted, and reports whether they are. Opening a window stops the page until
// the tab exists, so the page responds only then.
func (t *Tab) tabsKnown(ctx context.Context, s *cdpconn.Session) bool {
	if t.opts.TabsKnown == nil {
		return false
	}
	err := s.Call(ctx, "Runtime.evaluate", map[string]any{"expression": "0", "silent": true}, nil)
	return (err == nil || errors.Is(err, executor.ErrCDP)) && t.opts.TabsKnown(ctx) == nil
}

// blockedWindows returns the note about n windows that were not opened.
func blockedWindows(n int) string {
	switch {
	case n <= 0:
		return ""
	case n == 1:
		return "a window that the page asked for was blocked"
	}
	return fmt.Sprintf("%d windows that the page asked for were blocked", n)
}

// Requested reports whether the tab's page had the browser open other, as by a
// click with the middle button, of which the browser names no opener. It waits,
// while ctx lets it, until other is on its way. Each tab is owned to once.
func (t *Tab) Requested(ctx context.Context, other *Tab) bool {
	t.mu.Lock()
	none := len(t.requested) == 0
	t.mu.Unlock()
	if none {
		return false
	}
	var url string
	other.await(ctx, func() (bool, error) {
		url = other.first
		if at := other.frames[other.main].url; url == "" && at != "about:blank" {
			url = at // it was on its way before us
		}
		return url != "", nil
	})
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.requested, url)
	if i < 0 {
		return false
	}
	t.requested = slices.Delete(t.requested, i, i+1)
	return true
}

// Arrived waits, until ctx is done, for a tab that a page opened to reach the
// document that it was opened for, and for the content of the document.
func (t *Tab) Arrived(ctx context.Context) {
	if t.Wake(ctx) != nil {
		return
	}
	t.await(ctx, func() (bool, error) {
		f := t.frames[t.main]
		_, under := t.started[t.main]
		blank := f.url == "" || f.url == "about:blank"
		return t.dialog != nil || (f.world != nil && !under && f.reached["DOMContentLoaded"] && (!blank || t.first == "" && f.reached["load"])), nil
	})
}
