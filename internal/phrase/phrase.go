// Package phrase writes lists and numbers for sentences.
package phrase

import (
	"fmt"
	"slices"
	"strings"
)

// List joins names with commas and a conjunction.
func List(names []string, conjunction string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " " + conjunction + " " + names[last]
}

// Count returns a number with the noun for one or for many.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// WithArticle returns a noun with its indefinite article.
func WithArticle(noun string) string {
	if noun != "" && noun[0] == 'a' {
		return "an " + noun
	}
	return "a " + noun
}

// Notes joins the notes that are not empty.
func Notes(notes ...string) string {
	return strings.Join(slices.DeleteFunc(notes, func(s string) bool { return s == "" }), "; ")
}
