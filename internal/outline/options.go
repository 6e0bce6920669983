package outline

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// Of a list of options, an outline shows the first maxListed, in at most maxOptions characters, however
// much space is left: a page may have lists of thousands of towns.
const (
	maxListed  = 10
	maxOptions = 400
)

// options returns the options of a select, and the number of those that the walk did not send.
func (n *Node) options() (list []string, unsent int) {
	list = strings.Split(n.Options, "\n")
	if longOf(n.long, 'o').rest > 0 && len(list) > 1 {
		list = list[:len(list)-1] // sent in part
	}
	for i, o := range list {
		list[i] = pagetext.Clean(o)
	}
	return list, max(n.OptionCount-len(list), 0)
}

// printOptions prints the line with the options of n: the first ones, or those that Find matches, and
// the number of the others. Of a part of a page, it prints as many as the budget allows.
func (l *liner) printOptions(ln *line, n *Node) {
	options, more := n.options()
	known := longOf(n.long, 'o')
	head, most, chars := "options: ", maxListed, maxOptions
	switch {
	case l.most > 0: // a diff shows the part that changed
		p := l.piece(ln, strings.Join(options, " | "), known, maxOptions)
		if p.from > 0 {
			p.text = "… " + p.text
		}
		options, more = []string{p.text}, 0
	case l.match != nil:
		ln.unknown = known.rest > 0
		var found []string
		for _, o := range options {
			if l.match(o) != nil {
				found = append(found, o)
			}
		}
		if len(found) > 0 {
			head, options, more, ln.found = "options found: ", found, 0, true
		}
	case l.part:
		l.piece(ln, strings.Join(options, " | "), known, maxOptions) // records how much is not shown
		most, chars = len(options), maxOptions*l.factor
	}
	k, size := 1, utf8.RuneCountInString(options[0])
	for k < min(len(options), most) && size+3+utf8.RuneCountInString(options[k]) <= chars {
		size += 3 + utf8.RuneCountInString(options[k])
		k++
	}
	shown := strings.Join(options[:k], " | ")
	if k == 1 {
		shown = shorten(shown, chars)
	}
	if more += len(options) - k; more > 0 {
		shown += " | … " + strconv.Itoa(more) + " more"
		ln.rest = n.Options
		if known.hash != 0 {
			ln.rest = strconv.FormatUint(uint64(known.hash), 36)
		}
	}
	var b strings.Builder
	b.WriteString(head)
	plain(&b, shown)
	ln.head = b.String()
}
