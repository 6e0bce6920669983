// Package outline turns what the page scripts' walk sends into the outline of
// roles and names that a model reads: decoding, joining the documents of a
// page, rendering within a budget, finding, and telling two outlines apart.
//
// It is pure computation. Its types are not safe for concurrent modification;
// a tree that nobody changes may be rendered from several goroutines.
package outline

import (
	"strings"
	"unicode/utf8"
)

// Flags are the states of a node that are yes or no. The page scripts have the
// same table (F in states.js).
type Flags uint32

// The flags.
const (
	Checked Flags = 1 << iota
	Mixed         // of a check box; with Pressed, of a toggle button
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
	Interactive // by its role
	Clickable   // although its role does not say so
	Scrollable
	Modal
	Multiple // several options may be selected
	Masked   // its value is a secret and was left in the page
)

// Has reports whether all of g is set.
func (f Flags) Has(g Flags) bool { return f&g == g }

// A Document is the outline of one document.
type Document struct {
	Key    string // the caller's name for the document, such as its loader id
	URL    string
	Title  string
	Roots  []*Node
	Behind int // nodes left out because a modal dialog is in front of them
	// Hosts are the numbers of elements that may have a closed shadow root, which only the protocol can find.
	Hosts []int
	// Customs are the numbers of custom elements that may have a role by ElementInternals, which only the protocol can read.
	Customs []int
	// Clickables are the numbers of clickable elements whose descendants may have click listeners, which only the protocol can read.
	Clickables []int
	Signs      []byte // JSON of what the walk noticed of obstacles, for package obstacle
	// Missing is how many frames of the page could not be read. The caller counts them.
	Missing int

	byID   map[int]*Node
	size   int     // how many nodes it has, frames not counted
	long   []long  // its own long texts, the title 'n' and the URL 'u'
	longAt []*Node // the nodes with long texts
}

// A long is what the walk says of a piece of text of more than keptLong
// characters, and of one that it did not send whole.
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

// keptLong is how many characters [Document.Shorten] leaves of a long text.
const keptLong = 20_000

// Shorten gives back the memory of the long texts of d and of the documents
// grafted into it. Diff still distinguishes the document from others.
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
			*s = strings.Clone(firstRunes(*s, keptLong))
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
	ID          int // of the element in its document; 0 is none, so no ref
	Role        string
	Name        string // of the role "text", the text
	Value       string
	URL         string // of a link whose name does not tell
	Placeholder string
	Description string
	Current     string // of aria-current
	Type        string // of an input whose role does not tell
	Options     string // of a select, a line each
	Level       int
	Flags       Flags
	Children    []*Node
	Frame       *Document // what an iframe shows, see Graft
	Denied      bool      // of an iframe whose document the policy left out

	long []long // what the walk said of its long texts
}

// piece returns the piece of text that the walk has under kind; nil when there is none.
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

// Targetable reports whether a ref for n makes sense.
func (n *Node) Targetable() bool { return n.ID != 0 }

// acts reports whether somebody can act on n, which is what InteractiveOnly keeps.
func (n *Node) acts() bool {
	return n.Flags&(Interactive|Clickable) != 0 || n.Role == "iframe" && n.ID != 0
}

// children returns the nodes in n, those of the document that it frames included.
func (n *Node) children() []*Node {
	if n.Frame != nil {
		return n.Frame.Roots
	}
	return n.Children
}

// Graft puts the document child under the iframe element with the number id
// of d. It reports false when d has no such node, as when the frame is hidden.
func (d *Document) Graft(id int, child *Document) bool {
	n := d.byID[id]
	if n == nil {
		return false
	}
	n.Frame = child
	return true
}

// Frames returns the numbers of the iframe elements of d, in document order.
func (d *Document) Frames() []int {
	var ids []int
	walk(d.Roots, func(n *Node) {
		if n.Role == "iframe" && n.ID != 0 && n.Doc == d {
			ids = append(ids, n.ID)
		}
	})
	return ids
}

// Node returns the node of the element with the number id in d, or nil.
func (d *Document) Node(id int) *Node { return d.byID[id] }

// Part returns the outline of one element alone, of d or of a document grafted
// into it; nil when it has no node.
func (d *Document) Part(key string, id int) *Document {
	var part *Document
	d.Nodes(func(n *Node) {
		if part == nil && n.ID == id && n.Doc.Key == key {
			part = &Document{Key: key, URL: d.URL, Title: d.Title, Roots: []*Node{n}, long: d.long}
		}
	})
	return part
}

// Nodes calls visit with every node of d and of the documents grafted into
// it, in document order.
func (d *Document) Nodes(visit func(*Node)) { walk(d.Roots, visit) }

func walk(nodes []*Node, visit func(*Node)) {
	for _, n := range nodes {
		visit(n)
		walk(n.children(), visit)
	}
}
