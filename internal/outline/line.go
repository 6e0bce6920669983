package outline

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Longest pieces of page text on one line, in characters. Names beyond that
// help nobody to choose, and one long text must not eat the whole budget.
const (
	maxName  = 300
	maxText  = 2000
	maxValue = 500
	maxURL   = 300
)

// A line is one line of a rendered outline.
type line struct {
	node   *Node
	depth  int
	parent int // index of the line that it is in, -1 above the first
	end    int // index after the last line in it
	head   string
	tail   string // what follows the ref
	note   bool   // says something about the outline instead of the page
	noRef  bool   // a second line of its node
	shape  uint64 // equal for subtrees of the same roles
}

// refRoom is reserved for each ref before it is minted, ` [ref=e1234]`.
const refRoom = 12

// size is an upper bound of the line's characters for refs that fit refRoom.
func (l *line) size() int {
	n := 2*l.depth + 3 + utf8.RuneCountInString(l.head) + utf8.RuneCountInString(l.tail)
	if l.refs() {
		n += refRoom
	}
	return n
}

func (l *line) refs() bool { return l.node != nil && !l.noRef && l.node.Targetable() }

// role returns the first word of the line.
func (l *line) role() string {
	r, _, _ := strings.Cut(l.head, " ")
	return strings.TrimSuffix(r, ":")
}

// inViewport reports whether a person can see the line without scrolling.
func (l *line) inViewport() bool { return l.node != nil && l.node.Has(InViewport) }

// A liner flattens a tree into lines and leaves out structure that says nothing.
type liner struct {
	lines           []line
	interactiveOnly bool
}

// lay returns the lines of doc, the page's own line first.
func lay(doc *Document, interactiveOnly bool) []line {
	l := &liner{interactiveOnly: interactiveOnly, lines: make([]line, 0, doc.size+1)}
	var head strings.Builder
	head.WriteString("page ")
	quote(&head, shorten(Clean(doc.Title), maxName))
	if u := Clean(doc.URL); u != "" {
		head.WriteByte(' ')
		head.WriteString(shorten(strings.ReplaceAll(u, " ", "%20"), maxURL))
	}
	l.lines = append(l.lines, line{head: head.String(), parent: -1})
	l.document(doc, 1, 0)
	l.lines[0].end = len(l.lines)
	l.measure()
	return l.lines
}

// measure fills in shapes, children before parents.
func (l *liner) measure() {
	const prime = 1099511628211
	for i := len(l.lines) - 1; i >= 0; i-- {
		ln := &l.lines[i]
		h := uint64(14695981039346656037)
		role := ln.role()
		for j := range len(role) {
			h = (h ^ uint64(role[j])) * prime
		}
		for c := i + 1; c < ln.end; c = l.lines[c].end {
			h = (h ^ l.lines[c].shape) * prime
		}
		ln.shape = h
	}
}

func (l *liner) document(doc *Document, depth, parent int) {
	for _, n := range doc.Roots {
		l.add(n, depth, parent)
	}
	if doc.Behind > 0 {
		i := l.open(line{head: strconv.Itoa(doc.Behind) + " elements behind the dialog are left out", note: true}, depth, parent)
		l.lines[i].end = len(l.lines)
	}
}

func (l *liner) open(ln line, depth, parent int) int {
	ln.depth, ln.parent = depth, parent
	l.lines = append(l.lines, ln)
	return len(l.lines) - 1
}

func (l *liner) add(n *Node, depth, parent int) {
	if l.interactiveOnly {
		if !n.acts() && n.Flags&Scrollable == 0 && n.Role != "dialog" && n.Role != "alertdialog" {
			l.inside(n, depth, parent)
			return
		}
	} else if n.collapses() {
		l.inside(n, depth, parent)
		return
	}
	ln := line{node: n}
	var text string // of a node that holds nothing else
	hasText := false
	if !l.interactiveOnly && n.Frame == nil && n.Role != "text" && n.Value == "" {
		text, hasText = n.onlyText()
	}
	ln.head, ln.tail = n.print(text)
	i := l.open(ln, depth, parent)
	if n.Options != "" && !l.interactiveOnly {
		var b strings.Builder
		b.WriteString("options: ")
		plain(&b, shorten(Clean(n.Options), maxText))
		o := l.open(line{node: n, head: b.String(), noRef: true}, depth+1, i)
		l.lines[o].end = len(l.lines)
	}
	if !hasText {
		l.inside(n, depth+1, i)
	}
	l.lines[i].end = len(l.lines)
}

func (l *liner) inside(n *Node, depth, parent int) {
	if n.Frame != nil {
		l.document(n.Frame, depth, parent)
		return
	}
	for _, c := range n.Children {
		l.add(c, depth, parent)
	}
}

// collapses reports whether n is structure that says nothing, so that what is
// in it takes its place.
func (n *Node) collapses() bool {
	if n.ID != 0 || Clean(n.Name) != "" || n.Value != "" || n.Description != "" {
		return false
	}
	switch n.Role {
	case "generic", "none", "paragraph", "group", "rowgroup", "figure", "article", "region", "document", "form":
		return true
	case "text":
		return true // nothing but what nobody can see
	case "listitem", "cell", "gridcell":
		return len(n.Children) == 1 && n.Children[0].Role != "text" && n.Flags&^InViewport == 0
	}
	return false
}

// onlyText returns the text of a node that holds nothing but text and has no
// name, so that both fit on one line; for a row, the texts of its cells.
func (n *Node) onlyText() (string, bool) {
	if n.Name != "" || len(n.Children) == 0 {
		return "", false
	}
	if n.Role == "row" {
		return n.cells()
	}
	if len(n.Children) != 1 || n.Children[0].Role != "text" {
		return "", false
	}
	return n.Children[0].Name, true
}

// cells joins the cells of a row that are text and nothing more.
func (n *Node) cells() (string, bool) {
	var b strings.Builder
	for i, c := range n.Children {
		switch c.Role {
		case "cell", "gridcell", "columnheader", "rowheader":
		default:
			return "", false
		}
		if c.ID != 0 || c.Flags&^InViewport != 0 || c.Value != "" || c.Name != "" || c.Current != "" || c.Description != "" {
			return "", false
		}
		if i > 0 {
			b.WriteString(" | ")
		}
		switch {
		case len(c.Children) == 0:
		case len(c.Children) == 1 && c.Children[0].Role == "text":
			b.WriteString(strings.ReplaceAll(c.Children[0].Name, "|", `\|`))
		default:
			return "", false
		}
	}
	return b.String(), true
}

// print returns the line of n before and after its ref. text is the text of a
// node that holds nothing else.
func (n *Node) print(text string) (head, tail string) {
	role, name := Clean(n.Role), shorten(Clean(n.Name), maxName)
	var b strings.Builder
	b.Grow(len(role) + len(name) + stateRoom)
	b.WriteString(role)
	if n.Role == "text" {
		b.WriteString(": ")
		plain(&b, shorten(Clean(n.Name), maxText))
		return b.String(), ""
	}
	if name != "" {
		b.WriteByte(' ')
		quote(&b, name)
	}
	before := b.Len()
	n.printStates(&b)
	if n.Denied {
		b.WriteString(" (not allowed by policy)")
	}
	value := shorten(cleanLines(n.Value), maxValue)
	if value == "" {
		value = shorten(Clean(text), maxText)
	}
	if value != "" {
		b.WriteString(": ")
		plain(&b, value)
	}
	whole := b.String()
	return whole[:before], whole[before:]
}

// stateRoom is room for the quotes and states of most lines.
const stateRoom = 32

// stateNames are the flags that are shown, in their order on the line.
var stateNames = []struct {
	flag Flags
	name string
}{
	{Checked, "checked"}, {Mixed, "mixed"}, {Selected, "selected"}, {Pressed, "pressed"}, {Expanded, "expanded"}, {Collapsed, "collapsed"},
	{Disabled, "disabled"}, {ReadOnly, "readonly"}, {Required, "required"}, {Invalid, "invalid"}, {Multiple, "multiple"}, {Modal, "modal"}, {Focused, "focused"},
}

func (n *Node) printStates(b *strings.Builder) {
	if n.Level > 0 {
		b.WriteString(" [level=")
		b.WriteString(strconv.Itoa(n.Level))
		b.WriteByte(']')
	}
	for _, s := range stateNames {
		if n.Flags&s.flag != 0 {
			b.WriteString(" [")
			b.WriteString(s.name)
			b.WriteByte(']')
		}
	}
	if n.Flags&Scrollable != 0 && n.Role != "scrollable" {
		b.WriteString(" [scrollable]")
	}
	switch current := Clean(n.Current); current {
	case "":
	case "page", "step", "location", "date", "time":
		b.WriteString(" [current=" + current + "]")
	default:
		b.WriteString(" [current]")
	}
	for _, a := range [...]struct{ name, value string }{
		{"type", n.Type}, {"placeholder", n.Placeholder}, {"description", n.Description}, {"url", n.URL},
	} {
		if v := Clean(a.value); v != "" {
			b.WriteString(" [" + a.name + "=")
			if a.name == "type" {
				b.WriteString(v)
			} else {
				quote(b, shorten(v, maxURL))
			}
			b.WriteByte(']')
		}
	}
}
