package page

import (
	"cmp"
	"strings"

	"github.com/chromedp/cdproto/cdp"
)

// A navigation is a pending navigation of a frame.
type navigation struct {
	loader       cdp.LoaderID
	sameDocument bool
	again        bool // a step in the history or a reload
	history      bool // a step in the history
}

// navigationStarted records that a frame started to navigate. kind is the navigationType of
// Page.frameStartedNavigating. external means that the browser passes the URL to another program, so
// that the document does not change.
func (s *State) navigationStarted(id cdp.FrameID, loader cdp.LoaderID, url, kind string, external bool) {
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
	s.pending[id] = navigation{loader: loader, sameDocument: same, again: kind != "differentDocument", history: isHistoryStep(kind)}
}

// isHistoryStep reports whether a type of navigation is a step in the history.
func isHistoryStep(kind string) bool { return strings.HasPrefix(kind, "history") }

// navigatedWithinDocument records a same-document navigation.
func (s *State) navigatedWithinDocument(id cdp.FrameID, url string) {
	if f := s.frames[id]; f != nil {
		f.url = url
		f.sameDocumentNavigations++
		delete(s.pending, id)
	}
}

// documentOpened records that a script has opened the document of a frame, which now has the URL of the script's.
func (s *State) documentOpened(id cdp.FrameID, url string) {
	if f := s.frames[id]; f != nil {
		f.url = url
	}
}

// stoppedLoading records that a frame has no pending navigation, and returns the frame.
func (s *State) stoppedLoading(id cdp.FrameID) *frame {
	delete(s.pending, id)
	return s.frames[id]
}

// Navigation returns the pending navigation of a frame.
func (s *State) Navigation(id cdp.FrameID) (n navigation, pending bool) {
	n, pending = s.pending[id]
	return n, pending
}

// TopNavigation returns the pending navigation of the top frame.
func (s *State) TopNavigation() (n navigation, pending bool) { return s.Navigation(s.tree.main) }

// NavigationsStarted returns how many cross-document navigations of the top frame have started.
func (s *State) NavigationsStarted() int { return s.navigationsStarted }
