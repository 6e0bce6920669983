package page

import "slices"

// maxPastDocuments is the maximum number of past documents that are remembered.
const maxPastDocuments = 100

// rememberPastDocument remembers the document of a frame before it is discarded, because a view
// transition continues to show it. Documents from before the current top document are remembered
// until the top document is replaced, because a view transition can also go from one top document
// to the next.
func (s *State) rememberPastDocument(f *frame) {
	d := s.documentOf(f)
	if d == nil || len(s.past) == maxPastDocuments || slices.ContainsFunc(s.past[s.pastStart:], func(l *document) bool {
		return l.frame == d.frame && l.origin == d.origin && l.url == d.url
	}) {
		return
	}
	s.past = append(s.past, d)
}

// pastDocuments returns the documents that the tab showed before, since the previous top document was
// loaded, the oldest first. complete means that there were no more.
func (t *frameTree) pastDocuments() (list []*document, complete bool) {
	s := t.Lock()
	defer s.Unlock()
	return slices.Clone(s.past), len(s.past) < maxPastDocuments
}

// hasRemovedFrames reports whether a past document was in a frame other than the top frame.
func (t *frameTree) hasRemovedFrames() bool {
	s := t.Lock()
	defer s.Unlock()
	return slices.ContainsFunc(s.past, func(d *document) bool { return !d.top() })
}
