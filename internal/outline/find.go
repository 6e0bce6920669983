package outline

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// CheckFind returns what is wrong with a Find, before there is anything to
// search in.
func CheckFind(find string) error {
	_, err := matcher(find)
	return err
}

// matcher returns the function that finds in a text what a Find asks for: where
// it begins and ends, nil when it is not there.
func matcher(find string) (func(string) []int, error) {
	if len(find) > 2 && find[0] == '/' {
		if end := strings.LastIndexByte(find, '/'); end > 0 && strings.Trim(find[end+1:], "im") == "" {
			expr := find[1:end]
			if flags := find[end+1:]; flags != "" {
				expr = "(?" + flags + ")" + expr
			}
			re, err := regexp.Compile(expr)
			if err != nil {
				return nil, err
			}
			return re.FindStringIndex, nil
		}
	}
	want := strings.ToLower(Clean(find))
	return func(s string) []int {
		lower := strings.ToLower(s)
		at := strings.Index(lower, want)
		if at < 0 {
			return nil
		}
		if len(lower) != len(s) { // some letter has another size in lower case
			return []int{runeOffset(s, utf8.RuneCountInString(lower[:at])), runeOffset(s, utf8.RuneCountInString(lower[:at+len(want)]))}
		}
		return []int{at, at + len(want)}
	}, nil
}

// maxNeighbours is how many lines of its row or item a match shows, and
// maxAllNeighbours how many lines all matches show beyond themselves.
const (
	maxNeighbours    = 10
	maxAllNeighbours = 200
)

// found returns which lines match, or stand beside one that does in the same
// row or item: of ten "Delete" buttons a reader needs to know what each deletes.
func found(lines []line, match func(string) []int) func(i int) bool {
	keep := make([]bool, len(lines))
	for i := 1; i < len(lines); i++ {
		keep[i] = !lines[i].note && (match(lines[i].head+lines[i].tail) != nil || lines[i].whole != "" && match(lines[i].whole) != nil)
	}
	matches := slices.Clone(keep)
	room := maxAllNeighbours
	for i := 1; i < len(lines) && room > 0; i++ {
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
		// What is near the match, when that is not the whole of it.
		first := max(row+1, min(i-maxNeighbours/2, lines[row].end-maxNeighbours))
		for k := first; k < min(first+maxNeighbours, lines[row].end) && room > 0; k++ {
			if !keep[k] {
				keep[k] = true
				room--
			}
		}
	}
	return func(i int) bool { return keep[i] }
}

// groups reports whether what is in the line belongs together.
func (l *line) groups() bool {
	switch l.role() {
	case "row", "listitem", "treeitem", "group", "article":
		return l.node != nil
	}
	return false
}
