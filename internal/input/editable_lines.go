package input

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/keys"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// editableText is the result of editableLines of js/editors.js.
type editableText struct {
	Lines  []string `json:"lines"`
	Single bool     `json:"single"` // the element has no blocks, only text and line breaks
	Keyed  bool     `json:"keyed"`  // each block has a key, by which the editor finds it in its model
}

// An undo has at most maxUndo steps, and undoPerLine more for each line of the text: an editor may
// undo a line, its line break and what it replaced in the line one after another.
const (
	maxUndo     = 12
	undoPerLine = 4
)

// idleUndo is the number of steps without a change after which there is nothing left to undo.
const idleUndo = 3

// enterLines enters text with line breaks into an editable element, and compares the lines of the
// element with what they should be. It inserts the text in one event. If the element is one block,
// or its editor loses line breaks in that event, it inserts each line separately and breaks the
// lines with an editing command. If the blocks of the element have keys, it pastes the text: the
// browser would copy the keys to the blocks that it adds, and the editor would find others than it
// shows, so the text of the element would not prove anything. No method presses Enter, with which a
// page may send what was typed.
//
// If no method works, the old text is restored and an error is returned, which reports the text if
// the editor does not restore it. done is false if nothing was entered because the method does not
// apply.
func (a *Actor) enterLines(ctx context.Context, field *element, c *hitTargetCheck, text string, o executor.TypeOptions) (got entryResult, done bool, err error) {
	text = canonicalBreaks(text)
	before, err := a.editableLines(ctx, field)
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
	methods := []func(context.Context, *element, []string) error{a.insertTogether, a.insertLines}
	switch {
	case before.Single:
		methods = methods[1:]
	case before.Keyed:
		methods = []func(context.Context, *element, []string) error{a.pasteTogether}
	}
	kept := func() (entryResult, bool, error) {
		e := entryResult{kept: true, field: &EnteredField{doc: field.Doc, id: field.ID, want: strings.Join(last, "\n")}}
		for i, line := range last {
			if e.note == "" && i < len(want) {
				e.note = typographyNote(collapsed(line), collapsed(want[i]))
			}
		}
		return e, true, nil
	}
	changed := func(outcome string) error {
		return executor.Errorf(executor.ErrNotActionable, "Type the lines one by one, or call Page.Type with TypeOptions.KeyEvents, which presses Enter between them.",
			"%s changed the line breaks: its text was %q; %s", a.finder.Describe(ctx, field.Element), shortText(last...), outcome)
	}
	for i := 0; ; i++ {
		if i > 0 {
			now, err := a.undo(ctx, field, before.Lines, want)
			if err != nil {
				return entryResult{}, true, err
			}
			switch {
			case sameLines(now, want):
				last = now // the browser's change was undone, and not what the editor had made of the event
				return kept()
			case !restored(now, before.Lines):
				return entryResult{}, true, changed(fmt.Sprintf("the old text could not be restored, and its text is %q", shortText(now...)))
			case i == len(methods):
				return entryResult{}, true, changed("the old text was restored")
			}
			if err := field.Doc.Call(ctx, nil, "moveCaret", field.ID, o.Clear); err != nil {
				return entryResult{}, true, a.finder.Removed(ctx, field.Element, err)
			}
		}
		if err := methods[i](ctx, field, added); err != nil {
			return entryResult{kept: true, stopped: true}, true, ignoreInterruption(err)
		}
		more := completionCriteria{more: i+1 < len(methods)}
		_, stopped, err := c.wait(ctx, nil, more)
		if before.Keyed && errors.Is(err, executor.ErrNotActionable) {
			err = nil // the page handled the paste event, so it got no text
		}
		if stopped || err != nil {
			return entryResult{kept: true, stopped: true}, true, err
		}
		for range 2 {
			now, err := a.editableLines(ctx, field)
			if err != nil {
				return entryResult{kept: true}, true, nil // the page replaced the field, so the text arrived
			}
			last = now.Lines
			if sameLines(last, want) {
				return kept()
			}
			a.pause(ctx)
		}
	}
}

// shortText returns lines as text that an error quotes.
func shortText(lines ...string) string { return pagetext.Truncate(strings.Join(lines, "\n"), 500) }

// editableLines returns the text in an editable element.
func (a *Actor) editableLines(ctx context.Context, field *element) (*editableText, error) {
	var got *editableText
	if err := field.Doc.Call(ctx, &got, "editableLines", field.ID); err != nil {
		return nil, a.finder.Removed(ctx, field.Element, err)
	}
	if got == nil {
		return nil, a.finder.RemovedError(ctx, field.Element)
	}
	return got, nil
}

// insertTogether inserts lines in one event.
func (a *Actor) insertTogether(ctx context.Context, field *element, lines []string) error {
	return a.keyboard.insertText(ctx, field.Doc, strings.Join(lines, "\n"))
}

// pasteTogether pastes lines. It inserts them in one event if the page does not handle the paste.
func (a *Actor) pasteTogether(ctx context.Context, field *element, lines []string) error {
	before, err := a.editableLines(ctx, field)
	if err != nil {
		return err
	}
	var handled bool
	if err := field.Doc.Call(ctx, &handled, "pasteInto", field.ID, strings.Join(lines, "\n")); err != nil || handled {
		return err
	}
	a.pause(ctx) // some editors handle it later, and let the browser also do so
	now, err := a.editableLines(ctx, field)
	if err != nil || !slices.Equal(now.Lines, before.Lines) {
		return err
	}
	return a.insertTogether(ctx, field, lines)
}

// insertLines inserts each line in its own event, with line breaks between them.
func (a *Actor) insertLines(ctx context.Context, field *element, lines []string) error {
	for i, line := range lines {
		if i > 0 {
			if err := a.keyboard.runCommand(ctx, field.Doc, "insertLineBreak"); err != nil {
				return err
			}
		}
		if line == "" {
			continue
		}
		if err := a.keyboard.insertText(ctx, field.Doc, line); err != nil {
			return err
		}
	}
	return nil
}

// undo undoes the last input until the element has the lines before or want, and returns its lines.
// An editor may undo what it had before together with the last input. Then undo redoes input until
// the element has as much of its old text as it had in any state.
func (a *Actor) undo(ctx context.Context, field *element, before, want []string) ([]string, error) {
	modifiers := keys.SelectAll().Modifiers
	z, _ := keys.ForRune('z')
	shiftedZ, _ := keys.ForRune('Z')
	undo := &keys.Chord{Key: z, Modifiers: modifiers}
	redo := &keys.Chord{Key: shiftedZ, Modifiers: append(slices.Clone(modifiers), executor.ModShift)}
	now, err := a.editableLines(ctx, field)
	if err != nil {
		return nil, err
	}
	lines := now.Lines
	press := func(c *keys.Chord) (stopped bool, err error) {
		if stopped, err := a.keyboard.press(ctx, field.Doc, c); stopped || err != nil {
			return true, err
		}
		a.pause(ctx)
		now, err := a.editableLines(ctx, field)
		if err != nil {
			return true, err
		}
		lines = now.Lines
		return false, nil
	}
	all := keptText(before, before)
	most, since := keptText(lines, before), 0 // since counts the steps after the state that had most of the old text
	idle := 0
	for range maxUndo + undoPerLine*len(want) {
		if restored(lines, before) || sameLines(lines, want) {
			return lines, nil
		}
		last := lines
		if stopped, err := press(undo); stopped {
			return lines, err
		}
		since++
		if slices.Equal(lines, last) {
			if idle++; idle == idleUndo {
				break
			}
			continue
		}
		idle = 0
		if n := keptText(lines, before); n >= most {
			most, since = n, 0
		} else if most == all {
			break
		}
	}
	for ; since > 0 && keptText(lines, before) < most; since-- {
		if stopped, err := press(redo); stopped {
			return lines, err
		}
	}
	return lines, nil
}

// keptText returns how much of the lines before lines begins with, in bytes.
func keptText(lines, before []string) int {
	a, b := strings.Join(canonicalLines(lines), "\n"), strings.Join(canonicalLines(before), "\n")
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// restored reports whether an element with the given lines has the lines before again.
func restored(lines, before []string) bool {
	return max(len(lines), 1) == max(len(before), 1) && sameLines(lines, before)
}

// sameLines reports whether two texts have the same lines, except for white space, for characters
// of typography and for empty lines at the end.
func sameLines(a, b []string) bool { return slices.Equal(canonicalLines(a), canonicalLines(b)) }

// canonicalLines returns lines as sameLines compares them.
func canonicalLines(lines []string) []string {
	var out []string
	for _, line := range lines {
		out = append(out, typography.Replace(collapsed(line)))
	}
	for len(out) > 0 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}

// collapsed returns a line with collapsed white space.
func collapsed(line string) string { return strings.Join(strings.Fields(line), " ") }
