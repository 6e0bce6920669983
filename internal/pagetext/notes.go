package pagetext

import (
	"slices"
	"strings"
)

// JoinNotes joins the notes that are not empty.
func JoinNotes(notes ...string) string {
	return strings.Join(slices.DeleteFunc(notes, func(s string) bool { return s == "" }), "; ")
}
