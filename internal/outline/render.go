package outline

import (
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// DefaultMaxChars is the size of an outline unless Options say otherwise.
const DefaultMaxChars = 20_000

// Options say what [Render] shows.
type Options struct {
	MaxChars        int    // characters, default DefaultMaxChars
	Offset          int    // lines to leave out at the start; then nothing is folded
	Depth           int    // levels below the page's line; 0 is no limit
	InteractiveOnly bool   // only what can be acted on, frames and dialogs
	Find            string // only lines that hold this text in any case, or match this /regex/ (RE2), with their ancestors and the rest of their row or item
	// RefOf gives the ref of a node, minting one when it has none. It is
	// called for lines that are shown only, once each. Nil shows no refs.
	RefOf func(*Node) string
}

// A Result is a rendered outline.
type Result struct {
	Text       string
	Elements   int  // lines in the whole outline, after Depth, InteractiveOnly and Find; 0 when Find finds nothing
	Omitted    int  // of these, lines that Text does not show
	Truncated  bool // Omitted or Cut > 0 for want of room, not because Offset said so
	NextOffset int  // the first line left out after those shown; 0 when there is none
	Cut        int  // lines in Text that do not show all of their text
	Unsearched int  // lines with text that is too long to be searched by Find in full
}

// Render renders doc with the documents grafted into it, page line first. The
// error is that of a Find that is no regular expression.
//
// Where lines are left out, at the end too, Text has a mark of its own, "… 9
// more lines (offset=5)", and one for what is deeper than Depth. What to do
// about it is for the caller to say, who knows what can be asked for.
//
// Text that comes from the page is always inside quotes or after a role and a
// colon on its line, so it cannot look like a line of the outline.
func Render(doc *Document, opts Options) (Result, error) {
	if opts.MaxChars <= 0 {
		opts.MaxChars = DefaultMaxChars
	}
	p := &plan{opts: opts}
	build := &liner{interactiveOnly: opts.InteractiveOnly, factor: 1}
	if opts.Find != "" {
		var err error
		if build.match, err = matcher(opts.Find); err != nil {
			return Result{}, err
		}
	}
	p.build(build, doc)
	if opts.Find != "" && len(p.lines) <= 1 {
		return Result{Text: cut(p.line(0), opts.MaxChars), Unsearched: p.unsearched}, nil
	}
	if build.factor = p.moreText(); build.factor > 1 {
		p.build(build, doc)
	}
	return p.render(), nil
}

// build lays the lines that the options ask for.
func (p *plan) build(l *liner, doc *Document) {
	p.lines = l.lay(doc)
	all := len(p.lines)
	if p.opts.Depth > 0 {
		p.lines = filter(p.lines, func(i int) bool { return p.lines[i].depth <= p.opts.Depth })
		p.deeper = all - len(p.lines)
	}
	if l.match != nil {
		p.unsearched = 0
		for i := range p.lines {
			if p.lines[i].unknown {
				p.unsearched++
			}
		}
		p.lines = filter(p.lines, found(p.lines, l.match))
	}
}

// moreText returns how many times the usual length of text there is room for
// when all lines are shown, at least once.
func (p *plan) moreText() int {
	var cuts []excess
	room := p.room()
	for i := range p.lines {
		room -= p.lines[i].size()
		cuts = append(cuts, p.lines[i].cuts...)
	}
	if len(cuts) == 0 || room <= 0 || p.opts.Offset > 0 {
		return 1
	}
	largest := 0
	for _, c := range cuts {
		largest = max(largest, (c.size+c.limit-1)/c.limit)
	}
	more := func(factor int) (sum int) {
		for _, c := range cuts {
			sum += min(c.size, c.limit*factor) - c.limit
		}
		return sum
	}
	// The first factor that is too large, less one.
	return 1 + sort.Search(largest-1, func(k int) bool { return more(k+2) > room })
}

// room is how many characters the lines may have.
func (p *plan) room() int {
	if p.deeper > 0 {
		return p.opts.MaxChars - deeperRoom
	}
	return p.opts.MaxChars
}

// filter keeps the lines for which keeps is true, those that they are in, and
// the first.
func filter(lines []line, keeps func(i int) bool) []line {
	keep := make([]bool, len(lines))
	keep[0] = true
	for i := 1; i < len(lines); i++ {
		if keeps(i) {
			for j := i; j >= 0 && !keep[j]; j = lines[j].parent {
				keep[j] = true
			}
		}
	}
	at := make([]int, len(lines)+1) // where each line goes
	var out []line
	for i := range lines {
		at[i] = len(out)
		if keep[i] {
			out = append(out, lines[i])
		}
	}
	at[len(lines)] = len(out)
	for i := range out {
		if out[i].parent >= 0 {
			out[i].parent = at[out[i].parent]
		}
		out[i].end = at[out[i].end]
	}
	return out
}

// Room that is kept free, in characters.
const (
	gapRoom    = 56 // for each mark of lines left out
	deeperRoom = 56 // for the mark of what is deeper
	maxIndent  = 10 // levels that a mark is indented by
	minLine    = 8  // characters that a line is cut to at least
)

// keptOfHuge is how many repetitions are shown of each run when an overview of
// the whole outline has no room anyhow.
const keptOfHuge = 5

// A plan decides which lines are shown.
type plan struct {
	lines      []line
	opts       Options
	deeper     int
	show       []bool
	folds      map[int]fold // by their first line
	unsearched int          // lines with text that the walk did not send
}

// A fold is a run of lines that repeat the ones before them.
type fold struct {
	end   int // index after the last line
	count int // of repetitions
	depth int
	role  string // of each, "" when they are groups of several
}

func (p *plan) render() Result {
	n := len(p.lines)
	p.show = make([]bool, n)
	total := 0
	for i := range p.lines {
		total += p.lines[i].size()
	}
	room := p.room()
	switch {
	case p.opts.Offset > 0:
		p.showFrom(min(p.opts.Offset, n), room-gapRoom)
	case total <= room:
		for i := range p.show {
			p.show[i] = true
		}
	default:
		p.squeeze(room - gapRoom)
	}
	return p.write()
}

// showFrom shows the lines from first on that fit, at least the first, and
// those that it is in. These get half of the room at most: the page's line, and
// of the others the nearest.
func (p *plan) showFrom(first, room int) {
	p.show[0] = true
	if first >= len(p.lines) {
		return
	}
	before := room / 2
	before -= min(p.lines[0].size(), before/2)
	for i := p.lines[first].parent; i > 0; i = p.lines[i].parent {
		if before -= p.lines[i].size(); before < 0 {
			break
		}
		p.show[i] = true
		room -= p.lines[i].size()
	}
	room -= min(p.lines[0].size(), room/4)
	for i := first; i < len(p.lines); i++ {
		room -= p.lines[i].size()
		if room < 0 && i > first {
			break
		}
		p.show[i] = true
	}
}

// squeeze folds repetitions, as few as needed, and if that is not enough shows
// what is in the viewport first, then what follows it, then what precedes it.
func (p *plan) squeeze(room int) {
	hidden := make([]bool, len(p.lines))
	if p.opts.Find == "" {
		runs := p.repetitions()
		fits := func(keep int) bool {
			clear(hidden)
			p.folds = p.foldRuns(runs, keep, hidden)
			size := len(p.folds) * gapRoom
			for i := range p.lines {
				if !hidden[i] {
					size += p.lines[i].size()
				}
			}
			return size <= room
		}
		if !slices.ContainsFunc([]int{50, 20, 10, 5, 3, 1}, fits) {
			fits(keptOfHuge)
		}
	}
	add := func(i int) bool {
		cost := 0
		for j := i; j >= 0 && !p.show[j]; j = p.lines[j].parent {
			cost += p.lines[j].size()
			if j > 0 && !p.show[j-1] && p.lines[j].parent != j-1 {
				cost += gapRoom
			}
		}
		if cost > room {
			return false
		}
		room -= cost
		for j := i; j >= 0 && !p.show[j]; j = p.lines[j].parent {
			p.show[j] = true
		}
		return true
	}
	p.show[0] = true
	room -= min(p.lines[0].size(), room/2)
	first := -1
	for i := range p.lines {
		if !hidden[i] && p.lines[i].inViewport() {
			if first < 0 {
				first = i
			}
			if !add(i) {
				return
			}
		}
	}
	first = max(first, 0)
	for k := range p.lines {
		i := (first + k) % len(p.lines)
		if !hidden[i] && !p.show[i] && !add(i) {
			return
		}
	}
}

// write renders what is to be shown, with a mark where lines are left out.
func (p *plan) write() Result {
	res := Result{Elements: len(p.lines), Unsearched: p.unsearched}
	var b strings.Builder
	room := p.opts.MaxChars
	spend := func(s string, reserve int) bool {
		n := utf8.RuneCountInString(s)
		if n > room-reserve {
			return false
		}
		room -= n
		b.WriteString(s)
		return true
	}
	last := 0 // room for the mark of what is deeper
	if p.deeper > 0 {
		last = min(deeperRoom, room/4)
	}
	reserve := last
	if slices.Contains(p.show, false) {
		reserve += min(gapRoom, room/4) // for the mark at the end
	}
	shown, fresh, next := 0, 0, 0
	i := 0
	for i < len(p.lines) {
		if p.show[i] {
			text := p.line(i)
			cutLine := len(p.lines[i].cuts) > 0
			if whole := room - reserve; i == 0 && reserve > 0 && utf8.RuneCountInString(text) > whole/2 {
				// However little is asked for, there is room to go on from here.
				text = shorten(strings.TrimSuffix(text, "\n"), max(whole/2-1, minLine)) + "\n"
				cutLine = true
			}
			if !spend(text, reserve) {
				// The first line asked for is cut rather than left out: with it
				// missing, the next offset would be the same again.
				left := room - reserve - 1
				if fresh > 0 || left < minLine {
					break
				}
				text = strings.TrimSuffix(text, "\n")
				if bare := strings.TrimLeft(text, " "); len(text)-len(bare) > left/2 {
					text = bare
				}
				spend(shorten(text, left)+"\n", reserve)
				cutLine = true
			}
			shown++
			if cutLine {
				res.Cut++
			}
			if i > 0 && i >= p.opts.Offset {
				fresh++
			}
			i++
			continue
		}
		end := i + 1
		for end < len(p.lines) && !p.show[end] {
			end++
		}
		if i >= p.opts.Offset {
			if end == len(p.lines) {
				break
			}
			if next == 0 {
				next = i
			}
			if !spend(p.gap(i, end), reserve) {
				break
			}
		}
		i = end
	}
	if i < len(p.lines) {
		if next == 0 || i < next {
			next = i
		}
		spend(p.gap(i, len(p.lines)), last)
	}
	if p.deeper > 0 {
		spend("… "+strconv.Itoa(p.deeper)+" more lines are deeper than depth="+strconv.Itoa(p.opts.Depth)+"\n", 0)
	}
	res.Omitted = len(p.lines) - shown
	res.Truncated = next > 0 || res.Cut > 0
	res.NextOffset = next
	res.Text = cut(b.String(), p.opts.MaxChars)
	return res
}

// line returns line i as it is shown.
func (p *plan) line(i int) string {
	ln := &p.lines[i]
	var b strings.Builder
	b.Grow(2*ln.depth + len(ln.head) + len(ln.tail) + refRoom + 3)
	for range ln.depth {
		b.WriteString("  ")
	}
	if ln.note {
		b.WriteString("… ")
	} else {
		b.WriteString("- ")
	}
	b.WriteString(ln.head)
	if ln.refs() && p.opts.RefOf != nil {
		if ref := p.opts.RefOf(ln.node); ref != "" {
			b.WriteString(" [ref=" + ref + "]")
		}
	}
	b.WriteString(ln.tail)
	b.WriteByte('\n')
	return b.String()
}

// gap returns the mark of the lines from first to before end, which are left out.
func (p *plan) gap(first, end int) string {
	depth, count, what := p.lines[first].depth, end-first, "line"
	like := ""
	if f, ok := p.folds[first]; ok && f.end == end {
		depth, count, what, like = f.depth, f.count, or(f.role, "group"), " like this"
	}
	return strings.Repeat("  ", min(depth, maxIndent)) + "… " + strconv.Itoa(count) + " more " + plural(what, count) + like +
		" (offset=" + strconv.Itoa(first) + ")\n"
}

// plural returns what count lines of a role are called.
func plural(role string, count int) string {
	if role == "listitem" {
		role = "item"
	}
	switch {
	case count == 1:
		return role
	case strings.HasSuffix(role, "x"), strings.HasSuffix(role, "s"), strings.HasSuffix(role, "ch"):
		return role + "es"
	}
	return role + "s"
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// cut bounds s hard, for budgets too small for the marks.
func cut(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	n := 0
	for i := range s {
		if n == limit {
			return s[:i]
		}
		n++
	}
	return s
}
