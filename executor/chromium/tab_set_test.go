package chromium

import "testing"

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

// TestPendingPopups checks that a tab that a page opened is counted until it is attached or that has failed.
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
