// Package pagetext separates page text from our own text in messages.
package pagetext

import (
	"fmt"
	"strconv"
	"strings"
)

// maxChars is the maximum number of printed characters.
const maxChars = 300

// A Text is a string that a page controls. Every verb of package fmt prints its
// first line in double quotes, truncated, so that it cannot pass for our own text.
// string(t) is the complete text.
type Text string

// String returns the first line of the text, truncated and in double quotes.
func (t Text) String() string {
	s, _, more := strings.Cut(string(t), "\n")
	if r := []rune(s); len(r) > maxChars {
		s = string(r[:maxChars]) + "…"
	} else if more && s == "" {
		s = "…"
	}
	return strconv.Quote(s)
}

// Format implements fmt.Formatter.
func (t Text) Format(f fmt.State, _ rune) { fmt.Fprint(f, t.String()) }
