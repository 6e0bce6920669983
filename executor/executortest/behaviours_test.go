package executortest

import (
	"slices"
	"testing"
)

// The list is generated into a document, so it must be the same each time:
// cases made in a loop over a map go through sorted.
func TestListIsStable(t *testing.T) {
	first := Behaviours()
	for range 20 {
		if again := Behaviours(); !slices.Equal(again, first) {
			for i := range first {
				if again[i] != first[i] {
					t.Fatalf("case %d is %+v, was %+v", i, again[i], first[i])
				}
			}
			t.Fatalf("%d cases, were %d", len(again), len(first))
		}
	}
}
