package page

import (
	"slices"
	"testing"
)

func TestEventLog(t *testing.T) {
	var l eventLog[int]
	for i := range 3 {
		l.add(i)
	}
	before := l.count()
	if got := l.since(before); len(got) != 0 {
		t.Errorf("since the last event: %v, want none", got)
	}
	l.add(3)
	l.add(4)
	if got := l.since(before); !slices.Equal(got, []int{3, 4}) {
		t.Errorf("new events %v, want [3 4]", got)
	}
	for i := range 100 {
		l.add(5 + i)
	}
	if got := l.since(before); len(got) != maxLoggedEvents || got[len(got)-1] != 104 {
		t.Errorf("after 100 more: %d events, the newest %v", len(got), got)
	}
	if n := l.count(); n != 105 {
		t.Errorf("count %d, want 105", n)
	}
	is104 := func(i int) bool { return i == 104 }
	if !l.remove(is104) || l.remove(is104) {
		t.Error("104 was not removed exactly once")
	}
}
