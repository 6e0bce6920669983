package input

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/keys"
	"github.com/chrome-mcp/chrome-mcp/internal/shield"
)

// manyLines is the maximum number of lines that are typed into a textarea. Chrome repeats the
// layout of the text at each line break, so that thousands of lines take minutes.
const manyLines = 200

// prefill sets the value of a textarea to all of e.want except its last character, and
// returns that character. The caller types it, so that the page receives input events and reads the
// complete value.
func (e *textEntry) prefill(ctx context.Context) (rest string, err error) {
	want := canonicalBreaks(e.want)
	_, size := utf8.DecodeLastRuneInString(want)
	if err := e.field.Doc.Call(ctx, nil, "prefill", e.field.ID, want[:len(want)-size]); err != nil {
		return "", e.removed(ctx, err)
	}
	return want[len(want)-size:], nil
}

// maxFocusKeys is the number of keys after which a page may move the focus in a timer. Fields for
// parts of a code are short.
const maxFocusKeys = 64

// shortField is the maximum length of a field from which a page is expected to move the focus when
// it is full.
const shortField = 8

// send types text into the focused element: in one event, as an input method does, or with a key
// press for each character. stopped reports that a dialog opened or the document was replaced. The
// note says how much was typed by then, if not all.
func (e *textEntry) send(ctx context.Context, text string) (note string, stopped bool, err error) {
	a, field, info := e.actor, e.field, e.info
	if !e.opts.KeyEvents {
		err := a.keyboard.insertText(ctx, field.Doc, text)
		return "", err != nil, ignoreInterruption(err)
	}
	text = canonicalBreaks(text)
	typed, total := 0, utf8.RuneCountInString(text)
	frameLimit := a.timing.LineBreak
	b := a.Block(ctx)
	for _, r := range text {
		b.SetProgress(fmt.Sprintf("at most %d of %d characters were typed", typed, total))
		if err := b.Err(ctx); err != nil {
			return "", true, err
		}
		if typed > 0 {
			if err := e.waitToType(ctx); err != nil {
				return typedOf(typed, total), true, shield.WithProgress(ignoreInterruption(err), fmt.Sprintf("%d of %d characters were typed", typed, total))
			}
		}
		typed++
		if r == '\n' && info.Kind == "text" && info.Type != "textarea" {
			r = ' ' // as the browser does in a single-line field; Enter would submit the form
		}
		k, shifted := keys.ForRune(r)
		if k.MustInsert() || r == '\t' { // Tab would move the focus out of the field
			if err := a.keyboard.insertText(ctx, field.Doc, string(r)); err != nil {
				return typedOf(typed, total), true, shield.WithProgress(ignoreInterruption(err), fmt.Sprintf("at most %d of %d characters were typed", typed-1, total))
			}
			continue
		}
		stroke := &keys.Chord{Key: k}
		if shifted {
			stroke.Modifiers = []executor.Modifier{executor.ModShift}
		}
		if stopped, err := e.press(ctx, stroke); stopped || err != nil {
			return typedOf(typed, total), true, shield.WithProgress(err, fmt.Sprintf("at most %d of %d characters were typed", typed-1, total))
		}
		// Some editors let the browser break a line, and render it in the next animation frame. A
		// key that comes before finds the browser's line break in addition to the editor's.
		lineBreak := r == '\n' && info.Kind == "editable"
		if lineBreak || e.opts.Delay <= 0 && typed <= maxFocusKeys {
			var limit, frame time.Duration
			if lineBreak {
				frame = frameLimit
			}
			if info.Kind == "text" && info.Limit > 0 && info.Limit <= shortField {
				limit = a.timing.NextField
			}
			rendered := true
			// An error, as of an open dialog, is returned for the next key.
			field.Doc.Call(ctx, &rendered, "afterKey", limit.Milliseconds(), frame.Milliseconds())
			if !rendered { // a document that is not displayed has no animation frames
				frameLimit = a.timing.HiddenLineBreak
			}
		}
	}
	b.SetProgress("")
	return "", false, nil
}

// waitToType waits for the delay between two characters. It returns an error early if a dialog
// opens or the tab is gone, and frames.ErrDocumentGone if the document was replaced.
func (e *textEntry) waitToType(ctx context.Context) error {
	if e.opts.Delay <= 0 {
		if !e.field.Doc.IsCurrent() {
			return frames.ErrDocumentGone
		}
		return nil
	}
	switch err := e.actor.tree.Sleep(ctx, e.opts.Delay); {
	case errors.Is(err, context.DeadlineExceeded):
		return executor.Errorf(executor.ErrTimeout, "Take a snapshot to see the text.", "the time of the call was over before all text was typed")
	case err != nil:
		return err
	case !e.field.Doc.IsCurrent():
		return frames.ErrDocumentGone
	}
	return nil
}

// typedOf returns the note on text that was not typed completely, or "".
func typedOf(n, total int) string {
	if n == total {
		return ""
	}
	return fmt.Sprintf("%d of %d characters were typed", n, total)
}
