package fieldvalue

import "testing"

// TestMatches checks which texts count as the entered text in the page's own format, and which
// have lost a part of it.
func TestMatches(t *testing.T) {
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
		if matches := Matches(row.got, row.want); matches != row.matches {
			t.Errorf("Matches(%q, %q) = %v, want %v", row.got, row.want, matches, row.matches)
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
		if mask := IsMask(c.value); mask != c.mask {
			t.Errorf("IsMask(%q) = %v", c.value, mask)
		}
		if fixed := IsFixedPart(c.value, c.old); fixed != c.fixed {
			t.Errorf("IsFixedPart(%q, %q) = %v", c.value, c.old, fixed)
		}
	}
}
