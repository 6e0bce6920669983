package chromium

import (
	"slices"
	"strconv"
	"testing"

	"github.com/chromedp/cdproto/target"

	"github.com/chrome-mcp/chrome-mcp/internal/session"
)

// TestAttachOnce checks that a target that is attached, or was released, is not attached again when
// its title changes: the start of the browser would wait for it forever.
func TestAttachOnce(t *testing.T) {
	ts := newTabSet()
	if !ts.beginAttach("a", "u") || ts.beginAttach("a", "u") || !ts.isAttaching() {
		t.Error("a new target is not attached once")
	}
	tab := ts.newTab("a", nil)
	ts.attachDone("a", tab, nil)
	if ts.beginAttach("a", "u") || ts.isAttaching() {
		t.Error("an attached target is attached again")
	}
	ts.remove(tab)
	if !ts.beginAttach("a", "u") {
		t.Error("a detached target, which its user may have left and returned to, is not attached")
	}
	ts.attachFailed("a")
	ts.release("a")
	if ts.beginAttach("a", "u") || ts.isAttaching() {
		t.Error("a released target is attached again")
	}
}

// TestPendingPopups checks that a tab that a page opened is counted until it is attached or
// attaching fails.
func TestPendingPopups(t *testing.T) {
	ts := newTabSet()
	want := func(want int) {
		t.Helper()
		if n := ts.pendingPopups(); n != want {
			t.Errorf("%d popups are pending, want %d", n, want)
		}
	}
	opener := ts.newTab("opener", nil)
	want(0)
	listed := ts.newTab("listed", opener)
	ts.newTab("failed", opener)
	want(2)
	ts.attachDone("listed", listed, nil)
	ts.attachFailed("failed")
	want(0)
}

// TestOrderOfTabs checks that tabs that are listed together are in the order in which they were
// attached.
func TestOrderOfTabs(t *testing.T) {
	ts := newTabSet()
	ts.beginOpening()
	var want []*session.Tab
	for i := range 12 {
		id := target.ID(strconv.Itoa(i))
		tab := ts.newTab(id, nil)
		want = append(want, tab)
		ts.attachDone(id, tab, nil)
	}
	if fresh := ts.endOpening(nil); !slices.Equal(fresh, want) || !slices.Equal(ts.list(), want) {
		t.Error("the tabs are in another order")
	}
}
