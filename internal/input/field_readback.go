package input

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/elements"
	"github.com/chrome-mcp/chrome-mcp/internal/fieldvalue"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// readBack compares the value of the field with the value that it should have. first is the first
// query of the field, if it is already pending, or nil.
func (e *textEntry) readBack(ctx context.Context, first *cdpconn.Pending) (got entryResult, err error) {
	field, before, want := e.field, e.info, canonicalBreaks(e.want)
	defer func() { got.field = &EnteredField{doc: field.Doc, id: field.ID, want: e.want} }()
	var after *fieldInfo
	for attempt := range 2 {
		if attempt > 0 {
			e.actor.pause(ctx) // editors apply input in the next animation frame
			first = nil
		}
		if first == nil {
			if first, err = field.Doc.Start(ctx, "inspectField", field.ID); err != nil {
				return entryResult{kept: true, stopped: true}, nil
			}
		}
		after = nil
		if field.Doc.Finish(ctx, first, &after) != nil {
			return entryResult{kept: true, stopped: true}, nil // the document is gone, so the text arrived
		}
		if after == nil {
			return entryResult{kept: true, note: e.replacementField(ctx, want)}, nil
		}
		if want == "" && after.isEmpty() || want != "" && after.matches(want) {
			break
		}
	}
	value := after.Value
	if before.Kind == "editable" {
		value, want = pagetext.Fold(value), pagetext.Fold(want)
	}
	if value == want || want == "" && after.isEmpty() || !after.Masked && fieldvalue.SameText(value, want) {
		return entryResult{kept: true}, nil
	}
	if before.Kind == "editable" && after.Value != before.Value {
		for line := range strings.SplitSeq(after.Value, "\n") {
			if note := typographyNote(pagetext.Fold(line), want); note != "" {
				return entryResult{kept: true, note: note}, nil
			}
		}
	}
	if e.unconfirmed != nil && after.Value == before.Value {
		return entryResult{}, e.unconfirmed
	}
	if hint := after.rejectionHint(want, e.opts.KeyEvents); hint != "" && before.Kind == "text" && e.focusMoved == "" {
		return entryResult{}, e.restoreValue(ctx, after, hint)
	}
	got.kept = fieldvalue.Matches(value, want) && after.matches(e.want) && (e.opts.Clear || after.Value != before.Value) || want == "" && fieldvalue.IsFixedPart(value, before.Value)
	switch {
	case after.Value == "":
		got.note = fmt.Sprintf("the %s field is empty now", after.Type)
	case after.Masked:
		got.note = fmt.Sprintf("the %s field has a different value", after.Type)
	case !got.kept && after.Value == before.Value:
		got.note = fmt.Sprintf("the %s field rejected the text; its value is %q", after.Type, pagetext.FirstLine(value))
	default:
		got.note = fmt.Sprintf("the field value is %q", pagetext.FirstLine(value))
	}
	if got.kept && before.Kind == "editable" {
		got.note = "" // editors may add text
	}
	return got, nil
}

// rejectionHint returns the hint for a text that the field does not accept: the field accepts only
// numbers, contains a different number, or accepts fewer characters. Otherwise it returns "".
// keyEvents means that the text was sent by key presses, so the hint does not propose that.
func (f *fieldInfo) rejectionHint(want string, keyEvents bool) string {
	switch {
	case want == "":
		return ""
	case f.Type == "number" && !f.matchesNumber(want):
		return "Use a number with a decimal point and without separators."
	case isTruncated(f, want) && keyEvents:
		return "Use a shorter text, and type the rest into the next field."
	case isTruncated(f, want):
		return "Use a shorter text, or call Page.Type with TypeOptions.KeyEvents if the field passes the rest to the next one."
	case f.Value != "" && !f.matchesNumber(want):
		return "Use the number format that the field accepts."
	}
	return ""
}

// restoreValue restores the value that the field had before it received text that it does not
// accept. It always returns an error, which reports the rejected text.
func (e *textEntry) restoreValue(ctx context.Context, after *fieldInfo, hint string) error {
	state := fmt.Sprintf("its value was %q", pagetext.FirstLine(after.Value))
	switch {
	case after.Bad:
		state = "its value was not a number"
	case after.Value == "":
		state = "it became empty"
	case after.Masked:
		state = "its value was different"
	}
	if isTruncated(after, e.want) {
		state = fmt.Sprintf("it accepts at most %d characters, and %s", after.Limit, state)
	}
	outcome := "the old value was restored"
	var restored bool
	if err := e.field.Doc.Call(ctx, &restored, "restoreFieldValue", e.field.ID, e.info.Value); err != nil {
		return e.removed(ctx, err)
	}
	if !restored {
		outcome = "the old value could not be restored"
	}
	return executor.Errorf(executor.ErrNotActionable, hint, "%s rejected the text: %s; %s", e.describe(ctx), state, outcome)
}

// isEmpty reports whether a field has no text.
func (f *fieldInfo) isEmpty() bool {
	return f.Value == "" || f.Kind == "text" && fieldvalue.IsMask(f.Value)
}

// isTruncated reports whether a field contains as much of the text as it accepts.
func isTruncated(after *fieldInfo, want string) bool {
	return after.Limit > 0 && len(utf16.Encode([]rune(want))) > after.Limit && strings.HasPrefix(want, after.Value)
}

// replacementField returns a note for text whose field was removed by the page. The note is empty
// if the field that has the focus now contains the text.
func (e *textEntry) replacementField(ctx context.Context, want string) string {
	var now *struct {
		fieldInfo
		elements.Description
	}
	if e.field.Doc.Call(ctx, &now, "focusedField") == nil && now != nil && want != "" && fieldvalue.Matches(now.Value, want) {
		return ""
	}
	return "the page removed the field after input"
}

// matches reports whether the value of a field is want, possibly reformatted by the page. In a
// number field, the punctuation is part of the number: Chromium changes "2,5" to 25.
func (f *fieldInfo) matches(want string) bool {
	return f.matchesNumber(want) && (f.Type == "number" || fieldvalue.Matches(f.Value, want))
}

// matchesNumber reports whether a field contains the same number as want. In a number field it
// compares numbers. In other fields it only checks that the decimal fraction of want, if any, is
// preserved.
func (f *fieldInfo) matchesNumber(want string) bool {
	if f.Type != "number" {
		return fieldvalue.KeepsFraction(f.Value, want)
	}
	got, err := strconv.ParseFloat(f.Value, 64)
	wanted, err2 := strconv.ParseFloat(strings.TrimSpace(want), 64)
	return f.Value == want || err == nil && err2 == nil && got == wanted
}
