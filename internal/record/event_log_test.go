package record

import (
	"slices"
	"testing"
)

func TestEventLog(t *testing.T) {
	var l EventLog[int]
	for i := range 3 {
		l.Add(i)
	}
	before := l.Count()
	if got := l.Since(before); len(got) != 0 {
		t.Errorf("since the last event: %v, want none", got)
	}
	l.Add(3)
	l.Add(4)
	if got := l.Since(before); !slices.Equal(got, []int{3, 4}) {
		t.Errorf("new events %v, want [3 4]", got)
	}
	for i := range 100 {
		l.Add(5 + i)
	}
	if got := l.Since(before); len(got) != maxLoggedEvents || got[len(got)-1] != 104 {
		t.Errorf("after 100 more: %d events, the newest %v", len(got), got)
	}
	if n := l.Count(); n != 105 {
		t.Errorf("count %d, want 105", n)
	}
	is104 := func(i int) bool { return i == 104 }
	if !l.Remove(is104) || l.Remove(is104) {
		t.Error("104 was not removed exactly once")
	}
}
