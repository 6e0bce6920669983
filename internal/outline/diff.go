package outline

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// DefaultDiffChars is the default of DiffOptions.MaxChars.
const DefaultDiffChars = 2_000

// DiffOptions are the options of [Diff].
type DiffOptions struct {
	MaxChars int                // characters; default DefaultDiffChars
	RefOf    func(*Node) string // for existing nodes, as in Options
	OldRef   func(*Node) string // for removed nodes; "" if a node had no ref; nil shows no refs
	Marked   bool               // only changes in marked nodes, and lines that were removed next to them
}

// A Change is the result of [Diff].
type Change struct {
	Text    string // one line per change: first "[+] " added and "[~] " changed, then "[-] " removed
	Added   int
	Removed int
	Changed int
	Omitted int // changes that Text does not contain because of MaxChars
}

// Empty reports whether nothing changed.
func (c Change) Empty() bool { return c.Added+c.Removed+c.Changed == 0 }

// maxEdits limits the work of the line-by-line comparison. Beyond it, lines are matched regardless
// of their order.
const maxEdits = 1200

// Diff returns the changes from one outline to the next. Changes of focus and of what is in the
// viewport do not count.
func Diff(old, next *Document, opts DiffOptions) Change {
	if opts.MaxChars <= 0 {
		opts.MaxChars = DefaultDiffChars
	}
	d := &differ{a: (&liner{factor: 1}).lay(old), b: (&liner{factor: 1}).lay(next), opts: opts}
	d.match()
	if opts.Marked {
		d.mark()
	}
	return d.report()
}

type nodeKey struct {
	doc string
	id  int
}

func (l *line) key() nodeKey {
	if l.refs() {
		return nodeKey{l.node.Doc.Key, l.node.ID}
	}
	return nodeKey{}
}

// A content is what the lines of both outlines are compared by: all but the focus.
type content struct {
	key              nodeKey
	head, tail, rest string
}

func contents(lines []line) []content {
	list := make([]content, len(lines))
	for i := range lines {
		l := &lines[i]
		list[i] = content{l.key(), l.head, strings.Replace(l.tail, " [focused]", "", 1), l.rest}
	}
	return list
}

type differ struct {
	a, b       []line
	opts       DiffOptions
	keptA      []bool
	keptB      []bool
	start      int // of the differing part, in both
	endA, endB int
	marked     []bool // which lines of b are in a marked node; nil means all
}

// mark sets marked. A framed document is in the node of its frame. If no node is marked, the element shows
// nothing now, and all lines are reported: where the removed ones were is not known.
func (d *differ) mark() {
	d.marked = make([]bool, len(d.b))
	for j, l := range d.b {
		d.marked[j] = l.node != nil && l.node.Has(Marked) || l.parent >= 0 && d.marked[l.parent]
	}
	if !slices.Contains(d.marked, true) {
		d.marked = nil
	}
}

// reports reports whether line j of b is reported if it changed.
func (d *differ) reports(j int) bool {
	return d.marked == nil || j >= 0 && j < len(d.marked) && d.marked[j]
}

// match marks the lines that occur in both outlines, in the same order.
func (d *differ) match() {
	a, b := contents(d.a), contents(d.b)
	d.keptA, d.keptB = make([]bool, len(a)), make([]bool, len(b))
	d.endA, d.endB = len(a), len(b)
	for d.start < min(d.endA, d.endB) && a[d.start] == b[d.start] {
		d.keep(d.start, d.start)
		d.start++
	}
	for min(d.endA, d.endB) > d.start && a[d.endA-1] == b[d.endB-1] {
		d.endA, d.endB = d.endA-1, d.endB-1
		d.keep(d.endA, d.endB)
	}
	a, b = a[d.start:d.endA], b[d.start:d.endB]
	if !d.shortest(a, b) {
		d.anyOrder(a, b)
	}
}

// keep marks line i of a and line j of b as the same line.
func (d *differ) keep(i, j int) { d.keptA[i], d.keptB[j] = true, true }

// shortest finds a shortest edit script (Myers 1986) from a to b, the contents of the differing
// parts, unless it has more than maxEdits edits.
func (d *differ) shortest(a, b []content) bool {
	n, m := len(a), len(b)
	limit := min(n+m, maxEdits)
	v := make([]int, 2*limit+2)
	var trace [][]int
	for e := 0; e <= limit; e++ {
		trace = append(trace, slices.Clone(v[limit-e:limit+e+2]))
		for k := -e; k <= e; k += 2 {
			var x int
			if k == -e || k != e && v[limit+k-1] < v[limit+k+1] {
				x = v[limit+k+1]
			} else {
				x = v[limit+k-1] + 1
			}
			for x < n && x-k < m && a[x] == b[x-k] {
				x++
			}
			v[limit+k] = x
			if x >= n && x-k >= m {
				d.backtrack(trace, n, m)
				return true
			}
		}
	}
	return false
}

func (d *differ) backtrack(trace [][]int, x, y int) {
	for e, v := range slices.Backward(trace) {
		at := func(k int) int { return v[k+e] }
		px, py := 0, 0
		if e > 0 {
			k := x - y
			if k == -e || k != e && at(k-1) < at(k+1) {
				k++
			} else {
				k--
			}
			px = at(k)
			py = px - k
		}
		for x > px && y > py {
			x, y = x-1, y-1
			d.keep(d.start+x, d.start+y)
		}
		x, y = px, py
	}
}

// anyOrder matches equal contents of a and b regardless of their position.
func (d *differ) anyOrder(a, b []content) {
	have := make(map[content][]int)
	for i, c := range a {
		have[c] = append(have[c], i)
	}
	for j, c := range b {
		if at := have[c]; len(at) > 0 {
			d.keep(d.start+at[0], d.start+j)
			have[c] = at[1:]
		}
	}
}

// report writes the unmatched lines in the order of the new outline.
func (d *differ) report() Change {
	gone := make(map[nodeKey]*line) // elements whose line is only in the old outline
	come := make(map[nodeKey]bool)  // and elements that are only in the new one
	for i := d.start; i < d.endA; i++ {
		if !d.keptA[i] {
			gone[d.a[i].key()] = &d.a[i]
		}
	}
	for j := d.start; j < d.endB; j++ {
		if !d.keptB[j] {
			come[d.b[j].key()] = true
		}
	}
	delete(gone, nodeKey{})
	delete(come, nodeKey{})
	var c Change
	w := &diffWriter{max: d.opts.MaxChars}
	var removed []int // lines of a
	for i, j := d.start, d.start; i < d.endA || j < d.endB; i, j = i+1, j+1 {
		// One hunk: the lines between two lines that both outlines have.
		hunkA, hunkB := i, j
		for i < d.endA && !d.keptA[i] {
			i++
		}
		for j < d.endB && !d.keptB[j] {
			j++
		}
		hunkA, endA, hunkB, endB := d.inner(hunkA, i, hunkB, j)
		replaced := d.replacements(hunkA, endA, hunkB, endB)
		near := false // a line of the hunk, or one next to it, is reported
		for k := hunkB - 1; k <= endB; k++ {
			near = near || d.reports(k)
		}
		for k := hunkA; k < endA && near; k++ {
			if _, ok := replaced[k]; ok || come[d.a[k].key()] {
				continue // reported at its new position
			}
			removed = append(removed, k)
		}
		for k := hunkB; k < endB; k++ {
			if !d.reports(k) {
				continue
			}
			ln := &d.b[k]
			before := gone[ln.key()]
			if at, ok := replaced[-k-1]; ok {
				before = &d.a[at]
			}
			if before != nil {
				c.Changed++
				w.line("[~] ", d.show(d.near(ln, before), d.opts.RefOf, w), 0, 1)
				continue
			}
			c.Added++
			w.line("[+] ", d.show(ln, d.opts.RefOf, w), ln.depth-d.b[hunkB].depth, 1)
		}
	}
	c.Removed = len(removed)
	d.writeRemoved(removed, w)
	c.Text, c.Omitted = w.text(), w.more
	return c
}

// minGroupedRemovals is the number of removed siblings of one role from which they are reported as
// a number.
const minGroupedRemovals = 5

// writeRemoved writes the removed lines of the old outline. They come last and are brief, because
// no call can act on them: removed descendants are counted, and so are consecutive siblings of the
// same role.
func (d *differ) writeRemoved(removed []int, w *diffWriter) {
	type removal struct{ line, size int } // including descendants
	var outer []removal
	for _, k := range removed {
		if n := len(outer); n > 0 && k < d.a[outer[n-1].line].end {
			outer[n-1].size++
			continue
		}
		outer = append(outer, removal{k, 1})
	}
	for i := 0; i < len(outer); {
		ln := &d.a[outer[i].line]
		end, size := i, 0
		for end < len(outer) && d.a[outer[end].line].role() == ln.role() && d.a[outer[end].line].parent == ln.parent {
			size += outer[end].size
			end++
		}
		if n := end - i; n >= minGroupedRemovals {
			w.line("[-] ", strconv.Itoa(n)+" "+plural(ln.role(), n), 0, size)
			i = end
			continue
		}
		s := d.show(ln, d.opts.OldRef, w)
		if in := outer[i].size - 1; in > 0 {
			s += " (with " + strconv.Itoa(in) + " " + plural("line", in) + " in it)"
		}
		w.line("[-] ", s, 0, outer[i].size)
		i++
	}
}

// alike reports whether line i of a and line j of b have no element and the same role.
func (d *differ) alike(i, j int) bool {
	return !d.a[i].refs() && !d.b[j].refs() && d.a[i].role() == d.b[j].role()
}

// inner returns the hunk without the lines at its ends that are not reported and replaced others. The line
// before or after them is not reported either.
func (d *differ) inner(a, endA, b, endB int) (int, int, int, int) {
	before, after := d.reports(b-1), d.reports(endB)
	for !before && a < endA && b < endB && !d.reports(b) && d.alike(a, b) {
		a, b = a+1, b+1
	}
	for !after && a < endA && b < endB && !d.reports(endB-1) && d.alike(endA-1, endB-1) {
		endA, endB = endA-1, endB-1
	}
	return a, endA, b, endB
}

// replacements pairs, within a hunk, lines without an element that replaced each other: a text that
// changed is one change. It returns the new line of each old one, and the old line of each new line
// k under -k-1.
func (d *differ) replacements(a, endA, b, endB int) map[int]int {
	pairs := make(map[int]int)
	for ; a < endA; a++ {
		for k := b; k < endB; k++ {
			if d.alike(a, k) {
				pairs[a], pairs[-k-1] = k, a
				b = k + 1
				break
			}
		}
	}
	return pairs
}

// maxNear is the number of characters shown of a long text that changed.
const maxNear = 200

// near returns the line now such that its long text shows the part that differs from the line
// before, to the extent that both are known.
func (d *differ) near(now, before *line) *line {
	if len(now.head)+len(now.tail) <= maxNear && now.rest == "" {
		return now
	}
	was := d.relayout(before, nil).whole
	is := d.relayout(now, nil)
	at := 0
	for at < min(len(is.whole), len(was)) && is.whole[at] == was[at] {
		at++
	}
	if was == "" || is.unknown && at >= len(was)-1 {
		at = len(is.whole) // the known parts are equal: most texts grow at their end
	}
	return d.relayout(now, func(s string) []int {
		from := min(at, len(s))
		for from > 0 && from < len(s) && !utf8.RuneStart(s[from]) {
			from--
		}
		return []int{from, len(s)}
	})
}

// relayout lays out a line again, with at most maxNear characters of each text.
func (d *differ) relayout(ln *line, match func(string) []int) *line {
	l := &liner{factor: 1, most: maxNear, match: match}
	if ln.node != nil {
		l.add(ln.node, 0, -1)
	}
	for i := range l.lines {
		if l.lines[i].node == ln.node && l.lines[i].noRef == ln.noRef {
			return &l.lines[i]
		}
	}
	return ln
}

// show returns a line without its indent. It mints a ref only if the line will be written.
func (d *differ) show(l *line, refOf func(*Node) string, w *diffWriter) string {
	if w.more > 0 {
		return ""
	}
	ref := ""
	if l.refs() && refOf != nil {
		if r := refOf(l.node); r != "" {
			ref = " [ref=" + r + "]"
		}
	}
	return shorten(l.head, maxName+20) + ref + shorten(l.tail, maxDiffTail)
}

// A diffWriter writes lines until its budget is used up, and counts the rest.
type diffWriter struct {
	b    strings.Builder
	max  int
	used int
	more int
}

// maxDiffTail is the maximum length of the part after the ref on a line, so that one long text does
// not hide the other changes.
const maxDiffTail = 300

// diffTail is reserved for the note about omitted changes.
const diffTail = 60

// line writes s, which represents the given number of changes.
func (w *diffWriter) line(sign, s string, indent, changes int) {
	s = strings.Repeat("  ", min(max(indent, 0), 20)) + sign + s + "\n"
	n := utf8.RuneCountInString(s)
	if w.more > 0 || w.used+n > w.max-diffTail {
		w.more += changes
		return
	}
	w.used += n
	w.b.WriteString(s)
}

func (w *diffWriter) text() string {
	if w.more > 0 {
		fmt.Fprintf(&w.b, "… %d more %s; take a snapshot to see them\n", w.more, plural("change", w.more))
	}
	return pagetext.First(w.b.String(), w.max)
}
