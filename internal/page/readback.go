package page

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

// A reading is what is known of a field when it is read back.
type reading struct {
	before  *fieldInfo
	want    string // all that the field should hold; of an editor, what was typed
	cleared bool   // it was empty in between
	// unseen is the error of input that nobody saw arrive: it stands when the
	// field did not change either.
	unseen error
}

// readBack compares what a field holds with what it should hold. first is the
// first look at it, when that was asked for already.
func (v *View) readBack(ctx context.Context, field *element, first *cdpconn.Pending, r reading) (entry, error) {
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
				return entry{kept: true}, nil
			}
		}
		after = nil
		if field.doc.finish(ctx, first, &after) != nil {
			return entry{kept: true}, nil // the page went on, so the text arrived
		}
		if after == nil {
			return entry{kept: true, note: v.successor(ctx, field, want)}, nil
		}
		if holdsText(after.Value, want) && (want != "" || after.Value == "") {
			break
		}
	}
	got := after.Value
	if before.Kind == "editable" {
		got, want = strings.Join(strings.Fields(got), " "), strings.Join(strings.Fields(want), " ")
	}
	if got == want {
		return entry{kept: true}, nil
	}
	if r.unseen != nil && after.Value == before.Value {
		return entry{}, r.unseen
	}
	e := entry{kept: holdsText(got, want) && (r.cleared || after.Value != before.Value)}
	switch {
	case after.Bad:
		e.note = fmt.Sprintf("what the %s field shows now is no %s, so it has no value", after.Type, after.Type)
	case after.Value == "":
		e.note = fmt.Sprintf("the %s field is empty now", after.Type)
	case after.Masked && cutShort(after, want):
		e.note = fmt.Sprintf("the %s field takes at most %d characters: it holds something else instead", after.Type, after.Limit)
	case after.Masked:
		e.note = fmt.Sprintf("the %s field holds something else instead", after.Type)
	case cutShort(after, want):
		e.note = fmt.Sprintf("the field takes at most %d characters: it holds %q instead", after.Limit, firstLine(got))
	case after.Value == before.Value:
		e.note = fmt.Sprintf("the value of the %s field did not change: it does not take this text, or no more of it; the field holds %q instead", after.Type, firstLine(got))
	default:
		e.note = fmt.Sprintf("the field holds %q instead", firstLine(got))
	}
	if e.kept && before.Kind == "editable" {
		e.note = "" // editors add to what they show
	}
	return e, nil
}

// cutShort reports whether a field holds as much of the text as it can.
func cutShort(after *fieldInfo, want string) bool {
	return after.Limit > 0 && len(utf16.Encode([]rune(want))) > after.Limit && strings.HasPrefix(want, after.Value)
}

// successor says what became of text whose field the page took away: nothing
// when the field that has the focus now holds it.
func (v *View) successor(ctx context.Context, field *element, want string) string {
	var now *struct {
		fieldInfo
		label
	}
	if field.doc.call(ctx, &now, "focusedField") == nil && now != nil && want != "" && holdsText(now.Value, want) {
		return ""
	}
	return "the page took the field away when it got the text"
}

// holdsText reports whether got is want, or want in a form that a page may
// give it: other case, punctuation between, something around it, or the parts
// in another order as in a date.
func holdsText(got, want string) bool {
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
