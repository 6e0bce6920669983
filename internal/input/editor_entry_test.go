package input

import "testing"

func TestShowsLines(t *testing.T) {
	for _, c := range []struct {
		shown, want string
		only, ok    bool
	}{
		{"a\n  b\n", "a\nb", true, true},
		{"1\na\n2\nb\n", "a\n\nb", true, true}, // with line numbers
		{"a\nold\nb", "a\nb", true, false},
		{"a\nold\nb", "a\nb", false, true},
		{"a b", "a\nb", false, false},
		{"b\na", "a\nb", false, false},
		{"a\nb\nold", "a\nb", true, false},
		{"1", "", true, true},
		{"old", "", true, false},
	} {
		if got := showsLines(c.shown, c.want, c.only); got != c.ok {
			t.Errorf("showsLines(%q, %q, %v) = %v", c.shown, c.want, c.only, got)
		}
	}
}

func TestSameLines(t *testing.T) {
	for _, c := range []struct {
		a, b []string
		same bool
	}{
		{[]string{"a", "", "b"}, []string{"a", "", "b", ""}, true},
		{[]string{"a", "b"}, []string{"a", "", "b"}, false},
		{[]string{"a  b "}, []string{"a b"}, true},
		{nil, []string{""}, true},
	} {
		if got := sameLines(c.a, c.b); got != c.same {
			t.Errorf("sameLines(%q, %q) = %v", c.a, c.b, got)
		}
	}
}
