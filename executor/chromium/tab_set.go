package chromium

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/target"

	"github.com/chrome-mcp/chrome-mcp/internal/notify"
	"github.com/chrome-mcp/chrome-mcp/internal/page"
	"github.com/chrome-mcp/chrome-mcp/internal/session"
)

// A tabSet has the tabs of an instance, and the targets that become tabs. A tab is listed when sessions
// can see it. A tabSet is safe for concurrent use.
type tabSet struct {
	mu        sync.Mutex // guards the fields below
	changed   notify.Broadcast
	tabs      []*session.Tab
	targets   map[target.ID]*session.Tab
	attaching map[target.ID]bool
	released  map[target.ID]bool         // tabs of the user that a session has released; they are not attached again
	failed    map[target.ID]string       // tabs of the user that did not respond, with their URL then; they are not attached again there
	openers   map[target.ID]*session.Tab // the opener of each tab that a page opened
	opening   int                        // calls of NewTab in progress; until they return, new tabs without an opener are not listed
	lastRaw   int
}

func newTabSet() tabSet {
	return tabSet{
		targets: make(map[target.ID]*session.Tab), attaching: make(map[target.ID]bool),
		released: make(map[target.ID]bool), failed: make(map[target.ID]string), openers: make(map[target.ID]*session.Tab),
	}
}

// list returns the listed tabs.
func (ts *tabSet) list() []*session.Tab {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return slices.Clone(ts.tabs)
}

// tabOf returns the tab of a target, or nil if the target is not attached.
func (ts *tabSet) tabOf(id target.ID) *session.Tab {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.targets[id]
}

// allAttached returns the tabs, including those that are not listed yet.
func (ts *tabSet) allAttached() []*session.Tab {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return slices.Collect(maps.Values(ts.targets))
}

// has reports whether a target is a tab, or is being attached.
func (ts *tabSet) has(id target.ID) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.targets[id] != nil || ts.attaching[id]
}

// beginAttach records that a target is being attached. It returns false, and records nothing, if the target
// is attached, is being attached, was released, or did not respond at this URL.
func (ts *tabSet) beginAttach(id target.ID, url string) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	failedAt, failed := ts.failed[id]
	if ts.attaching[id] || ts.targets[id] != nil || ts.released[id] || failed && failedAt == url {
		return false
	}
	delete(ts.failed, id)
	ts.attaching[id] = true
	return true
}

// release records that a target is not to be attached again.
func (ts *tabSet) release(id target.ID) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.released[id] = true
}

// unresponsive records that a target, which attachFailed follows, is not to be attached again at this URL.
func (ts *tabSet) unresponsive(id target.ID, url string) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.failed[id] = url
}

// newTab returns a new tab for a target that is being attached. opener is nil if no page opened it.
func (ts *tabSet) newTab(id target.ID, opener *session.Tab) *session.Tab {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.attaching[id] = true
	ts.lastRaw++
	t := &session.Tab{Raw: strconv.Itoa(ts.lastRaw), Opener: opener}
	if opener != nil {
		t.SetOwner(opener.Owner())
		ts.openers[id] = opener
	}
	return t
}

// attachDone sets the page of a tab of newTab and adds the tab. It reports whether the tab is listed.
func (ts *tabSet) attachDone(id target.ID, t *session.Tab, p *page.Tab) (listed bool) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t.Page = p
	delete(ts.attaching, id)
	ts.targets[id] = t
	listed = ts.opening == 0 || t.Opener != nil
	if listed {
		ts.tabs = append(ts.tabs, t)
	}
	ts.changed.Notify()
	return listed
}

// attachFailed records that attaching to a target has failed.
func (ts *tabSet) attachFailed(id target.ID) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	delete(ts.attaching, id)
	ts.changed.Notify()
}

// targetGone records that a target was detached, and returns its tab, which is nil if it is not a tab.
func (ts *tabSet) targetGone(id target.ID) *session.Tab {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	delete(ts.openers, id)
	return ts.targets[id]
}

// remove removes a tab. It reports whether the tab was listed.
func (ts *tabSet) remove(t *session.Tab) (listed bool) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	listed = slices.Contains(ts.tabs, t)
	ts.tabs = slices.DeleteFunc(ts.tabs, func(x *session.Tab) bool { return x == t })
	maps.DeleteFunc(ts.targets, func(_ target.ID, x *session.Tab) bool { return x == t })
	ts.changed.Notify()
	return listed
}

// beginOpening prevents new tabs without an opener from being listed, until endOpening.
func (ts *tabSet) beginOpening() {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.opening++
}

// endOpening lists a tab that a call of NewTab has claimed. When no other call is in progress, it also
// lists the unclaimed tabs. It returns the tabs that were not listed before, in the order of newTab.
func (ts *tabSet) endOpening(claimed *session.Tab) (fresh []*session.Tab) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.opening--
	for _, t := range ts.targets {
		if !slices.Contains(ts.tabs, t) && (t == claimed || ts.opening == 0) {
			fresh = append(fresh, t)
		}
	}
	slices.SortFunc(fresh, func(a, b *session.Tab) int { return cmp.Or(len(a.Raw)-len(b.Raw), strings.Compare(a.Raw, b.Raw)) })
	ts.tabs = append(ts.tabs, fresh...)
	ts.changed.Notify()
	return fresh
}

// isAttaching reports whether a target is being attached.
func (ts *tabSet) isAttaching() bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return len(ts.attaching) > 0
}

// pending returns the number of tabs that are being attached or opened.
func (ts *tabSet) pending() int {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return len(ts.attaching) + ts.opening
}

// pendingPopups returns the number of tabs that pages opened and that are being attached.
func (ts *tabSet) pendingPopups() (n int) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for id := range ts.openers {
		if ts.attaching[id] {
			n++
		}
	}
	return n
}

// downloader returns the tab and the frame in it that a download of frame belongs to, or nil if
// there is no such tab. A tab that was opened only for a download shows no page and is closed
// immediately, so its opener is returned instead.
func (ts *tabSet) downloader(frame string) (*session.Tab, string) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if opener := ts.openers[target.ID(frame)]; opener != nil {
		if t := ts.targets[target.ID(frame)]; t == nil || t.Page.URL() == "" || t.Page.URL() == "about:blank" {
			return opener, string(opener.Page.Session().Target().TargetID)
		}
	}
	for _, t := range ts.tabs {
		if t.Page.HasFrame(frame) {
			return t, frame
		}
	}
	return nil, ""
}
