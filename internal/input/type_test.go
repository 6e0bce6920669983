package input

import (
	"strings"
	"testing"
)

// TestMatchesText checks which texts count as the entered text in the page's own format, and which
// have lost a part of it.
func TestMatchesText(t *testing.T) {
	for _, row := range []struct {
		got, want string
		matches   bool
	}{
		{"Ann", "Ann", true},
		{"ANN LEE", "ann lee", true},
		{"$1,234,567.00", "1234567", true},
		{"(555) 010-99", "55501099", true},
		{"11/21/2026", "2026-11-21", true},
		{"", "", true},
		{"", "Ann", false},
		{"987", "987654", false},
		{"50", "50.4", false},
		{"100", "1000", false},
		{"!?", "!?", true},
		{"", "!?", false},
		{"left over", "", false},
	} {
		if matches := matchesText(row.got, row.want); matches != row.matches {
			t.Errorf("matchesText(%q, %q) = %v, want %v", row.got, row.want, matches, row.matches)
		}
	}
}

// TestEmptiedValues checks which values an empty field shows.
func TestEmptiedValues(t *testing.T) {
	for _, c := range []struct {
		value, old  string
		mask, fixed bool
	}{
		{"", "", true, false},
		{"+1 (___) ___-____", "+1 (555) 123-4567", true, true}, {"__.__.____", "", true, false}, {"_@_._", "", true, false}, {"__/__/20__", "", true, false},
		{"mm/dd/yyyy", "12/24/1990", true, false}, {"TT.MM.JJJJ", "", true, false}, {"(   )    -", "", true, false},
		{"$ 0.00", "$ 12.50", false, true}, {"0,00 €", "0,00 €", false, true}, {"INV--", "INV-1234-5678", false, true}, {"https://", "https://a.example", false, true}, {"+49 ", "+49 30 1", false, true},
		{"1", "12", false, false}, {"0", "5", false, false}, {"Ann", "Ann", false, false}, {"Ann", "Ann Lee", false, false}, {"foo_bar", "foo_bar", false, false},
		{"INV--", "INV--", false, false}, {"10.00", "12.00", false, false}, {"aa", "aa", false, false}, {"🙂", "🙂", false, false}, {"dd/mm/2026", "", false, false},
	} {
		if mask := isMask(c.value); mask != c.mask {
			t.Errorf("isMask(%q) = %v", c.value, mask)
		}
		if fixed := isFixedPart(c.value, c.old); fixed != c.fixed {
			t.Errorf("isFixedPart(%q, %q) = %v", c.value, c.old, fixed)
		}
	}
}

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
