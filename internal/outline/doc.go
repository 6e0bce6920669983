// Package outline turns what the page scripts' walk sends into the outline of
// roles and names that a model reads: decoding, joining the documents of a
// page, rendering within a budget, finding, and telling two outlines apart.
//
// It is pure computation. Its types are not safe for concurrent modification;
// a tree that nobody changes may be rendered from several goroutines.
package outline

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
	Signs []byte // JSON of what the walk noticed of obstacles, for package obstacle
	// Missing is how many frames of the page could not be read. The caller counts them.
	Missing int

	byID map[int]*Node
	size int // how many nodes it has, frames not counted
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
	Options     string // of a select
	Level       int
	Flags       Flags
	Children    []*Node
	Frame       *Document // what an iframe shows, see Graft
	Denied      bool      // of an iframe whose document the policy left out
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

// Nodes calls visit with every node of d and of the documents grafted into
// it, in document order.
func (d *Document) Nodes(visit func(*Node)) { walk(d.Roots, visit) }

func walk(nodes []*Node, visit func(*Node)) {
	for _, n := range nodes {
		visit(n)
		walk(n.children(), visit)
	}
}
