package input

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/keys"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// An editorEntry enters text into an editor that keeps its text in a model. Its field receives the
// input and does not contain the text, so the text is selected, read and replaced as a user does
// it: with keys, and with the events of the clipboard. See js/editors.js.
type editorEntry struct {
	*textEntry
	noPaste bool // the page prevents pasting
}

// An editorText is the text of an editor.
type editorText struct {
	Text string `json:"text"`
	// Exact means that the editor itself returned the text. Otherwise it is what the page shows,
	// which may have line numbers and may not be complete.
	Exact bool `json:"exact"`
}

// enter enters the text in place of the selection of the editor or at its end, and compares the
// editor's text with what it should be.
func (e *editorEntry) enter(ctx context.Context) (entryResult, error) {
	e.text = canonicalBreaks(e.text)
	var err error
	if e.info, err = query[fieldInfo](ctx, e.actor, e.field, "inspectField", e.field.ID); err != nil {
		return entryResult{}, err
	}
	enter := e.replaceText
	switch {
	case e.info.Editor == "terminal":
		return e.enterIntoTerminal(ctx)
	case e.focus.Part != nil && e.text != "":
		enter = e.replaceSelection
	}
	note, stopped, err := enter(ctx)
	if !stopped && err == nil {
		err = e.press(ctx, keys.DocumentEnd()) // end the selection
	}
	return entryResult{kept: true, stopped: stopped, note: note}, err
}

// replaceText enters the text in place of the complete text or at its end, and selects the result.
// If the editor changed the text, as one that closes brackets does, the complete text is replaced;
// if that fails, the old text is restored and an error is returned.
func (e *editorEntry) replaceText(ctx context.Context) (note string, stopped bool, err error) {
	before, err := e.read(ctx)
	if err != nil {
		return "", false, err
	}
	want := before.Text + e.text
	if e.opts.Clear {
		want = e.text
	}
	switch {
	case before.Text == "":
	case e.opts.Clear:
		err = e.clear(ctx, before)
	default:
		err = e.press(ctx, keys.DocumentEnd())
	}
	if err != nil {
		return "", false, err
	}
	lines := strings.Contains(e.text, "\n") && !e.opts.KeyEvents
	if note, stopped, err = e.insert(ctx, lines); stopped || err != nil { // editors indent lines that are typed
		return note, stopped, err
	}
	after, err := e.read(ctx)
	if err == nil && lines {
		after, err = e.insertUnlessPasted(ctx, e.text, strings.TrimSuffix(want, e.text), after)
	}
	if err == nil && !after.matches(want, e.opts.Clear) {
		note, err = e.correct(ctx, before, after, want)
	}
	return note, false, err
}

// insert inserts the text, by a paste or as textEntry.send does, and waits until the page has
// handled the input. stopped means that no more input can follow.
func (e *editorEntry) insert(ctx context.Context, paste bool) (note string, stopped bool, err error) {
	switch {
	case e.text == "":
	case paste:
		err = e.paste(ctx, e.text)
		stopped, err = err != nil, ignoreInterruption(err)
	default:
		note, stopped, err = e.send(ctx, e.text)
	}
	if stopped || err != nil {
		return note, stopped, err
	}
	_, done, err := e.check.wait(ctx, nil, completionCriteria{more: true})
	return "", done && err == nil || e.actor.tree.DialogError() != nil, nil
}

// enterIntoTerminal types the text into a terminal, whose text cannot be replaced or read.
func (e *editorEntry) enterIntoTerminal(ctx context.Context) (entryResult, error) {
	if e.opts.Clear {
		return entryResult{}, executor.Errorf(executor.ErrNotActionable, "Type without clearing it, or press the keys that delete its input.",
			"%s is the input of a terminal, whose text cannot be replaced", e.describe(ctx))
	}
	e.info = &fieldInfo{Kind: "text", Type: "textarea"}
	note, stopped, err := e.send(ctx, e.text)
	if !stopped && err == nil {
		_, _, err = e.check.wait(ctx, nil, completionCriteria{})
	}
	return entryResult{kept: true, stopped: stopped, note: note}, err
}

// press presses a chord in the editor. It returns ErrNotActionable, and presses nothing, if the
// editor has lost the focus.
func (e *editorEntry) press(ctx context.Context, k *keys.Chord) error {
	if _, err := e.shown(ctx); err != nil {
		return err
	}
	_, err := e.textEntry.press(ctx, k)
	return err
}

// shown returns the text that the page shows for the editor, or ErrNotActionable if the editor has
// lost the focus.
func (e *editorEntry) shown(ctx context.Context) (string, error) {
	now, err := query[struct {
		Focused bool   `json:"focused"`
		Shows   string `json:"shows"`
	}](ctx, e.actor, e.field, "editorState", e.field.ID)
	if err != nil {
		return "", err
	}
	if !now.Focused {
		return "", executor.Errorf(executor.ErrNotActionable, "Take a snapshot to see what the page did.",
			"%s lost the focus during the entry; its text may be incomplete", e.describe(ctx))
	}
	return strings.TrimSpace(now.Shows), nil
}

// read selects the editor's text and returns it. If the page shows no text, it selects nothing: an
// application that draws its content itself may select something else.
func (e *editorEntry) read(ctx context.Context) (editorText, error) {
	e.actor.pause(ctx) // editors render in the next animation frame
	shows, err := e.shown(ctx)
	if err != nil || shows == "" {
		return editorText{}, err
	}
	if _, err := e.textEntry.press(ctx, keys.SelectAll()); err != nil {
		return editorText{}, err
	}
	got, err := e.readSelected(ctx)
	if got.Text == "\n" || !got.Exact && !hasText(got.Text) { // an editor without a selection copies the line
		got.Text = ""
	}
	return got, err
}

// readSelected returns the selected text of the editor. An editor without a selection may return a
// line.
func (e *editorEntry) readSelected(ctx context.Context) (editorText, error) {
	got, err := query[editorText](ctx, e.actor, e.field, "readEditor", e.field.ID)
	if err != nil {
		return editorText{}, err
	}
	got.Text = canonicalBreaks(got.Text)
	return *got, nil
}

// replaceSelection enters the text in place of the selected text of the editor. The complete text
// is not known before, because reading it would change the selection, so it compares what is before
// the caret afterwards. If that does not end with the text, the entry is undone, and an error is
// returned.
func (e *editorEntry) replaceSelection(ctx context.Context) (note string, stopped bool, err error) {
	old, err := e.readSelected(ctx)
	if err != nil {
		return "", false, err
	}
	paste := !e.opts.KeyEvents
	if note, stopped, err = e.insert(ctx, paste); stopped || err != nil {
		return note, stopped, err
	}
	if paste && old.Exact && old.Text != "" && old.Text != e.text {
		e.actor.pause(ctx)
		now, err := e.readSelected(ctx)
		if err != nil {
			return "", false, err
		}
		if now == old { // the page prevents pasting
			e.noPaste = true
			if note, stopped, err = e.insert(ctx, paste); stopped || err != nil {
				return note, stopped, err
			}
		}
	}
	start, err := e.readTo(ctx, keys.DocumentStart())
	if err != nil {
		return "", false, err
	}
	rest, err := e.readTo(ctx, keys.DocumentEnd())
	if err != nil {
		return "", false, err
	}
	after, err := e.read(ctx)
	switch {
	case err != nil:
	case !old.Exact || !after.Exact:
		note = "the text could not be verified"
		if after.Text != "" {
			note += fmt.Sprintf("; the page shows %q", pagetext.FirstLine(after.Text))
		}
	case !strings.HasSuffix(start.Text, e.text) || after.Text != start.Text && after.Text != start.Text+rest.Text:
		err = e.undoReplacement(ctx, old, after)
	}
	return note, false, err
}

// readTo extends the selection with a chord that moves the caret, and returns the selected text.
func (e *editorEntry) readTo(ctx context.Context, c *keys.Chord) (editorText, error) {
	c.AddModifier(executor.ModShift)
	if err := e.press(ctx, c); err != nil {
		return editorText{}, err
	}
	e.actor.pause(ctx) // editors render in the next animation frame
	return e.readSelected(ctx)
}

// undoReplacement undoes input until the editor has selected old again, which the input replaced,
// and returns ErrNotActionable. after is the text after the input.
func (e *editorEntry) undoReplacement(ctx context.Context, old, after editorText) error {
	z, _ := keys.ForRune('z')
	outcome := ""
	for range maxUndo {
		if err := e.press(ctx, &keys.Chord{Key: z, Modifiers: keys.SelectAll().Modifiers}); err != nil {
			return err
		}
		e.actor.pause(ctx)
		now, err := e.readSelected(ctx)
		if err != nil {
			return err
		}
		if now == old {
			outcome = "the old text was restored"
			break
		}
	}
	if outcome == "" {
		now, err := e.read(ctx)
		if err != nil {
			return err
		}
		outcome = fmt.Sprintf("the old text could not be restored, and its text is %q", shortText(now.Text))
	}
	return executor.Errorf(executor.ErrNotActionable, "Take a snapshot to see what the editor accepts.", "%s changed the text that replaced the selection: its text was %q; %s",
		e.describe(ctx), shortText(after.Text), outcome)
}

// clear deletes the selected text. It returns ErrNotActionable if the editor keeps it.
func (e *editorEntry) clear(ctx context.Context, before editorText) error {
	if err := e.press(ctx, &keys.Chord{Key: keys.Named("Delete")}); err != nil {
		return err
	}
	now, err := e.read(ctx)
	if err != nil {
		return err
	}
	if now.Exact && now.Text != "" || !now.Exact && before.Text != "" && now.Text == before.Text && hasText(now.Text) {
		return executor.Errorf(executor.ErrNotActionable, "Select and delete its text with other keys or its menu, then type without clearing it.",
			"%s does not delete its text with select all and Delete; its text is %q; no text was typed", e.describe(ctx), pagetext.FirstLine(now.Text))
	}
	return nil
}

// paste pastes text at the caret, or in place of the selection. It inserts the text if the editor
// does not handle the paste.
func (e *editorEntry) paste(ctx context.Context, text string) error {
	var handled bool
	if e.noPaste {
		return e.actor.keyboard.insertText(ctx, e.field.Doc, text)
	}
	if err := e.field.Doc.Call(ctx, &handled, "pasteInto", e.field.ID, text); err != nil || handled {
		return err
	}
	return e.actor.keyboard.insertText(ctx, e.field.Doc, text)
}

// insertUnlessPasted inserts text if a paste did not change the editor, whose text was before and is
// now selected: some pages prevent pasting. It returns the new text.
func (e *editorEntry) insertUnlessPasted(ctx context.Context, text, before string, now editorText) (editorText, error) {
	same := now.Exact && now.Text == before || !now.Exact && before == "" && !hasText(now.Text)
	if !same || e.noPaste || !hasText(text) {
		return now, nil
	}
	e.noPaste = true
	if before != "" {
		if err := e.press(ctx, keys.DocumentEnd()); err != nil {
			return now, err
		}
	}
	if err := e.paste(ctx, text); err != nil {
		return now, e.removed(ctx, err)
	}
	return e.read(ctx)
}

// correct replaces the selected text of the editor, which is not what it should be, with want, and
// returns a note. If the editor changes that also, correct restores the old text and returns
// ErrNotActionable.
func (e *editorEntry) correct(ctx context.Context, before, after editorText, want string) (note string, err error) {
	if after.Text == "" && !after.Exact {
		return "the text could not be verified; the page shows no text of the editor", nil
	}
	if !after.Exact {
		return fmt.Sprintf("the text could not be verified; the page shows %q", pagetext.FirstLine(after.Text)), nil
	}
	got, err := e.replace(ctx, want)
	if err != nil {
		return "", err
	}
	if got.matches(want, true) {
		if e.opts.KeyEvents {
			return "the editor changed what the keys typed, so the text was inserted instead", nil
		}
		return "", nil
	}
	restored, err := e.replace(ctx, before.Text)
	if err != nil {
		return "", err
	}
	outcome := "the old text was restored"
	if !restored.matches(before.Text, true) {
		outcome = fmt.Sprintf("the old text could not be restored, and its text is %q", pagetext.FirstLine(restored.Text))
	}
	return "", executor.Errorf(executor.ErrNotActionable, "Take a snapshot to see what the editor accepts.", "%s changed the text to %q; %s",
		e.describe(ctx), pagetext.FirstLine(got.Text), outcome)
}

// replace replaces the selected text of the editor, which is all of it, and returns the new text.
func (e *editorEntry) replace(ctx context.Context, text string) (editorText, error) {
	if err := e.press(ctx, &keys.Chord{Key: keys.Named("Delete")}); err != nil {
		return editorText{}, err
	}
	if text != "" {
		if err := e.paste(ctx, text); err != nil {
			return editorText{}, e.removed(ctx, err)
		}
	}
	now, err := e.read(ctx)
	if err != nil {
		return now, err
	}
	return e.insertUnlessPasted(ctx, text, "", now)
}

// matches reports whether the editor has the text want, and if only is set no other text.
func (t editorText) matches(want string, only bool) bool {
	if t.Exact {
		return t.Text == want
	}
	return showsLines(t.Text, want, only)
}

// showsLines reports whether shown, which may have line numbers, has the lines of want in their
// order, and if only is set nothing else.
func showsLines(shown, want string, only bool) bool {
	rest := textLines(shown)
	for _, line := range textLines(want) {
		at := slices.Index(rest, line)
		if at < 0 || only && slices.ContainsFunc(rest[:at], hasText) {
			return false
		}
		rest = rest[at+1:]
	}
	return !only || !hasText(strings.Join(rest, ""))
}

// hasText reports whether s has characters other than the digits of line numbers.
func hasText(s string) bool { return strings.Trim(s, "0123456789 \t\r\n") != "" }

// textLines returns the lines of s that are not empty, with collapsed white space.
func textLines(s string) []string {
	var lines []string
	for line := range strings.SplitSeq(s, "\n") {
		if line = collapsed(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// canonicalBreaks returns s with LF as the only line break.
func canonicalBreaks(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}
