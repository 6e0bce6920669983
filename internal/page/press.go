package page

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/chromedp/cdproto/input"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

// Press presses a key or a chord.
func (v *View) Press(ctx context.Context, name string, opts *executor.PressOptions) (*executor.Action, error) {
	var o executor.PressOptions
	if opts != nil {
		o = *opts
	}
	c, err := parseChord(name, o.Modifiers)
	if err != nil {
		return nil, err
	}
	actx, cancel := actionContext(ctx, o.Timeout)
	defer cancel()
	var note string
	d, err := v.document(actx, executor.OpAct)
	if err != nil {
		return nil, err
	}
	v.letGo(ctx)
	w := v.watch()
	defer w.end()
	if !o.Target.IsZero() {
		el, err := v.appear(actx, o.Target, o.Timeout > 0)
		if err != nil {
			return nil, err
		}
		d, note = el.doc, el.note()
		if err := v.focus(actx, el); err != nil {
			return nil, err
		}
	}
	if _, err := v.strikeConfirmed(actx, d, c); err != nil && !v.tab.detachedByHandover(err, w.handed) {
		return nil, err
	}
	changes, err := w.finish(ctx)
	changes.Note = joinNotes(note, changes.Note)
	return &executor.Action{OK: true, Changes: changes}, err
}

// focus gives an element the focus.
func (v *View) focus(ctx context.Context, el *element) error {
	no := false
	if _, err := v.aim(ctx, el, aimOptions{Hit: &no}); err != nil {
		return err
	}
	var focused *bool
	if err := el.doc.call(ctx, &focused, "focus", el.id); err != nil {
		return v.goneOr(ctx, el, err)
	}
	if focused == nil {
		return v.expired(ctx, el)
	}
	if !*focused {
		return &executor.Error{Code: executor.ErrNotActionable, Err: fmt.Errorf("%s cannot have the focus", v.describe(ctx, el)),
			Hint: "Press the key without a target, or on an element that takes keys."}
	}
	return nil
}

// interrupted lets pass what the input itself may have caused: a dialog, or
// the end of the document.
func interrupted(err error) error {
	if errors.Is(err, executor.ErrDialogOpen) || errors.Is(err, errDocumentGone) {
		return nil
	}
	return err
}

func selectAll() *chord {
	m := executor.ModControl
	if runtime.GOOS == "darwin" {
		m = executor.ModMeta
	}
	k, _ := keyOf('a')
	return &chord{key: k, modifiers: []executor.Modifier{m}}
}

// insertTime is how much longer the browser may take for each byte of a text:
// an editor of many lines is slow.
const insertTime = 300 * time.Microsecond

// insert inserts text as an input method does, in one event. Like strike, it
// returns ErrPolicyDenied if a denied document has the focus.
func (v *View) insert(ctx context.Context, d *document, text string) error {
	if err := v.focusAllowed(ctx, nil); err != nil {
		return err
	}
	p, err := v.startInput(ctx, input.CommandInsertText, input.InsertTextParams{Text: text})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, inputTimeout+time.Duration(len(text))*insertTime)
	defer cancel()
	return d.wait(ctx, p, nil)
}

// strikeConfirmed is like strike, for a chord that the caller requested. It
// returns ErrNotActionable if the document that has the focus received no key of
// the chord.
func (v *View) strikeConfirmed(ctx context.Context, d *document, k *chord) (stopped bool, err error) {
	c := v.confirmation(nil, nil)
	defer c.end()
	if stopped, err = v.strikeListening(ctx, d, k, c); stopped || err != nil || !c.listens || len(c.reported()) > 0 {
		return stopped, err
	}
	var got outcome // a report may arrive after the response to the input
	err = c.path[0].call(ctx, &got, "outcome", c.token, false)
	if err != nil || len(got.Seen) > 0 {
		return err != nil, interrupted(err)
	}
	if err := v.unblock(ctx); err != nil {
		return true, err
	}
	return true, v.unheard("the page did not receive the key")
}

// unheard returns the ErrNotActionable error for input that reached no document.
// The page runs, so the browser blocked the input.
func (v *View) unheard(what string) error {
	return &executor.Error{Code: executor.ErrNotActionable, Retryable: true,
		Err:  fmt.Errorf("%s: the browser kept the input from the page", what),
		Hint: nativeDialogHint}
}

// nativeDialogHint is the hint for input that the browser did not pass to a page.
// No command returns what the browser shows.
const nativeDialogHint = "A dialog of the browser itself may be open over the page, such as a request for a password, a passkey, a permission or another program: " +
	"ask the user to answer it in the browser's window and try again, or open the page in another tab."

// strike presses and releases a chord. A dialog or the end of the document, which
// the chord may cause, is not an error. Then stopped is true: further input would
// reach another page, or wait for the dialog. strike returns ErrPolicyDenied, and
// presses nothing, if a denied document has the focus.
func (v *View) strike(ctx context.Context, d *document, c *chord) (stopped bool, err error) {
	return v.strikeListening(ctx, d, c, nil)
}

// strikeListening is like strike, with a confirmation that listens for the keys.
// nil means no confirmation.
func (v *View) strikeListening(ctx context.Context, d *document, c *chord, heard *confirmation) (stopped bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, inputTimeout)
	defer cancel()
	if err := v.focusAllowed(ctx, heard); err != nil {
		return true, interrupted(err)
	}
	var pending []*cdpconn.Pending
	send := func(kind input.DispatchKeyEventType, k key, bits int64, text string) error {
		p := input.DispatchKeyEventParams{
			Type: kind, Modifiers: bits, Key: k.key, Code: k.code,
			WindowsVirtualKeyCode: k.windows, NativeVirtualKeyCode: k.windows, Text: text, UnmodifiedText: text,
		}
		if kind != input.DispatchKeyEventTypeKeyUp {
			p.Commands = editingCommands(k, bits)
		}
		pend, err := v.startInput(ctx, input.CommandDispatchKeyEvent, p)
		if err == nil {
			pending = append(pending, pend)
		}
		return err
	}
	var bits int64
	for _, m := range c.modifiers {
		bits |= modifierKeys[m].bit
		if err := send(input.DispatchKeyEventTypeRawKeyDown, modifierKeys[m].key, bits, ""); err != nil {
			return false, err
		}
	}
	text := c.key.text
	if bits&(bitControl|bitAlt|bitMeta) != 0 {
		text = "" // a shortcut types nothing
	}
	kind := input.DispatchKeyEventTypeKeyDown
	if text == "" {
		kind = input.DispatchKeyEventTypeRawKeyDown
	}
	own := modifierKeys[executor.Modifier(c.key.key)].bit // of a modifier pressed by itself
	if err := send(kind, c.key, bits|own, text); err != nil {
		return false, err
	}
	if err := send(input.DispatchKeyEventTypeKeyUp, c.key, bits, ""); err != nil {
		return false, err
	}
	for i := len(c.modifiers) - 1; i >= 0; i-- {
		bits &^= modifierKeys[c.modifiers[i]].bit
		if err := send(input.DispatchKeyEventTypeKeyUp, modifierKeys[c.modifiers[i]].key, bits, ""); err != nil {
			return false, err
		}
	}
	for _, p := range pending {
		if err := d.wait(ctx, p, nil); err != nil {
			return true, interrupted(err)
		}
	}
	return false, nil
}
