package outline_test

import (
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/outline"
)

// TestDiffMarked checks that a diff of marked nodes has no other changes. The nodes whose names begin
// with "in" are marked.
func TestDiffMarked(t *testing.T) {
	const before = `
heading "top"
text "before"
text "in 1"
text "in 2"
text "after"`
	for _, c := range []struct{ name, after, want string }{
		{"outside", `
heading "top"
text "other"
text "in 1"
text "in 2"
text "other too"`, ""},
		{"changed, added and removed", `
heading "top"
text "other"
text "in 1a"
link "in 3" #3
text "after"`, "[~] text: in 1a\n[+] link \"in 3\" [ref=e3]\n[-] text: in 2"},
		{"removed far from it", `
text "before"
text "in 1"
text "in 2"
text "after"`, ""},
		{"removed at its end", `
heading "top"
text "before"
text "in 1"
text "after"`, "[-] text: in 2"},
		{"removed at its end, and another change behind it", `
heading "top"
text "before"
text "in 1"
text "later"`, "[-] text: in 2"},
		{"added at its end, and another change behind it", `
heading "top"
text "before"
text "in 1"
text "in 2"
text "in 3"
text "later"`, "[+] text: in 3"},
		{"in a marked node", `
heading "top"
text "before"
text "in 1"
list "in 2"
  text "its content"
text "after"`, "[+] list \"in 2\"\n[~] text: its content"},
		{"empty now", `
heading "top"
text "before"
text "after"`, "[-] text: in 1\n[-] text: in 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			after := parse(t, "d", c.after)
			after.Nodes(func(n *outline.Node) {
				if strings.HasPrefix(n.Name, "in ") {
					n.Flags |= outline.Marked
				}
			})
			want(t, outline.Diff(parse(t, "d", before), after, outline.DiffOptions{RefOf: byID, Marked: true}).Text, c.want)
		})
	}
}
