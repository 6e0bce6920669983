package executortest

import (
	"slices"
	"testing"
)

// TestListIsStable checks that the list of cases is the same each time: cases created in a loop
// over a map must use sorted.
func TestListIsStable(t *testing.T) {
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
}

// TestParts checks that each topic is in one part, and that slowTopics contains only topics.
func TestParts(t *testing.T) {
	names := map[string]bool{}
	for _, topic := range slices.Concat(contract, detailTopics) {
		names[topic.name] = true
		if !Whole.has(topic.name) || Fast.has(topic.name) == Slow.has(topic.name) {
			t.Errorf("%s: whole %v, often %v, slowTopics %v", topic.name, Whole.has(topic.name), Fast.has(topic.name), Slow.has(topic.name))
		}
	}
	for _, name := range slowTopics {
		if !names[name] {
			t.Errorf("%s is not a topic", name)
		}
	}
}
