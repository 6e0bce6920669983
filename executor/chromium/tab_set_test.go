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
	want := func(owner *session.Session, all, owned int) {
		t.Helper()
		if a, o := ts.pendingPopups(owner); a != all || o != owned {
			t.Errorf("%d popups are pending, %d of the session; want %d, %d", a, o, all, owned)
		}
	}
	var mine, other session.Session
	opener := ts.newTab("opener", nil)
	opener.SetOwner(&mine)
	want(&mine, 0, 0)
	listed := ts.newTab("listed", opener)
	ts.newTab("failed", opener)
	want(&mine, 2, 2)
	want(&other, 2, 0)
	ts.attachDone("listed", listed, nil)
	ts.attachFailed("failed")
	want(&mine, 0, 0)
}
