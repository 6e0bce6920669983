// Package outline converts the result of the page scripts' walk to the outline of roles and names
// that a model reads: it decodes walks, joins the documents of a page, renders an outline within a
// budget, searches it, and compares two outlines.
//
// It is pure computation. Its types are not safe for concurrent modification; a tree that is not
// being modified may be rendered by several goroutines.
package outline

import (
	"strings"
	"unicode/utf8"

	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// Flags are the boolean states of a node. The page scripts have the same table (F in
// aria_states.js).
type Flags uint32

// The flags.
const (
	Checked Flags = 1 << iota
	Mixed         // of a checkbox; with Pressed, of a toggle button
	Disabled
	Expanded
	Collapsed
	Selected
	Pressed
	Required
	Invalid
	ReadOnly
	Focused
	InViewport
	Interactive // because of its role
	Clickable   // although its role is not interactive
	Scrollable
	Modal
	Multiple // several options can be selected
	Masked   // its value is secret and was not sent
	Marked   // in the element that the walk was to mark
	Partial  // its value may be a part of the text of an editor
)

// Has reports whether all of g is set.
func (f Flags) Has(g Flags) bool { return f&g == g }

// A Document is the outline of one document.
type Document struct {
	Key        string // identifies the document for the caller, such as its loader id
	URL        string
	Title      string
	Roots      []*Node
	InertNodes int // nodes omitted because they are behind a modal dialog
	// ClosedRootCandidates are the ids of elements that may have a closed shadow root, which only
	// the protocol can find.
	ClosedRootCandidates []int
	// Customs are the ids of custom elements that may have a role set with ElementInternals, which
	// only the protocol can read.
	Customs []int
	// Clickables are the ids of clickable elements whose descendants may have click listeners,
	// which only the protocol can read.
	Clickables []int
	// Record is the number of the record in which the page scripts stored what the elements were.
	Record int
	// Replaced are the ids of elements that are other things than in the client's previous walk.
	Replaced        []int
	ObstacleSignals []byte // JSON of the signals that the walk collected for package obstacle
	// UnreadFrames is the number of frames of the page that could not be read. The caller counts
	// them.
	UnreadFrames int

	byID   map[int]*Node
	size   int     // number of nodes, without frames
	long   []long  // long texts of the document itself: title 'n' and URL 'u'
	longAt []*Node // nodes with long texts
}

// A long is what the walk reports about a piece of text of more than keptLong characters, and about
// one that it did not send completely.
type long struct {
	kind byte // as in the walk's columns
	rest int  // characters that were not sent
	hash uint32
}

func longOf(list []long, kind byte) long {
	for _, l := range list {
		if l.kind == kind {
			return l
		}
	}
	return long{}
}

// keptLong is the number of characters of a long text that [Document.Shorten] retains.
const keptLong = 20_000

// Shorten releases the memory of the long texts of d and of the documents grafted into it. Diff
// still distinguishes the document from others.
func (d *Document) Shorten() {
	d.shortenOwn()
	d.Nodes(func(n *Node) {
		if n.Frame != nil {
			n.Frame.shortenOwn()
		}
	})
}

func (d *Document) shortenOwn() {
	cut := func(s *string, l *long) {
		if n := utf8.RuneCountInString(*s); l.hash != 0 && n > keptLong {
			l.rest += n - keptLong
			*s = strings.Clone(pagetext.First(*s, keptLong))
		}
	}
	for i := range d.long {
		cut(map[byte]*string{'n': &d.Title, 'u': &d.URL}[d.long[i].kind], &d.long[i])
	}
	for _, n := range d.longAt {
		for i := range n.long {
			cut(n.piece(n.long[i].kind), &n.long[i])
		}
	}
}

// A Node is one line of an outline.
type Node struct {
	Doc         *Document
	ID          int // of the element in its document; 0 if there is none, in which case it has no ref
	Role        string
	Name        string // for the role "text", the text
	Value       string
	URL         string // of a link whose name does not identify it
	Placeholder string
	Description string
	Current     string // of aria-current
	Type        string // of an input whose role does not identify it
	Options     string // of a select, one per line
	OptionCount int    // of a select with many
	Level       int
	Flags       Flags
	Children    []*Node
	Frame       *Document // document of an iframe, see Graft
	Denied      bool      // iframe whose document the policy denies

	long []long // what the walk reported about its long texts
}

// piece returns the piece of text that the walk calls kind, or nil.
func (n *Node) piece(kind byte) *string {
	switch kind {
	case 'n':
		return &n.Name
	case 'v':
		return &n.Value
	case 'u':
		return &n.URL
	case 'p':
		return &n.Placeholder
	case 'd':
		return &n.Description
	case 'c':
		return &n.Current
	case 't':
		return &n.Type
	case 'o':
		return &n.Options
	}
	return nil
}

// Has reports whether all of f is set.
func (n *Node) Has(f Flags) bool { return n.Flags.Has(f) }

// isInteractive reports whether n accepts actions, which is what InteractiveOnly filters by.
func (n *Node) isInteractive() bool {
	return n.Flags&(Interactive|Clickable) != 0 || n.Role == "iframe" && n.ID != 0
}

// children returns the child nodes of n, including those of its framed document.
func (n *Node) children() []*Node {
	if n.Frame != nil {
		return n.Frame.Roots
	}
	return n.Children
}

// Graft puts the document child under the iframe element with the given id. It reports false if d
// has no such node, for example because the frame is hidden.
func (d *Document) Graft(id int, child *Document) bool {
	n := d.byID[id]
	if n == nil {
		return false
	}
	n.Frame = child
	return true
}

// Node returns the node of the element with the given id in d, or nil.
func (d *Document) Node(id int) *Node { return d.byID[id] }

// Part returns the outline of one element of d or of a document grafted into it, or nil if the
// element has no node.
func (d *Document) Part(key string, id int) *Document {
	var part *Document
	d.Nodes(func(n *Node) {
		if part == nil && n.ID == id && n.Doc.Key == key {
			part = &Document{Key: key, URL: d.URL, Title: d.Title, Roots: []*Node{n}, long: d.long}
		}
	})
	return part
}

// Focused returns the node that has the focus, in the innermost document that has it, or nil.
func (d *Document) Focused() (n *Node) {
	d.Nodes(func(at *Node) {
		if at.Has(Focused) {
			n = at
		}
	})
	return n
}

// Nodes calls visit with every node of d and of the documents grafted into it, in document order.
func (d *Document) Nodes(visit func(*Node)) { walk(d.Roots, visit) }

func walk(nodes []*Node, visit func(*Node)) {
	for _, n := range nodes {
		visit(n)
		walk(n.children(), visit)
	}
}
