package page

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/chromedp/cdproto/input"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/deadline"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/shield"
)

func (v *View) Press(ctx context.Context, name string, opts *executor.PressOptions) (*executor.Action, error) {
	o := *cmp.Or(opts, new(executor.PressOptions))
	c, err := parseChord(name, o.Modifiers)
	if err == nil && v.tab.opts.SharedBrowser && c.usesClipboard() {
		err = v.checkClipboard(ctx, nil) // it depends on no document
	}
	if err != nil {
		return nil, err
	}
	actx, cancel := deadline.ForAction(ctx, o.Timeout)
	defer cancel()
	var note string
	d, err := v.client.Document(actx, executor.OpAct)
	if err != nil {
		return nil, err
	}
	v.releaseButtons(ctx)
	w := v.watch()
	defer w.end()
	if !o.Target.IsZero() {
		el, err := v.waitForElement(actx, o.Target, o.Timeout > 0)
		if err != nil {
			return nil, err
		}
		d, w.target = el.Doc, el.Shown
		if err := v.focus(actx, el); err != nil {
			return nil, err
		}
		note = el.Note()
	}
	if sent, err := v.pressChordChecked(actx, d, c); err != nil && !v.tab.detachedByHandover(err, w.handovers) {
		if sent {
			err = shield.WithProgress(err, "the key was sent, and the page may still receive it")
		}
		return nil, err
	}
	changes, err := w.finish(ctx)
	changes.Note = joinNotes(note, changes.Note)
	return &executor.Action{OK: true, Changes: changes}, err
}

// focus moves the focus to an element.
func (v *View) focus(ctx context.Context, el *element) error {
	if _, err := v.waitActionable(ctx, el, actionabilityOptions{Hit: new(false)}); err != nil {
		return err
	}
	var focused *bool
	if err := v.elements.Call(ctx, el.Element, &focused, "focus", el.ID); err != nil {
		return v.elements.Removed(ctx, el.Element, err)
	}
	if focused == nil {
		return v.elements.RemovedError(ctx, el.Element)
	}
	el.Shown.Act()
	if !*focused {
		return &executor.Error{Code: executor.ErrNotActionable, Err: fmt.Errorf("%s cannot be focused", v.elements.Describe(ctx, el.Element)),
			Hint: "Press the key without a target, or on an element that accepts keys."}
	}
	return nil
}

// ignoreInterruption returns nil for the errors that the input itself may have caused, an open
// dialog and a detached document, and err otherwise.
func ignoreInterruption(err error) error {
	if errors.Is(err, executor.ErrDialogOpen) || errors.Is(err, frames.ErrDocumentGone) {
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

// insertText inserts text in one event, as an input method does. Like pressChord, it returns
// ErrPolicyDenied if a denied document has the focus.
func (v *View) insertText(ctx context.Context, d *frames.Document, text string) error {
	if err := v.focusAllowed(ctx, nil, false); err != nil {
		return err
	}
	p, err := v.startInput(ctx, input.CommandInsertText, input.InsertTextParams{Text: text})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, v.tab.timing.Input+time.Duration(len(text))*v.tab.timing.InputPerByte)
	defer cancel()
	return d.Wait(ctx, p, nil)
}

// pressChordChecked is like pressChord, for a chord that the caller requested. It returns
// ErrNotActionable if the focused document received no key of the chord. With any other error, sent
// means that the page may have received keys, or may still receive them.
func (v *View) pressChordChecked(ctx context.Context, d *frames.Document, k *chord) (sent bool, err error) {
	c := v.newHitTargetCheck(nil, nil)
	defer c.end()
	if stopped, err := v.pressChordWithCheck(ctx, d, k, c); stopped || err != nil || !c.listens || len(c.reported()) > 0 {
		return c.sent && !errors.Is(err, executor.ErrPolicyDenied), err
	}
	var got hitTargetResult // a page script's report may arrive after the browser's response to the input
	err = c.path[0].Call(ctx, &got, "finishCheck", c.token, false)
	if err != nil || len(got.Seen) > 0 {
		return true, ignoreInterruption(err)
	}
	if err := v.tab.shield.Unblock(ctx, &v.client); err != nil {
		return !errors.Is(err, executor.ErrPolicyDenied), err
	}
	return false, v.inputNotReceived("the page did not receive the key")
}

// inputNotReceived returns the ErrNotActionable error for input that no document received. The page
// responds to commands, so the browser itself blocked the input.
func (v *View) inputNotReceived(what string) error {
	return &executor.Error{Code: executor.ErrNotActionable, Retryable: true,
		Err:  fmt.Errorf("%s: the browser blocked the input", what),
		Hint: nativeDialogHint}
}

// nativeDialogHint is the hint for input that the browser did not pass to a page. No CDP command
// reports the browser's own dialogs.
const nativeDialogHint = "A dialog of the browser itself may be open over the page, such as a request for a password, a passkey, a permission or another program: " +
	"ask the user to answer it in the browser's window and try again, or open the page in another tab."

// pressChord presses and releases a chord. A dialog or a detached document, which the chord itself
// may cause, is not an error; stopped is true then, because further input would reach another page
// or wait for the dialog. pressChord returns ErrPolicyDenied, and presses nothing, if a denied
// document has the focus.
func (v *View) pressChord(ctx context.Context, d *frames.Document, c *chord) (stopped bool, err error) {
	return v.pressChordWithCheck(ctx, d, c, nil)
}

// pressChordWithCheck is like pressChord, with a hit target check that observes the keys. A nil
// check means none.
func (v *View) pressChordWithCheck(ctx context.Context, d *frames.Document, c *chord, check *hitTargetCheck) (stopped bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, v.tab.timing.Input)
	defer cancel()
	if err := v.focusAllowed(ctx, check, c.usesClipboard()); err != nil {
		return true, ignoreInterruption(err)
	}
	var pending []*cdpconn.Pending
	for _, e := range c.events() {
		p, err := v.startInput(ctx, input.CommandDispatchKeyEvent, e)
		if err != nil {
			return false, err
		}
		if check != nil {
			check.sent = true
		}
		pending = append(pending, p)
	}
	for _, p := range pending {
		if err := d.Wait(ctx, p, nil); err != nil {
			return true, ignoreInterruption(err)
		}
	}
	return false, nil
}

// events returns the events that press and release the keys of a chord.
func (c *chord) events() []input.DispatchKeyEventParams {
	var events []input.DispatchKeyEventParams
	add := func(kind input.DispatchKeyEventType, k key, bits int64, text string) {
		e := input.DispatchKeyEventParams{
			Type: kind, Modifiers: bits, Key: k.key, Code: k.code,
			WindowsVirtualKeyCode: k.windows, NativeVirtualKeyCode: k.windows, Text: text, UnmodifiedText: text,
		}
		if kind != input.DispatchKeyEventTypeKeyUp {
			e.Commands = editingCommands(k, bits)
		}
		events = append(events, e)
	}
	var bits int64
	for _, m := range c.modifiers {
		bits |= modifierKeys[m].bit
		add(input.DispatchKeyEventTypeRawKeyDown, modifierKeys[m].key, bits, "")
	}
	kind, text := input.DispatchKeyEventTypeKeyDown, c.key.text
	if text == "" || bits&(bitControl|bitAlt|bitMeta) != 0 {
		kind, text = input.DispatchKeyEventTypeRawKeyDown, "" // a shortcut inserts no text
	}
	self := modifierKeys[executor.Modifier(c.key.key)].bit // for a modifier that is pressed alone
	add(kind, c.key, bits|self, text)
	add(input.DispatchKeyEventTypeKeyUp, c.key, bits, "")
	for _, m := range slices.Backward(c.modifiers) {
		bits &^= modifierKeys[m].bit
		add(input.DispatchKeyEventTypeKeyUp, modifierKeys[m].key, bits, "")
	}
	return events
}
