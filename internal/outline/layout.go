package outline

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
	"github.com/chrome-mcp/chrome-mcp/internal/phrase"
)

// Maximum length of pieces of page text on one line, in characters, unless the budget allows more.
// Longer names do not help to select an element, and one long text must not use up the budget.
const (
	maxName        = 300
	maxText        = 2000
	maxValue       = 500
	maxDescription = 200
	maxPlaceholder = 100
	maxTarget      = 100 // of a link
	maxURL         = 300 // of the page
)

// A line is one line of a rendered outline.
type line struct {
	node    *Node
	depth   int
	parent  int // index of the parent line, -1 for the first
	end     int // index after the last descendant line
	head    string
	tail    string   // text after the ref
	note    bool     // describes the outline instead of the page
	noRef   bool     // second line of its node
	shape   uint64   // equal for subtrees with the same roles
	cuts    []excess // pieces of text that are truncated
	unknown bool     // part of the text is not known
	whole   string   // complete text of these pieces, to the extent that it is known, for Find
	rest    string   // distinguishes these pieces from others with the same start
	found   bool     // options in it match Find
}

// An excess describes a piece of text that is longer than its line shows.
type excess struct{ size, limit int }

// refReserve is reserved for each ref before it is minted, ` [ref=e1234]`.
const refReserve = 12

// size is an upper bound of the characters of the line if its ref fits refReserve.
func (l *line) size() int {
	n := 2*l.depth + 3 + utf8.RuneCountInString(l.head) + utf8.RuneCountInString(l.tail)
	if l.refs() {
		n += refReserve
	}
	return n
}

// refs reports whether the line can have a ref.
func (l *line) refs() bool { return l.node != nil && !l.noRef && l.node.ID != 0 }

// role returns the first word of the line.
func (l *line) role() string {
	r, _, _ := strings.Cut(l.head, " ")
	return strings.TrimSuffix(r, ":")
}

// inViewport reports whether the line's element is visible without scrolling.
func (l *line) inViewport() bool { return l.node != nil && l.node.Has(InViewport) }

// A liner flattens a tree into lines and omits meaningless structure.
type liner struct {
	lines           []line
	interactiveOnly bool
	part            bool               // of a page, which was requested
	factor          int                // multiple of the default length at which text is truncated
	most            int                // maximum length of a piece, in characters; 0 is the default length
	match           func(string) []int // finds the part of a long text to show; nil shows the start
}

// lay returns the lines of doc, the page's line first.
func (l *liner) lay(doc *Document) []line {
	l.lines = make([]line, 0, doc.size+1)
	page := line{parent: -1}
	var head strings.Builder
	head.WriteString("page ")
	quote(&head, l.piece(&page, pagetext.Clean(doc.Title), longOf(doc.long, 'n'), maxName).text)
	if u := pagetext.Clean(doc.URL); u != "" {
		head.WriteByte(' ')
		head.WriteString(l.piece(&page, strings.ReplaceAll(u, " ", "%20"), longOf(doc.long, 'u'), maxURL).text)
	}
	page.head = head.String()
	l.lines = append(l.lines, page)
	l.document(doc, 1, 0)
	l.lines[0].end = len(l.lines)
	l.measure()
	return l.lines
}

// wordStart returns the position, in characters, of the start of the word of s at the position at. A
// part of a text that begins within a word could begin within a value that is masked. It returns at
// for a word that is longer than a value can be.
func wordStart(s string, at int) int {
	before := pagetext.First(s, at)
	start := utf8.RuneCountInString(before[:1+strings.LastIndexFunc(before, unicode.IsSpace)])
	if at-start > maxValue {
		return at
	}
	return start
}

// A part is the part of a piece of text that a line shows.
type part struct {
	text           string
	from, to, size int // in characters: start, end, and size of the piece; 0 for a complete piece
}

// mark returns which characters of the piece p has, or "" if it has all.
func (p part) mark() string {
	switch {
	case p.size == 0:
		return ""
	case p.from > 0:
		return fmt.Sprintf(" [characters %d to %d of %d]", p.from+1, p.to, p.size)
	}
	return fmt.Sprintf(" [%d of %d characters]", p.to, p.size)
}

// piece returns the part of a piece of text that ln shows, and records in ln what it omits. If Find
// matches a later part, it shows that part.
func (l *liner) piece(ln *line, s string, known long, limit int) part {
	if l.most > 0 {
		limit = min(limit, l.most)
	}
	if known.rest == 0 && len(s) <= limit {
		return part{text: s}
	}
	have := utf8.RuneCountInString(s)
	size := have + known.rest
	most := limit * l.factor
	if size <= most {
		return part{text: s}
	}
	ln.cuts = append(ln.cuts, excess{size, limit})
	ln.unknown = ln.unknown || known.rest > 0
	ln.whole += s + "\n"
	if known.hash != 0 {
		ln.rest += strconv.FormatUint(uint64(known.hash), 36) + " "
	} else {
		ln.rest += s + " "
	}
	from := 0 // first shown character
	if l.match != nil {
		if at := l.match(s); at != nil {
			if to := utf8.RuneCountInString(s[:at[1]]); to > most {
				near := max(0, min(utf8.RuneCountInString(s[:at[0]])-most/4, have-most))
				from = wordStart(s, near)
				most += near - from
			}
		}
	}
	shown := pagetext.First(s[len(pagetext.First(s, from)):], most)
	to := from + utf8.RuneCountInString(shown)
	if to < size {
		shown += "…"
	}
	return part{shown, from, to, size}
}

// measure sets the shapes, children before parents.
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
	if doc.InertNodes > 0 {
		i := l.open(line{head: phrase.Count(doc.InertNodes, "element behind the dialog is", "elements behind the dialog are") + " omitted", note: true}, depth, parent)
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
		if !n.isInteractive() && n.Flags&Scrollable == 0 && n.Role != "dialog" && n.Role != "alertdialog" {
			l.inside(n, depth, parent)
			return
		}
	} else if n.isTransparent() {
		l.inside(n, depth, parent)
		return
	}
	ln := line{node: n}
	var text string // of a node that contains nothing else
	hasText := false
	if !l.interactiveOnly && n.Frame == nil && n.Role != "text" && n.Value == "" {
		text, hasText = n.onlyText()
	}
	l.print(&ln, n, text)
	i := l.open(ln, depth, parent)
	if n.Options != "" && !l.interactiveOnly {
		o := line{node: n, noRef: true}
		l.printOptions(&o, n)
		l.lines[l.open(o, depth+1, i)].end = len(l.lines)
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

// isTransparent reports whether n is meaningless structure, which its children replace.
func (n *Node) isTransparent() bool {
	if n.ID != 0 || pagetext.Clean(n.Name) != "" || n.Value != "" || n.Description != "" {
		return false
	}
	switch n.Role {
	case "generic", "none", "paragraph", "group", "rowgroup", "figure", "article", "region", "document", "form":
		return true
	case "text":
		return true // contains only invisible elements
	case "listitem", "cell", "gridcell":
		return len(n.Children) == 1 && n.Children[0].Role != "text" && n.Flags&^InViewport == 0
	}
	return false
}

// onlyText returns the text of a node that contains only text and has no name, so that both fit on
// one line. For a row, it returns the texts of its cells.
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

// cells joins the cells of a row if they contain only text.
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

// print sets the parts of the line of n before and after its ref. text is the text of a node that
// contains nothing else.
func (l *liner) print(ln *line, n *Node, text string) {
	role := pagetext.Clean(n.Role)
	var b strings.Builder
	if n.Role == "text" {
		shown := l.piece(ln, pagetext.Clean(n.Name), longOf(n.long, 'n'), maxText)
		b.WriteString(role + shown.mark() + ": ")
		plain(&b, shown.text)
		ln.head = b.String()
		return
	}
	name := l.piece(ln, pagetext.Clean(n.Name), longOf(n.long, 'n'), maxName)
	b.Grow(len(role) + len(name.text) + stateReserve)
	b.WriteString(role)
	if name.text != "" {
		b.WriteByte(' ')
		quote(&b, name.text)
	}
	before := b.Len()
	b.WriteString(name.mark())
	l.printStates(ln, n, &b)
	if n.Denied {
		b.WriteString(" (not allowed by policy)")
	}
	value := l.piece(ln, cleanLines(n.Value), longOf(n.long, 'v'), maxValue)
	if value.text == "" {
		value = l.piece(ln, pagetext.Clean(text), n.longText(), maxText)
	}
	if value.text != "" {
		b.WriteString(value.mark() + ": ")
		plain(&b, value.text)
	}
	whole := b.String()
	ln.head, ln.tail = whole[:before], whole[before:]
}

// longText returns what is known about the text that n has instead of children.
func (n *Node) longText() (sum long) {
	for _, c := range n.Children {
		for _, t := range append([]*Node{c}, c.Children...) {
			if l := longOf(t.long, 'n'); t.Role == "text" && l.hash != 0 {
				sum.rest += l.rest
				sum.hash = sum.hash*31 + l.hash
			}
		}
	}
	return sum
}

// stateReserve is the space for the quotes and states of most lines.
const stateReserve = 32

// stateNames are the flags that are shown, in their order on the line.
var stateNames = []struct {
	flag Flags
	name string
}{
	{Checked, "checked"}, {Mixed, "mixed"}, {Selected, "selected"}, {Pressed, "pressed"}, {Expanded, "expanded"}, {Collapsed, "collapsed"},
	{Disabled, "disabled"}, {ReadOnly, "readonly"}, {Required, "required"}, {Invalid, "invalid"}, {Multiple, "multiple"}, {Modal, "modal"}, {Focused, "focused"},
	{Partial, "partial"},
}

func (l *liner) printStates(ln *line, n *Node, b *strings.Builder) {
	if n.Level > 0 {
		b.WriteString(" [level=" + strconv.Itoa(n.Level) + "]")
	}
	for _, s := range stateNames {
		if n.Flags&s.flag != 0 {
			b.WriteString(" [" + s.name + "]")
		}
	}
	if n.Flags&Scrollable != 0 && n.Role != "scrollable" {
		b.WriteString(" [scrollable]")
	}
	switch current := pagetext.Clean(n.Current); current {
	case "":
	case "page", "step", "location", "date", "time":
		b.WriteString(" [current=" + current + "]")
	default:
		b.WriteString(" [current]")
	}
	if n.Type != "" {
		b.WriteString(" [type=" + pagetext.Clean(n.Type) + "]")
	}
	for _, a := range [...]struct {
		name  string
		kind  byte
		limit int
	}{{"placeholder", 'p', maxPlaceholder}, {"description", 'd', maxDescription}, {"url", 'u', maxTarget}} {
		v := pagetext.Clean(*n.piece(a.kind))
		if v == "" {
			continue
		}
		b.WriteString(" [" + a.name + "=")
		if a.kind == 'u' {
			v = shorten(v, a.limit) // the ref navigates there
		} else {
			v = l.piece(ln, v, longOf(n.long, a.kind), a.limit).text
		}
		quote(b, v)
		b.WriteByte(']')
	}
}
