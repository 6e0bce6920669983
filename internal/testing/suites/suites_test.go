package suites

import (
	"slices"
	"testing"
)

// TestCasesAreStable checks that the list of cases is the same each time: cases created in a loop
// over a map must use suite.Sorted. Their names are unique.
func TestCasesAreStable(t *testing.T) {
	first := Cases()
	for range 20 {
		if again := Cases(); !slices.Equal(again, first) {
			for i := range first {
				if again[i] != first[i] {
					t.Fatalf("case %d is %+v, was %+v", i, again[i], first[i])
				}
			}
			t.Fatalf("%d cases, were %d", len(again), len(first))
		}
	}
	seen := map[[2]string]bool{}
	for _, c := range first {
		name := [2]string{c.Topic, c.Case}
		if seen[name] {
			t.Errorf("two cases are called %v", name)
		}
		seen[name] = true
	}
}
