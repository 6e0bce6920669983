// Package pagetext marks page text in messages, so that it cannot be mistaken for text of
// chrome-mcp.
package pagetext

import (
	"fmt"
	"strconv"
	"strings"
)

// maxChars is the maximum number of characters that String prints.
const maxChars = 300

// A Text is a string that a page controls. Every verb of package fmt prints its first line in
// double quotes, truncated, so that it cannot pass for text of chrome-mcp. string(t) is the
// complete text.
type Text string

// String returns the first line of the text, truncated and in double quotes.
func (t Text) String() string {
	s, _, more := strings.Cut(string(t), "\n")
	if more && s == "" {
		s = "…"
	}
	return strconv.Quote(Truncate(s, maxChars))
}

// Truncate returns s, or its first limit characters and an ellipsis if it is longer.
func Truncate(s string, limit int) string {
	if start := First(s, limit); len(start) < len(s) {
		return start + "…"
	}
	return s
}

// First returns the first n characters of s.
func First(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// Format implements fmt.Formatter.
func (t Text) Format(f fmt.State, _ rune) { fmt.Fprint(f, t.String()) }

// FirstLine returns the first line of s, truncated to 300 characters.
func FirstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return Truncate(s, 300)
}
