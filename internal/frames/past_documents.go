package frames

import "slices"

// maxPastDocuments is the maximum number of past documents that are remembered.
const maxPastDocuments = 100

// rememberPastDocument remembers the document of a frame before it is discarded, because a view
// transition continues to show it. Documents from before the current top document are remembered
// until the top document is replaced, because a view transition can also go from one top document
// to the next.
func (s *State) rememberPastDocument(f *Frame) {
	d := s.Document(f)
	if d == nil || slices.ContainsFunc(s.pastDocuments[s.countBeforeTop:], func(l *Document) bool {
		return l.Frame == d.Frame && l.Origin == d.Origin && l.URL == d.URL
	}) {
		return
	}
	if len(s.pastDocuments) == maxPastDocuments {
		s.pastDocumentsLost = true
		return
	}
	s.pastDocuments = append(s.pastDocuments, d)
}

// PastDocuments returns the documents that the tab showed before, since the previous top document
// was loaded, the oldest first. complete means that there were no more.
func (t *Tree) PastDocuments() (list []*Document, complete bool) {
	s := t.Lock()
	defer s.Unlock()
	return slices.Clone(s.pastDocuments), !s.pastDocumentsLost && !s.lostBeforeTop
}

// HasPastFrameDocuments reports whether one of PastDocuments was in a frame other than the top frame. The
// frame may still exist.
func (t *Tree) HasPastFrameDocuments() bool {
	s := t.Lock()
	defer s.Unlock()
	return slices.ContainsFunc(s.pastDocuments, func(d *Document) bool { return !d.IsTop() })
}
