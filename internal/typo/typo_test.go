package typo

import (
	"slices"
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
