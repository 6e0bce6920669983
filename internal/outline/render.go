package outline

import (
	"cmp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
	"github.com/chrome-mcp/chrome-mcp/internal/phrase"
)

// DefaultMaxChars is the default of Options.MaxChars.
const DefaultMaxChars = 20_000

// Options are the options of [Render].
type Options struct {
	MaxChars        int    // characters; default DefaultMaxChars
	Offset          int    // lines to skip at the start; if it is not 0, repetitions are not folded
	Depth           int    // levels below the page's line; 0 means no limit
	InteractiveOnly bool   // only interactive elements, frames and dialogs
	Part            bool   // doc is a part of a page that the caller selected: show as many options of a select as fit, not maxListed
	Find            string // only lines that contain this text, ignoring case, or match this /regex/ (RE2), with their ancestors and the rest of their row or item
	// RefOf returns the ref of a node and mints one if it has none. It is called once for each
	// shown line, and for no other. Nil shows no refs.
	RefOf func(*Node) string
}

// A Result is a rendered outline.
type Result struct {
	Text       string
	Elements   int  // lines in the complete outline, after Depth, InteractiveOnly and Find; 0 if Find matches nothing
	Omitted    int  // lines of Elements that Text does not show
	Truncated  bool // lines from Offset on are omitted, because of MaxChars or as options of a long list, or Cut > 0
	NextOffset int  // first omitted line from Offset on, or 0; with Offset 0, lines after it may be shown
	Cut        int  // lines in Text whose text is truncated
	Unsearched int  // lines whose text is too long for Find to search completely
}

// Render renders doc with the documents grafted into it, page line first. It returns an error if
// Find is an invalid regular expression.
//
// If lines are omitted, also at the end, Text contains a mark, "… 9 more lines (offset=5)", and
// another mark for lines that are deeper than Depth. The caller knows which options its user has,
// and describes how to get more.
//
// Text of the page is always inside quotes, or follows a role and a colon on its line, so it cannot
// imitate a line of the outline.
func Render(doc *Document, opts Options) (Result, error) {
	if opts.MaxChars <= 0 {
		opts.MaxChars = DefaultMaxChars
	}
	p := &plan{opts: opts}
	build := &liner{interactiveOnly: opts.InteractiveOnly, part: opts.Part, factor: 1}
	if opts.Find != "" {
		var err error
		if build.match, err = matcher(opts.Find); err != nil {
			return Result{}, err
		}
	}
	p.build(build, doc)
	if opts.Find != "" && len(p.lines) <= 1 {
		return Result{Text: pagetext.First(p.line(0), opts.MaxChars), Unsearched: p.unsearched}, nil
	}
	if build.factor = p.moreText(); build.factor > 1 {
		p.build(build, doc)
	}
	return p.render(), nil
}

// build lays out the lines that the options select.
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

// moreText returns the multiple of the default text length that fits the budget when all lines are
// shown, at least 1.
func (p *plan) moreText() int {
	var cuts []excess
	budget := p.budget()
	for i := range p.lines {
		budget -= p.lines[i].size()
		cuts = append(cuts, p.lines[i].cuts...)
	}
	if len(cuts) == 0 || budget <= 0 || p.opts.Offset > 0 {
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
	// The first factor that is too large, minus one.
	return 1 + sort.Search(largest-1, func(k int) bool { return more(k+2) > budget })
}

// budget is the number of characters that the lines may use.
func (p *plan) budget() int {
	if p.deeper > 0 {
		return p.opts.MaxChars - deeperReserve
	}
	return p.opts.MaxChars
}

// filter returns the lines for which keeps is true, their ancestors, and the first line.
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
	at := make([]int, len(lines)+1) // new index of each line
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

// Reserved characters.
const (
	gapReserve    = 56 // for each mark of omitted lines
	deeperReserve = 56 // for the mark of deeper lines
	maxIndent     = 10 // maximum indent of a mark, in levels
	minLine       = 8  // minimum length of a truncated line
)

// overviewRepetitions is the number of repetitions that are shown of each repeat if an overview of
// the complete outline does not fit.
const overviewRepetitions = 5

// A plan decides which lines are shown.
type plan struct {
	lines      []line
	opts       Options
	deeper     int
	show       []bool
	folds      map[int]fold // by first line
	unsearched int          // lines with text that the walk did not send
}

// A fold is a sequence of lines that repeat the ones before them.
type fold struct {
	end   int // index after the last line
	count int // number of repetitions
	depth int
	role  string // role of each repetition; "" if each has several siblings
}

func (p *plan) render() Result {
	n := len(p.lines)
	p.show = make([]bool, n)
	hidden := make([]bool, n)
	if p.opts.Offset == 0 && p.opts.Find == "" {
		p.folds = p.foldRuns(p.longLists(), maxListed, hidden)
	}
	total := len(p.folds) * gapReserve
	for i := range p.lines {
		if !hidden[i] {
			total += p.lines[i].size()
		}
	}
	budget := p.budget()
	switch {
	case p.opts.Offset > 0:
		p.showFrom(min(p.opts.Offset, n), budget-gapReserve)
	case total <= budget:
		for i := range p.show {
			p.show[i] = !hidden[i]
		}
	default:
		p.squeeze(budget - gapReserve)
	}
	return p.write()
}

// showFrom shows as many lines from first on as fit, at least the first, and their ancestors. The
// ancestors use at most half of the budget: the page's line, and of the others the nearest.
func (p *plan) showFrom(first, budget int) {
	p.show[0] = true
	if first >= len(p.lines) {
		return
	}
	before := budget / 2
	before -= min(p.lines[0].size(), before/2)
	for i := p.lines[first].parent; i > 0; i = p.lines[i].parent {
		if before -= p.lines[i].size(); before < 0 {
			break
		}
		p.show[i] = true
		budget -= p.lines[i].size()
	}
	budget -= min(p.lines[0].size(), budget/4)
	for i := first; i < len(p.lines); i++ {
		budget -= p.lines[i].size()
		if budget < 0 && i > first {
			break
		}
		p.show[i] = true
	}
}

// squeeze folds repetitions, as few as necessary. If that is not enough, it shows what is in the
// viewport first, then what follows it, then what precedes it.
func (p *plan) squeeze(budget int) {
	hidden := make([]bool, len(p.lines))
	if p.opts.Find == "" {
		runs := p.repetitions()
		foldTo := func(keep int) (fits bool) {
			clear(hidden)
			p.folds = p.foldRuns(runs, keep, hidden)
			size := len(p.folds) * gapReserve
			for i := range p.lines {
				if !hidden[i] {
					size += p.lines[i].size()
				}
			}
			return size <= budget
		}
		if !slices.ContainsFunc([]int{50, 20, 10, 5, 3, 1}, foldTo) {
			foldTo(overviewRepetitions)
		}
	}
	add := func(i int) bool {
		cost := 0
		for j := i; j >= 0 && !p.show[j]; j = p.lines[j].parent {
			cost += p.lines[j].size()
			if j > 0 && !p.show[j-1] && p.lines[j].parent != j-1 {
				cost += gapReserve
			}
		}
		if cost > budget {
			return false
		}
		budget -= cost
		for j := i; j >= 0 && !p.show[j]; j = p.lines[j].parent {
			p.show[j] = true
		}
		return true
	}
	p.show[0] = true
	budget -= min(p.lines[0].size(), budget/2)
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

// write renders the lines to show, with marks for omitted lines.
func (p *plan) write() Result {
	res := Result{Elements: len(p.lines), Unsearched: p.unsearched}
	var b strings.Builder
	budget := p.opts.MaxChars
	spend := func(s string, reserve int) bool {
		n := utf8.RuneCountInString(s)
		if n > budget-reserve {
			return false
		}
		budget -= n
		b.WriteString(s)
		return true
	}
	last := 0 // reserved for the mark of deeper lines
	if p.deeper > 0 {
		last = min(deeperReserve, budget/4)
	}
	reserve := last
	if slices.Contains(p.show, false) {
		reserve += min(gapReserve, budget/4) // for the mark at the end
	}
	shown, fresh, next := 0, 0, 0
	i := 0
	for i < len(p.lines) {
		if p.show[i] {
			text := p.line(i)
			cutLine := len(p.lines[i].cuts) > 0
			if whole := budget - reserve; i == 0 && reserve > 0 && utf8.RuneCountInString(text) > whole/2 {
				// However small the budget is, the mark with the next offset fits.
				text = shorten(strings.TrimSuffix(text, "\n"), max(whole/2-1, minLine)) + "\n"
				cutLine = true
			}
			if !spend(text, reserve) {
				// Truncate the first requested line instead of omitting it: otherwise the next
				// offset would be the same again.
				left := budget - reserve - 1
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
			next = cmp.Or(next, i)
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
		spend("… "+phrase.Count(p.deeper, "more line is", "more lines are")+" deeper than depth="+strconv.Itoa(p.opts.Depth)+"\n", 0)
	}
	res.Omitted = len(p.lines) - shown
	res.Truncated = next > 0 || res.Cut > 0
	res.NextOffset = next
	res.Text = pagetext.First(b.String(), p.opts.MaxChars)
	return res
}

// line returns line i as text.
func (p *plan) line(i int) string {
	ln := &p.lines[i]
	var b strings.Builder
	b.Grow(2*ln.depth + len(ln.head) + len(ln.tail) + refReserve + 3)
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

// gap returns the mark for the omitted lines from first to before end.
func (p *plan) gap(first, end int) string {
	depth, count, what := p.lines[first].depth, end-first, "line"
	like := ""
	if f, ok := p.folds[first]; ok && f.end == end {
		depth, count, what, like = f.depth, f.count, cmp.Or(f.role, "group"), " like this"
	}
	return strings.Repeat("  ", min(depth, maxIndent)) + "… " + strconv.Itoa(count) + " more " + plural(what, count) + like +
		" (offset=" + strconv.Itoa(first) + ")\n"
}

// plural returns the noun for count lines of a role.
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
