package session

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// tabIDs are the ids of the tabs of a session.
type tabIDs struct {
	provider BrowserProvider
	browser  string // SessionOptions.Browser
}

// prefix returns the part of the ids that names the backend.
func (i tabIDs) prefix() string {
	if i.provider.Kind() == executor.BackendExtension {
		return "ext"
	}
	return "cdp"
}

// of returns the id of a tab of the running browser b.
func (i tabIDs) of(b BrowserInstance, t *Tab) executor.TabID {
	return executor.NewTabID(i.prefix(), cmp.Or(t.InstanceID, b.ID()), t.Raw).In(i.browser)
}

// find returns the tab of b with the given id, or nil.
func (i tabIDs) find(b BrowserInstance, id executor.TabID) *Tab {
	for _, t := range b.Tabs() {
		if i.of(b, t) == id {
			return t
		}
	}
	return nil
}

// inBrowser returns the end of a message about the browser if it has a name.
func (i tabIDs) inBrowser() string {
	if i.browser == "" {
		return ""
	}
	return " in browser " + i.browser
}

// A selection is which tab the calls of a client without a tab id refer to. It is safe for
// concurrent use.
type selection struct {
	mu     sync.Mutex // guards the fields below
	active executor.TabID
	chosen bool // the client has opened or selected a tab
	// failedLoad is the error of the last tab that the client opened, if it was closed because its page did
	// not load, and the client has chosen no tab since.
	failedLoad error
	// newestShared is when the newest tab that noticeShared has seen was shared, and at first when the
	// session started.
	newestShared time.Time
}

// tab returns the id of the active tab, or "" if none is active.
func (l *selection) tab() executor.TabID {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.active
}

// isChosen reports whether the client has opened or selected a tab.
func (l *selection) isChosen() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.chosen
}

// choose makes a tab active that the client has opened or selected.
func (l *selection) choose(id executor.TabID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active, l.chosen, l.failedLoad = id, true, nil
}

// replace makes a tab active unless another call has selected a tab since before was active.
func (l *selection) replace(before, id executor.TabID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.active == before {
		l.active = id
	}
}

// noticeShared returns the tabs that the user has shared manually since its last call. If a tab is
// active that the client neither opened nor selected, the newest shared tab becomes active, because
// it is the tab that the user refers to. The result does not contain the newest while no tab is
// active.
func (l *selection) noticeShared(b BrowserInstance, ids tabIDs) []*Tab {
	l.mu.Lock()
	defer l.mu.Unlock()
	var fresh []*Tab
	for _, t := range b.Tabs() {
		if t.Owner() == nil && t.SharedByUserAt.After(l.newestShared) {
			fresh = append(fresh, t)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	slices.SortStableFunc(fresh, func(a, b *Tab) int { return a.SharedByUserAt.Compare(b.SharedByUserAt) })
	newest := fresh[len(fresh)-1]
	l.newestShared = newest.SharedByUserAt
	if !l.chosen && ids.browser == "" { // otherwise the active tab may be in another browser
		switch before := ids.find(b, l.active); before {
		case nil:
			l.active = "" // soleTab decides
			fresh = fresh[:len(fresh)-1]
		case newest:
			fresh = fresh[:len(fresh)-1]
		default:
			l.active = ids.of(b, newest)
		}
	}
	return fresh
}

// setFailedLoad stores the error of a load whose tab was closed, of a client that has no other tab,
// so that the next call can report why.
func (l *selection) setFailedLoad(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failedLoad = err
}

// whyClosed returns the end of a message that no tab is open, if the only tab of the client was closed
// because its page did not load.
func (l *selection) whyClosed() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := errors.AsType[*executor.Error](l.failedLoad)
	if !ok {
		return ""
	}
	return ": the tab for the last page was closed, because its page did not load (" + e.Message() + ")"
}
