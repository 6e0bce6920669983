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
