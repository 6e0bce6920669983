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

// Each topic is in one part, and each name of the list is a topic's.
func TestParts(t *testing.T) {
	names := map[string]bool{}
	for _, topic := range slices.Concat(contract, torture) {
		names[topic.name] = true
		if !Whole.has(topic.name) || Often.has(topic.name) == Seldom.has(topic.name) {
			t.Errorf("%s: whole %v, often %v, seldom %v", topic.name, Whole.has(topic.name), Often.has(topic.name), Seldom.has(topic.name))
		}
	}
	for _, name := range seldom {
		if !names[name] {
			t.Errorf("%s is no topic", name)
		}
	}
}
