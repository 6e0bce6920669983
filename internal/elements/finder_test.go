package elements

import (
	"strings"
	"testing"
)

func TestDescriptionString(t *testing.T) {
	long := strings.Repeat("é", 81)
	for _, test := range []struct {
		in   Description
		want string
	}{
		{Description{}, "element"},
		{Description{Role: "button"}, "button"},
		{Description{Role: "button", Name: "  \n "}, "button"},
		{Description{Name: "Pay"}, `element "Pay"`},
		{Description{Role: "button", Name: " Pay\n\tnow "}, `button "Pay now"`},
		{Description{Role: "link", Name: `say "hi"`}, `link "say \"hi\""`},
		{Description{Role: "link", Name: "a\x1b[31mb"}, `link "a\x1b[31mb"`},
		{Description{Role: "link", Name: long}, `link "` + strings.Repeat("é", 80) + `…"`},
	} {
		if got := test.in.String(); got != test.want {
			t.Errorf("%+v: %s, want %s", test.in, got, test.want)
		}
	}
}

func TestNoteOfSeveralMatches(t *testing.T) {
	for _, test := range []struct {
		in   Element
		want string
	}{
		{Element{matches: 1}, ""},
		{Element{matches: 3}, "3 elements match; the first visible one was used"},
		{Element{matches: 3, item: "Lamp"}, `3 elements match; the first visible one was used, in "Lamp"`},
		{Element{matches: 3, hidden: true}, "3 elements match; no visible one was found, so the first one was used"},
	} {
		if got := test.in.Note(); got != test.want {
			t.Errorf("%+v: %q, want %q", test.in, got, test.want)
		}
	}
}
