package frames

import (
	"cmp"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// A LastKnownPage describes the page of a tab that is not attached, or was handed over.
type LastKnownPage struct{ URL, Title string }

// A targetState says whether the target of a tab exists, is attached and has not crashed.
type targetState struct {
	endErr        error // why the tab is gone; nil while it exists
	crashed       bool
	isDetached    bool          // lastKnownPage describes the page
	detachErr     error         // why the target was detached last; nil before the first attachment
	lastKnownPage LastKnownPage // of a tab that is not attached
}

// Unusable returns why the tab can no longer be used, or nil.
func (s *targetState) Unusable() error {
	switch {
	case s.endErr != nil:
		return s.endErr
	case s.isDetached && s.detachErr != nil:
		return s.detachErr
	case s.crashed:
		return executor.Errorf(executor.ErrTargetGone, "Reload the tab, or open another.", "the page crashed")
	}
	return nil
}

// Gone returns why the target no longer exists, or nil.
func (s *targetState) Gone() error { return s.endErr }

// End records that the tab is gone, for the reason err unless one is known already.
func (s *targetState) End(err error) {
	s.endErr = cmp.Or(s.endErr, err)
	s.isDetached = false
}

// Crashed reports whether the renderer process of the page has crashed.
func (s *targetState) Crashed() bool { return s.crashed }

// ClearCrash forgets that the renderer process has crashed, because a navigation replaces it. It
// reports whether it had crashed.
func (s *targetState) ClearCrash() (crashed bool) {
	crashed, s.crashed = s.crashed, false
	return crashed
}

// Detached reports whether the target is not attached. Only LastKnownPage describes its page then.
func (s *targetState) Detached() bool { return s.isDetached }

// Gone returns why the target is gone, or nil. Its events have been handled then.
func (t *Tree) Gone() error {
	s := t.Lock()
	defer s.Unlock()
	return s.endErr
}

// Attached reports whether the target is not detached. It is also true after the tab is gone: see Gone.
func (t *Tree) Attached() bool {
	s := t.Lock()
	defer s.Unlock()
	return !s.isDetached
}

// DetachReason returns why the target was detached last, or nil.
func (s *targetState) DetachReason() error { return s.detachErr }

// Attach records that the target is attached.
func (s *targetState) Attach() { s.isDetached, s.detachErr = false, nil }

// LastKnownPage returns the page of a tab that is not attached. It is empty if it is not known.
func (s *targetState) LastKnownPage() LastKnownPage { return s.lastKnownPage }

// SetLastKnownPage sets what LastKnownPage returns.
func (s *targetState) SetLastKnownPage(p LastKnownPage) { s.lastKnownPage = p }
