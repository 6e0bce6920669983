package frames

import (
	"cmp"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"
)

// A Navigation is a pending navigation of a frame.
type Navigation struct {
	Loader       cdp.LoaderID
	SameDocument bool
	Revisit      bool // a step in the history or a reload
	HistoryStep  bool
}

// navigationStarted records that a frame starts to navigate.
func (s *State) navigationStarted(e cdppage.EventFrameStartedNavigating) {
	if e.FrameID == s.tree.topFrame {
		s.firstURL = cmp.Or(s.firstURL, e.URL)
	}
	if s.tree.observer.OpensProgram(e.FrameID, e.URL) {
		return // the document does not change
	}
	kind := string(e.NavigationType)
	sameDocument := kind == "sameDocument" || kind == "historySameDocument"
	if e.FrameID == s.tree.topFrame && !sameDocument {
		s.navigationsStarted++
	}
	s.pendingNavigations[e.FrameID] = Navigation{Loader: e.LoaderID, SameDocument: sameDocument, Revisit: kind != "differentDocument", HistoryStep: strings.HasPrefix(kind, "history")}
}

// TopNavigation returns the pending navigation of the top frame.
func (s *State) TopNavigation() (n Navigation, pending bool) {
	n, pending = s.pendingNavigations[s.tree.topFrame]
	return n, pending
}

// NavigationsStarted returns how many cross-document navigations of the top frame have started.
func (s *State) NavigationsStarted() int { return s.navigationsStarted }
