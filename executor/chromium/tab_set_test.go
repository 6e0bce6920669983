package chromium

import "testing"

// TestAttachOnce checks that a target that is attached, or was released, is not attached again when
// its title changes: the start of the browser would wait for it forever.
func TestAttachOnce(t *testing.T) {
	ts := newTabSet()
	if !ts.attach("a") || ts.attach("a") || !ts.isAttaching() {
		t.Error("a new target is not attached once")
	}
	tab := ts.add("a", nil)
	ts.setPage("a", tab, nil)
	if ts.attach("a") || ts.isAttaching() {
		t.Error("an attached target is attached again")
	}
	ts.remove(tab)
	if !ts.attach("a") {
		t.Error("a detached target, which its user may have left and returned to, is not attached")
	}
	ts.notAttached("a")
	ts.release("a")
	if ts.attach("a") || ts.isAttaching() {
		t.Error("a released target is attached again")
	}
}
