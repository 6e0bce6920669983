package page

import (
	"context"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/input"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

// editableText is the result of editableLines of js/editors.js.
type editableText struct {
	Lines  []string `json:"lines"`
	Single bool     `json:"single"` // the element has no blocks, only text and line breaks
}

// maxUndo is the maximum number of steps to undo until an editor has its old text again.
const maxUndo = 12

// enterLines enters text with line breaks into an editable element, and compares the lines of the
// element with what they should be. It inserts the text in one event. If the element is one block, or
// its editor loses line breaks in that event, it inserts each line separately and breaks the lines
// with an editing command. No method presses Enter, with which a page may send what was typed. If
// neither works, the old text is restored and an error is returned. done is false if nothing was
// entered because the method does not apply.
func (v *View) enterLines(ctx context.Context, field *element, c *hitTargetCheck, text string, o executor.TypeOptions) (got entryResult, done bool, err error) {
	text = canonicalBreaks(text)
	before, err := v.editableLines(ctx, field)
	if err != nil || strings.Count(text, "\n") > manyLines {
		return entryResult{}, false, err
	}
	var last []string // what the element had after the last method
	added := strings.Split(text, "\n")
	want := added
	if len(before.Lines) > 0 && !o.Clear {
		want = slices.Clone(before.Lines)
		want[len(want)-1] += added[0]
		want = append(want, added[1:]...)
	}
	methods := []func(context.Context, *element, []string) error{v.insertTogether, v.insertLines}
	if before.Single {
		methods = methods[1:]
	}
	changed := func(outcome string) error {
		return executor.Errorf(executor.ErrNotActionable, "Type the lines one by one, or call Page.Type with TypeOptions.KeyEvents, which presses Enter between them.",
			"%s changed the line breaks: its text was %q; %s", v.describe(ctx, field), strings.Join(last, "\n"), outcome)
	}
	for i, insert := range methods {
		if i > 0 {
			restored, err := v.undo(ctx, field, before.Lines)
			if err != nil {
				return entryResult{}, true, err
			}
			if !restored {
				return entryResult{}, true, changed("the old text could not be restored")
			}
			if err := field.doc.call(ctx, nil, "moveCaret", field.id, o.Clear); err != nil {
				return entryResult{}, true, v.mapDetached(ctx, field, err)
			}
		}
		if err := insert(ctx, field, added); err != nil {
			return entryResult{kept: true, stopped: true}, true, ignoreInterruption(err)
		}
		more := completionCriteria{more: i+1 < len(methods)}
		if _, stopped, err := c.wait(ctx, nil, more); stopped || err != nil {
			return entryResult{kept: true, stopped: true}, true, err
		}
		for range 2 {
			now, err := v.editableLines(ctx, field)
			if err != nil {
				return entryResult{kept: true}, true, nil // the page replaced the field, so the text arrived
			}
			last = now.Lines
			if sameLines(last, want) {
				field := &enteredField{doc: field.doc, id: field.id, want: strings.Join(want, "\n")}
				return entryResult{kept: true, field: field}, true, nil
			}
			v.pause(ctx)
		}
	}
	outcome := "the old text was restored"
	if restored, err := v.undo(ctx, field, before.Lines); err != nil || !restored {
		outcome = "the old text could not be restored"
	}
	return entryResult{}, true, changed(outcome)
}

// editableLines returns the text in an editable element.
func (v *View) editableLines(ctx context.Context, field *element) (*editableText, error) {
	var got *editableText
	if err := field.doc.call(ctx, &got, "editableLines", field.id); err != nil {
		return nil, v.mapDetached(ctx, field, err)
	}
	if got == nil {
		return nil, v.refExpiredError(ctx, field)
	}
	return got, nil
}

// insertTogether inserts lines in one event.
func (v *View) insertTogether(ctx context.Context, field *element, lines []string) error {
	return v.insertText(ctx, field.doc, strings.Join(lines, "\n"))
}

// insertLines inserts each line in its own event, with line breaks between them.
func (v *View) insertLines(ctx context.Context, field *element, lines []string) error {
	for i, line := range lines {
		if i > 0 {
			if err := v.editingCommand(ctx, field.doc, "insertLineBreak"); err != nil {
				return err
			}
		}
		if line == "" {
			continue
		}
		if err := v.insertText(ctx, field.doc, line); err != nil {
			return err
		}
	}
	return nil
}

// editingCommand runs an editing command of the browser in the focused element, as a key binding
// does. The key that it presses is not on a keyboard, so pages do not act on it.
func (v *View) editingCommand(ctx context.Context, d *document, command string) error {
	ctx, cancel := context.WithTimeout(ctx, v.tab.timing.Input)
	defer cancel()
	if err := v.focusAllowed(ctx, nil, false); err != nil {
		return err
	}
	var pending []*cdpconn.Pending
	for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeRawKeyDown, input.DispatchKeyEventTypeKeyUp} {
		e := input.DispatchKeyEventParams{Type: kind, Key: "Unidentified"}
		if kind == input.DispatchKeyEventTypeRawKeyDown {
			e.Commands = []string{command}
		}
		p, err := v.startInput(ctx, input.CommandDispatchKeyEvent, e)
		if err != nil {
			return err
		}
		pending = append(pending, p)
	}
	for _, p := range pending {
		if err := d.wait(ctx, p, nil); err != nil {
			return err
		}
	}
	return nil
}

// undo undoes the last input until the element has the given lines. It reports whether it succeeded.
func (v *View) undo(ctx context.Context, field *element, lines []string) (bool, error) {
	k, _ := keyOf('z')
	chord := &chord{key: k, modifiers: selectAll().modifiers}
	for range maxUndo {
		if stopped, err := v.pressChord(ctx, field.doc, chord); stopped || err != nil {
			return false, err
		}
		v.pause(ctx)
		now, err := v.editableLines(ctx, field)
		if err != nil {
			return false, err
		}
		if max(len(now.Lines), 1) == max(len(lines), 1) && sameLines(now.Lines, lines) {
			return true, nil
		}
	}
	return false, nil
}

// sameLines reports whether two texts have the same lines, except for white space and for empty
// lines at the end.
func sameLines(a, b []string) bool {
	canonical := func(lines []string) []string {
		var out []string
		for _, line := range lines {
			out = append(out, strings.Join(strings.Fields(line), " "))
		}
		for len(out) > 0 && out[len(out)-1] == "" {
			out = out[:len(out)-1]
		}
		return out
	}
	return slices.Equal(canonical(a), canonical(b))
}
