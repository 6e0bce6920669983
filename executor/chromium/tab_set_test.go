package chromium

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/session"
)

// TestAttachOnce checks that a target that is attached, or was released, is not attached again when
// its title changes: the start of the browser would wait for it forever.
func TestAttachOnce(t *testing.T) {
	ts := newTabSet()
	if !ts.beginAttach("a") || ts.beginAttach("a") || !ts.isAttaching() {
		t.Error("a new target is not attached once")
	}
	tab := ts.newTab("a", nil)
	ts.attachDone("a", tab, nil)
	if ts.beginAttach("a") || ts.isAttaching() {
		t.Error("an attached target is attached again")
	}
	ts.remove(tab)
	if !ts.beginAttach("a") {
		t.Error("a detached target, which its user may have left and returned to, is not attached")
	}
	ts.attachFailed("a")
	ts.release("a")
	if ts.beginAttach("a") || ts.isAttaching() {
		t.Error("a released target is attached again")
	}
}

// TestPendingPopups checks that a tab that a page opened counts toward the limit of its session from
// the first event on: it is listed later than the next one is opened.
func TestPendingPopups(t *testing.T) {
	ts := newTabSet()
	var mine, other session.Session
	want := func(all, ofMine int) {
		t.Helper()
		if a, m, o := ts.pendingPopups(nil), ts.pendingPopups(&mine), ts.pendingPopups(&other); a != all || m != ofMine || o != 0 {
			t.Errorf("%d popups are pending, %d and %d of the sessions; want %d, %d and 0", a, m, o, all, ofMine)
		}
	}
	opener := ts.newTab("opener", nil)
	opener.SetOwner(&mine)
	want(0, 0)
	listed := ts.newTab("listed", opener)
	ts.newTab("failed", opener)
	want(2, 2)
	ts.attachDone("listed", listed, nil)
	ts.attachFailed("failed")
	want(0, 0)
}
