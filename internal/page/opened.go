package page

import (
	"context"
	"slices"
)

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

// Arrived waits, while ctx lets it, until the tab that a page opened is at
// the document that it was opened for.
func (t *Tab) Arrived(ctx context.Context) {
	if t.Wake(ctx) != nil {
		return
	}
	t.await(ctx, func() (bool, error) {
		f := t.frames[t.main]
		_, under := t.started[t.main]
		blank := f.url == "" || f.url == "about:blank"
		return t.dialog != nil || (f.world != nil && !under && (!blank || t.first == "" && f.reached["load"])), nil
	})
}
