package typo

import "testing"

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
