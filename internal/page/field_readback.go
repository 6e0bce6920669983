package page

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

// A readBackState is what is known of a field when it is read back.
type readBackState struct {
	before  *fieldInfo
	want    string // all that the field should hold; of an editor, what was typed
	cleared bool   // it was empty in between
	// unconfirmedErr is the error of input that nobody saw arrive: it stands when the
	// field did not change either.
	unconfirmedErr error
	// rest says where the page led the keys after the first ones, "" for nowhere else.
	rest string
}

// readBack compares what a field holds with what it should hold. first is the
// first look at it, when that was asked for already.
func (v *View) readBack(ctx context.Context, field *element, first *cdpconn.Pending, r readBackState) (entryResult, error) {
	before, want := r.before, strings.ReplaceAll(r.want, "\r\n", "\n")
	var after *fieldInfo
	for look := range 2 {
		if look > 0 {
			v.pause(ctx) // editors write what they got in the next frame
			first = nil
		}
		if first == nil {
			var err error
			if first, err = field.doc.start(ctx, "inspectField", field.id); err != nil {
				return entryResult{kept: true}, nil
			}
		}
		after = nil
		if field.doc.finish(ctx, first, &after) != nil {
			return entryResult{kept: true}, nil // the page went on, so the text arrived
		}
		if after == nil {
			return entryResult{kept: true, note: v.replacementField(ctx, field, want)}, nil
		}
		if after.matches(want) && (want != "" || after.Value == "") {
			break
		}
	}
	got := after.Value
	if before.Kind == "editable" {
		got, want = strings.Join(strings.Fields(got), " "), strings.Join(strings.Fields(want), " ")
	}
	if got == want {
		return entryResult{kept: true}, nil
	}
	if r.unconfirmedErr != nil && after.Value == before.Value {
		return entryResult{}, r.unconfirmedErr
	}
	if hint := after.rejectionHint(want); hint != "" && before.Kind == "text" && r.rest == "" {
		return entryResult{}, v.restoreValue(ctx, field, r, after, hint)
	}
	e := entryResult{kept: matchesText(got, want) && after.matches(r.want) && (r.cleared || after.Value != before.Value)}
	switch {
	case after.Value == "":
		e.note = fmt.Sprintf("the %s field is empty now", after.Type)
	case after.Masked:
		e.note = fmt.Sprintf("the %s field holds something else instead", after.Type)
	case after.Value == before.Value:
		e.note = fmt.Sprintf("the %s field rejected the text; its value is %q", after.Type, firstLine(got))
	default:
		e.note = fmt.Sprintf("the field holds %q instead", firstLine(got))
	}
	if e.kept && before.Kind == "editable" {
		e.note = "" // editors add to what they show
	}
	return e, nil
}

// refusal returns the hint for a text that a field cannot hold: the field takes
// numbers, holds another number, or takes fewer characters. Otherwise refusal
// returns "".
func (f *fieldInfo) rejectionHint(want string) string {
	switch {
	case want == "":
		return ""
	case f.Type == "number" && !f.matchesNumber(want):
		return "Give a number, with a decimal point and without separators."
	case isTruncated(f, want):
		return "Give a shorter text, or " + executor.HintPressKeys + " if the field passes the rest to the next one."
	case f.Value != "" && !f.matchesNumber(want):
		return "Give the number in the form that the field takes."
	}
	return ""
}

// putBack gives a field the value it had before text was typed that it cannot
// hold. It returns the error for the text.
func (v *View) restoreValue(ctx context.Context, field *element, r readBackState, after *fieldInfo, hint string) error {
	held := fmt.Sprintf("held %q", firstLine(after.Value))
	switch {
	case after.Bad:
		held = "showed something that is not a number"
	case after.Value == "":
		held = "became empty"
	case after.Masked:
		held = "held something else"
	}
	if isTruncated(after, r.want) {
		held = fmt.Sprintf("takes at most %d characters and %s", after.Limit, held)
	}
	end := "its old value was put back"
	var restored bool
	if err := field.doc.call(ctx, &restored, "putBack", field.id, r.before.Value); err != nil {
		return v.mapDetached(ctx, field, err)
	}
	if !restored {
		end = "its old value could not be put back"
	}
	return executor.Errorf(executor.ErrNotActionable, hint, "%s does not take this text: it %s; %s", v.describe(ctx, field), held, end)
}

// isTruncated reports whether a field holds as much of the text as it can.
func isTruncated(after *fieldInfo, want string) bool {
	return after.Limit > 0 && len(utf16.Encode([]rune(want))) > after.Limit && strings.HasPrefix(want, after.Value)
}

// replacementField says what became of text whose field the page took away: nothing
// when the field that has the focus now holds it.
func (v *View) replacementField(ctx context.Context, field *element, want string) string {
	var now *struct {
		fieldInfo
		refDescription
	}
	if field.doc.call(ctx, &now, "focusedField") == nil && now != nil && want != "" && matchesText(now.Value, want) {
		return ""
	}
	return "the page removed the field after input"
}

// holds reports whether a field holds want, possibly reformatted by the page. In
// a number field, the punctuation is part of the number: Chromium turns "2,5"
// into 25.
func (f *fieldInfo) matches(want string) bool {
	return f.matchesNumber(want) && (f.Type == "number" || matchesText(f.Value, want))
}

// keepsNumber reports whether a field holds the same number as want. In a number
// field it compares numbers. In other fields it only checks that the decimal
// fraction of want, if any, is kept.
func (f *fieldInfo) matchesNumber(want string) bool {
	if f.Type != "number" {
		return matchesFraction(f.Value, want)
	}
	got, err := strconv.ParseFloat(f.Value, 64)
	wanted, err2 := strconv.ParseFloat(strings.TrimSpace(want), 64)
	return f.Value == want || err == nil && err2 == nil && got == wanted
}

// decimal matches an amount with a decimal fraction of one or two digits, such as
// $1,234.50 or 2,5: its last digit before the fraction, and the fraction.
var decimal = regexp.MustCompile(`^[^\d.,]*(?:[\d,'\s]*(\d)\.|[\d.'\s]*(\d),)(\d{1,2})\D*$`)

// keepsFraction reports whether got keeps the integer part and the fraction of
// the amount want apart.
func matchesFraction(got, want string) bool {
	m := decimal.FindStringSubmatch(strings.TrimSpace(want))
	return m == nil || !strings.Contains(got, m[1]+m[2]+m[3])
}

// holdsText reports whether got is want, or want in a form that a page may
// give it: other case, punctuation between, something around it, or the parts
// in another order as in a date.
func matchesText(got, want string) bool {
	significant := func(s string) []rune {
		return slices.DeleteFunc([]rune(strings.ToLower(s)), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	}
	g, w := significant(got), significant(want)
	if len(w) == 0 {
		return strings.TrimSpace(got) == strings.TrimSpace(want) || strings.TrimSpace(want) != "" && strings.Contains(got, strings.TrimSpace(want))
	}
	rest := w
	for _, r := range g {
		if len(rest) > 0 && rest[0] == r {
			rest = rest[1:]
		}
	}
	if len(rest) == 0 {
		return true
	}
	slices.Sort(g)
	slices.Sort(w)
	return slices.Equal(g, w)
}
