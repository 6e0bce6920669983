package outline

import (
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// CheckFind returns an error if find is not a valid value of Options.Find.
func CheckFind(find string) error {
	_, err := matcher(find)
	return err
}

// matcher returns a function that finds the first match of find in a text and returns its start and
// end, or nil.
func matcher(find string) (func(string) []int, error) {
	if len(find) > 2 && find[0] == '/' {
		if end := strings.LastIndexByte(find, '/'); end > 0 && strings.Trim(find[end+1:], "im") == "" {
			expr := find[1:end]
			if flags := find[end+1:]; flags != "" {
				expr = "(?" + flags + ")" + expr
			}
			re, err := regexp.Compile(norm.NFC.String(expr))
			if err != nil {
				return nil, err
			}
			return re.FindStringIndex, nil
		}
	}
	want := pagetext.FoldCase(find)
	return func(s string) []int {
		start, end := pagetext.Index(s, want)
		if start < 0 {
			return nil
		}
		return []int{start, end}
	}, nil
}

// maxNeighbours is the number of lines of its row or item that a match shows. maxAllNeighbours is
// the number of lines that all matches together show in addition to themselves.
const (
	maxNeighbours    = 10
	maxAllNeighbours = 200
)

// found returns a function that reports whether a line matches, or is in the same row or item as a
// match: of ten "Delete" buttons, a reader needs to know what each deletes.
func found(lines []line, match func(string) []int) func(i int) bool {
	keep := make([]bool, len(lines))
	for i := 1; i < len(lines); i++ {
		ln := &lines[i]
		keep[i] = !ln.note && (ln.found || match(ln.head+ln.tail) != nil || ln.whole != "" && match(ln.whole) != nil ||
			strings.Contains(ln.head, `\`) && match(unescape.Replace(ln.head)) != nil)
	}
	matches := slices.Clone(keep)
	budget := maxAllNeighbours
	for i := 1; i < len(lines) && budget > 0; i++ {
		if !matches[i] {
			continue
		}
		row := i
		for row > 0 && !lines[row].groups() {
			row = lines[row].parent
		}
		if row == 0 {
			continue
		}
		// The lines near the match, if the item is too large.
		first := max(row+1, min(i-maxNeighbours/2, lines[row].end-maxNeighbours))
		for k := first; k < min(first+maxNeighbours, lines[row].end) && budget > 0; k++ {
			if !keep[k] {
				keep[k] = true
				budget--
			}
		}
	}
	return func(i int) bool { return keep[i] }
}

// unescape replaces what quote escapes in a name.
var unescape = strings.NewReplacer(`\\`, `\`, `\"`, `"`)

// groups reports whether the children of the line belong together.
func (l *line) groups() bool {
	switch l.role() {
	case "row", "listitem", "treeitem", "group", "article":
		return l.node != nil
	}
	return false
}
