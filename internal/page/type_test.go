package page

import "testing"

// TestHoldsText is about which texts are another in a page's own form, and
// which are less than it.
func TestHoldsText(t *testing.T) {
	for _, row := range []struct {
		got, want string
		holds     bool
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
		if holds := holdsText(row.got, row.want); holds != row.holds {
			t.Errorf("%q holds %q: %v, want %v", row.got, row.want, holds, row.holds)
		}
	}
}
