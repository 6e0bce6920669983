package input

import (
	"strings"
	"testing"
)

func TestFieldMatches(t *testing.T) {
	for _, c := range []struct {
		kind, got, want string
		matches         bool
	}{
		{"number", "25", "2,5", false}, {"number", "1.25075", "1.250,75", false}, {"number", "5", "$5", false}, {"number", "1000", "1 000", false},
		{"number", "2.5", "2.5", true}, {"number", "2.50", " 2.5", true}, {"number", "1e3", "1000", true}, {"number", "", "abc", false},
		{"text", "25", "2,5", false}, {"text", "2.5", "2,5", true}, {"text", "$1,234.50", "1234.50", true}, {"text", "123450", "$1,234.50", false},
		{"text", "14:30", "14.30", true}, {"text", "2026-11-21", "21.11.2026", true},
		{"tel", "(555) 123-4567", "555.123.4567", true}, {"tel", "5551234", "555-1234", true},
	} {
		if f := (&fieldInfo{Type: c.kind, Value: c.got}); f.matches(c.want) != c.matches {
			t.Errorf("%s field with %q: matches(%q) = %t", c.kind, c.got, c.want, !c.matches)
		}
	}
}

// TestRejectionHint checks that no hint proposes what the call has just done.
func TestRejectionHint(t *testing.T) {
	f := &fieldInfo{Value: "1", Limit: 1}
	if hint := f.rejectionHint("12", false); !strings.Contains(hint, "KeyEvents") {
		t.Error(hint)
	}
	if hint := f.rejectionHint("12", true); hint == "" || strings.Contains(hint, "KeyEvents") {
		t.Error(hint)
	}
}
