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

// A linesEntry enters text with line breaks into an editable element, and compares the lines of the
// element with what they should be.
type linesEntry struct {
	*textEntry
	lines        []string // of the text
	before, want []string // the lines of the element before the entry, and what they should be
}

// enter inserts the text in one event. If the element is one block, or its editor loses line breaks
// in that event, it inserts each line separately and breaks the lines with an editing command. If
// the blocks of the element have keys, it pastes the text: the browser would copy the keys to the
// blocks that it adds, and the editor would find others than it shows, so the text of the element
// would not prove anything. No method presses Enter, with which a page may send what was typed.
//
// If no method works, the old text is restored and an error is returned, which reports the text if
// the editor does not restore it. done is false if nothing was entered because the method does not
// apply.
func (e *linesEntry) enter(ctx context.Context) (got entryResult, done bool, err error) {
	e.lines = strings.Split(canonicalBreaks(e.text), "\n")
	before, err := e.read(ctx)
	if err != nil || len(e.lines) > manyLines+1 {
		return entryResult{}, false, err
	}
	e.before, e.want = before.Lines, e.lines
	if len(e.before) > 0 && !e.opts.Clear {
		e.want = slices.Clone(e.before)
		e.want[len(e.want)-1] += e.lines[0]
		e.want = append(e.want, e.lines[1:]...)
	}
	methods := []func(context.Context) error{e.insertTogether, e.insertSeparately}
	switch {
	case before.Single:
		methods = methods[1:]
	case before.Keyed:
		methods = []func(context.Context) error{e.paste}
	}
	var last []string // what the element had after the last method
	for i := 0; ; i++ {
		if i > 0 {
			now, err := e.undo(ctx)
			if err != nil {
				return entryResult{}, true, err
			}
			switch {
			case sameLines(now, e.want):
				return e.kept(now), true, nil // the browser's change was undone, and not what the editor had made of the event
			case !restored(now, e.before):
				return entryResult{}, true, e.changedError(ctx, last, fmt.Sprintf("the old text could not be restored, and its text is %q", shortText(now...)))
			case i == len(methods):
				return entryResult{}, true, e.changedError(ctx, last, "the old text was restored")
			}
			if err := e.field.Doc.Call(ctx, nil, "moveCaret", e.field.ID, e.opts.Clear); err != nil {
				return entryResult{}, true, e.removed(ctx, err)
			}
		}
		if err := methods[i](ctx); err != nil {
			return entryResult{kept: true, stopped: true}, true, ignoreInterruption(err)
		}
		_, stopped, err := e.check.wait(ctx, nil, completionCriteria{more: i+1 < len(methods)})
		if before.Keyed && errors.Is(err, executor.ErrNotActionable) {
			err = nil // the page handled the paste event, so it got no text
		}
		if stopped || err != nil {
			return entryResult{kept: true, stopped: true}, true, err
		}
		for range 2 {
			now, err := e.read(ctx)
			if err != nil {
				return entryResult{kept: true}, true, nil // the page replaced the field, so the text arrived
			}
			if last = now.Lines; sameLines(last, e.want) {
				return e.kept(last), true, nil
			}
			e.actor.pause(ctx)
		}
	}
}

// kept returns the result for an element that has the lines that it should have.
func (e *linesEntry) kept(lines []string) entryResult {
	got := entryResult{kept: true, field: &EnteredField{doc: e.field.Doc, id: e.field.ID, want: strings.Join(lines, "\n")}}
	for i, line := range lines {
		if got.note == "" && i < len(e.want) {
			got.note = typographyNote(collapsed(line), collapsed(e.want[i]))
		}
	}
	return got
}

// changedError returns the error for an element that had the given lines instead.
func (e *linesEntry) changedError(ctx context.Context, lines []string, outcome string) error {
	return executor.Errorf(executor.ErrNotActionable, "Type the lines one by one, or call Page.Type with TypeOptions.KeyEvents, which presses Enter between them.",
		"%s changed the line breaks: its text was %q; %s", e.describe(ctx), shortText(lines...), outcome)
}

// shortText returns lines as text that an error quotes.
func shortText(lines ...string) string { return pagetext.Truncate(strings.Join(lines, "\n"), 500) }

// read returns the text in the element.
func (e *linesEntry) read(ctx context.Context) (*editableText, error) {
	return query[editableText](ctx, e.actor, e.field, "editableLines", e.field.ID)
}

// insertTogether inserts the lines in one event.
func (e *linesEntry) insertTogether(ctx context.Context) error {
	return e.actor.keyboard.insertText(ctx, e.field.Doc, strings.Join(e.lines, "\n"))
}

// paste pastes the lines. It inserts them in one event if the page does not handle the paste.
func (e *linesEntry) paste(ctx context.Context) error {
	var handled bool
	if err := e.field.Doc.Call(ctx, &handled, "pasteInto", e.field.ID, strings.Join(e.lines, "\n")); err != nil || handled {
		return err
	}
	e.actor.pause(ctx) // some editors handle it later, and let the browser also do so
	now, err := e.read(ctx)
	if err != nil || !slices.Equal(now.Lines, e.before) {
		return err
	}
	return e.insertTogether(ctx)
}

// insertSeparately inserts each line in its own event, with line breaks between them.
func (e *linesEntry) insertSeparately(ctx context.Context) error {
	keyboard, d := e.actor.keyboard, e.field.Doc
	for i, line := range e.lines {
		if i > 0 {
			if err := keyboard.runCommand(ctx, d, "insertLineBreak"); err != nil {
				return err
			}
		}
		if line == "" {
			continue
		}
		if err := keyboard.insertText(ctx, d, line); err != nil {
			return err
		}
	}
	return nil
}

// undo undoes the last input until the element has the lines that it had before or should have, and
// returns its lines. An editor may undo what it had before together with the last input. Then undo
// redoes input until the element has as much of its old text as it had in any state.
func (e *linesEntry) undo(ctx context.Context) ([]string, error) {
	modifiers := keys.SelectAll().Modifiers
	z, _ := keys.ForRune('z')
	shiftedZ, _ := keys.ForRune('Z')
	undo := &keys.Chord{Key: z, Modifiers: modifiers}
	redo := &keys.Chord{Key: shiftedZ, Modifiers: append(slices.Clone(modifiers), executor.ModShift)}
	now, err := e.read(ctx)
	if err != nil {
		return nil, err
	}
	lines, before := now.Lines, e.before
	press := func(c *keys.Chord) (stopped bool, err error) {
		if stopped, err := e.press(ctx, c); stopped || err != nil {
			return true, err
		}
		e.actor.pause(ctx)
		now, err := e.read(ctx)
		if err != nil {
			return true, err
		}
		lines = now.Lines
		return false, nil
	}
	all := keptText(before, before)
	most, since := keptText(lines, before), 0 // since counts the steps after the state that had most of the old text
	idle := 0
	for range maxUndo + undoPerLine*len(e.want) {
		if restored(lines, before) || sameLines(lines, e.want) {
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
