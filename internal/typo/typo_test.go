package typo

import (
	"slices"
	"strings"
	"testing"
)

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"click", "click", 0}, {"", "abc", 3}, {"abc", "", 3},
		{"clik", "click", 1}, {"clickk", "click", 1}, {"clack", "click", 1}, {"lcick", "click", 2}, {"kitten", "sitting", 3},
	} {
		if got := Distance(tt.a, tt.b); got != tt.want {
			t.Errorf("%q, %q: %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"Enter", "Escape", "End", "F1", "F2", "ArrowLeft"}
	for given, want := range map[string]string{
		"enter": "Enter", "Entre": "Enter", "Esc": "", "endd": "End", "F11": "", "arrow-left": "ArrowLeft", "": "", "Delete": "",
	} {
		if got := Nearest(given, slices.Values(names)); got != want {
			t.Errorf("%q: got %q, want %q", given, got, want)
		}
	}
}

// TestNearestOfLongText passes a text that is much longer than any name, as a request can. It is
// compared with none, which would take time in proportion to its length, and memory.
func TestNearestOfLongText(t *testing.T) {
	names := []string{"enter", "escape", "end", "f1", "f2", "arrow-left"}
	allocations := func(s string) float64 {
		return testing.AllocsPerRun(10, func() { Nearest(s, slices.Values(names)) })
	}
	if long, similar := allocations(strings.Repeat("a", 1000)), allocations("entre"); long >= similar {
		t.Errorf("%v allocations, and %v for a text that is compared with some names", long, similar)
	}
}
