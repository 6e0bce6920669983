package frames

import (
	"cmp"
	"strings"

	"github.com/chromedp/cdproto/cdp"
)

// A Navigation is a pending navigation of a frame.
type Navigation struct {
	Loader       cdp.LoaderID
	SameDocument bool
	Again        bool // a step in the history or a reload
	History      bool // a step in the history
}

// NavigationStarted records that a frame started to navigate. kind is the navigationType of
// Page.frameStartedNavigating. external means that the browser passes the URL to another program, so
// that the document does not change.
func (s *State) NavigationStarted(id cdp.FrameID, loader cdp.LoaderID, url, kind string, external bool) {
	if id == s.tree.main {
		s.firstURL = cmp.Or(s.firstURL, url)
	}
	if external {
		return
	}
	same := kind == "sameDocument" || kind == "historySameDocument"
	if id == s.tree.main && !same {
		s.navigationsStarted++
	}
	s.pending[id] = Navigation{Loader: loader, SameDocument: same, Again: kind != "differentDocument", History: isHistoryStep(kind)}
}

// isHistoryStep reports whether a type of navigation is a step in the history.
func isHistoryStep(kind string) bool { return strings.HasPrefix(kind, "history") }

// NavigatedWithinDocument records a same-document navigation.
func (s *State) NavigatedWithinDocument(id cdp.FrameID, url string) {
	if f := s.frames[id]; f != nil {
		f.url = url
		f.sameDocumentNavigations++
		delete(s.pending, id)
	}
}

// DocumentOpened records that document.open was called in a frame. Its document then has the URL of the
// document of the caller.
func (s *State) DocumentOpened(id cdp.FrameID, url string) {
	if f := s.frames[id]; f != nil {
		f.url = url
	}
}

// StoppedLoading records that a frame has no pending navigation, and returns the frame.
func (s *State) StoppedLoading(id cdp.FrameID) *Frame {
	delete(s.pending, id)
	return s.frames[id]
}

// Navigation returns the pending navigation of a frame.
func (s *State) Navigation(id cdp.FrameID) (n Navigation, pending bool) {
	n, pending = s.pending[id]
	return n, pending
}

// TopNavigation returns the pending navigation of the top frame.
func (s *State) TopNavigation() (n Navigation, pending bool) { return s.Navigation(s.tree.main) }

// NavigationsStarted returns how many cross-document navigations of the top frame have started.
func (s *State) NavigationsStarted() int { return s.navigationsStarted }
