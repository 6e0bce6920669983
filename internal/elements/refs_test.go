package elements

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// TestRefTable checks that a ref keeps what its client last received for it, and that the node of a
// ref that was released has a new ref.
func TestRefTable(t *testing.T) {
	table := newRefs()
	n := frames.Node{World: "w", ID: 7}
	shownAt := func(r executor.Ref, want int) {
		t.Helper()
		if _, l, known := table.Lookup(r); !known || l.At != want {
			t.Errorf("%s is known %v with record %d, want %d", r, known, l.At, want)
		}
	}
	first := table.For(n, Description{Role: "button", Name: "Mute", At: 3})
	shownAt(first, 3)
	if r := table.For(n, Description{Role: "button", Name: "Unmute", At: 5}); r != first {
		t.Errorf("the node has ref %s, had %s", r, first)
	}
	shownAt(first, 5)
	table.RecordWalk("w", WalkRecord{At: 8})
	shownAt(first, 5) // the result of the walk possibly did not contain the element
	table.RecordReport("w", 8)
	shownAt(first, 8)
	table.RecordWalk("w", WalkRecord{9, []int{7}})
	table.RecordReport("w", 9)
	shownAt(first, 8) // it was released before
	second := table.For(n, Description{Role: "button", Name: "Ban", At: 9})
	if second == first {
		t.Errorf("the node still has ref %s", first)
	}
	shownAt(second, 9)
	if table.Since("w") != 9 || table.Of(n) != second || table.KnownAt(first) != 0 {
		t.Errorf("since %d, ref %s, known %d", table.Since("w"), table.Of(n), table.KnownAt(first))
	}
	third := table.For(n, Description{Role: "button", Name: "Ban", At: 12, Since: 11})
	if third == second {
		t.Errorf("the node has ref %s, which was received before it became another thing", third)
	}
	table.DropStale(map[string]bool{})
	if _, l, known := table.Lookup(third); known || l.Name != "Ban" {
		t.Errorf("after the document: known %v, %+v", known, l)
	}
}
