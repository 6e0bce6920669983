package input

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	cdpinput "github.com/chromedp/cdproto/input"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/deadline"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/keys"
	"github.com/chrome-mcp/chrome-mcp/internal/phrase"
	"github.com/chrome-mcp/chrome-mcp/internal/shield"
)

// Press presses a key or a chord.
func (a *Actor) Press(ctx context.Context, name string, opts *executor.PressOptions) (*executor.Action, error) {
	o := *cmp.Or(opts, new(executor.PressOptions))
	c, err := keys.Parse(name, o.Modifiers)
	if err == nil && a.opts.SharedBrowser && c.UsesClipboard() {
		err = a.checkClipboard(ctx, nil) // it depends on no document
	}
	if err != nil {
		return nil, err
	}
	actx, cancel := deadline.ForAction(ctx, o.Timeout)
	defer cancel()
	var note string
	d, err := a.client.Document(actx, executor.OpAct)
	if err != nil {
		return nil, err
	}
	a.ReleaseButtons(ctx)
	w := a.opts.TrackChanges()
	defer w.End()
	if !o.Target.IsZero() {
		el, err := a.waitForElement(actx, o.Target, o.Timeout > 0)
		if err != nil {
			return nil, err
		}
		d, w.Effects().Target = el.Doc, el.Shown
		if err := a.focus(actx, el); err != nil {
			return nil, err
		}
		note = el.Note()
	}
	if sent, err := a.pressChordChecked(actx, d, c); err != nil && !w.DetachedByHandover(err) {
		if sent {
			err = shield.WithProgress(err, "the key was sent, and the page may still receive it")
		}
		return nil, err
	}
	changes, err := w.Finish(ctx)
	changes.Note = phrase.Notes(note, changes.Note)
	return &executor.Action{OK: true, Changes: changes}, err
}

// focus moves the focus to an element.
func (a *Actor) focus(ctx context.Context, el *element) error {
	if _, err := a.waitActionable(ctx, el, actionabilityOptions{Hit: new(false)}); err != nil {
		return err
	}
	var focused *bool
	if err := a.finder.Call(ctx, el.Element, &focused, "focus", el.ID); err != nil {
		return a.finder.Removed(ctx, el.Element, err)
	}
	if focused == nil {
		return a.finder.RemovedError(ctx, el.Element)
	}
	el.Shown.Act()
	if !*focused {
		return &executor.Error{Code: executor.ErrNotActionable, Err: fmt.Errorf("%s cannot be focused", a.finder.Describe(ctx, el.Element)),
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

// insertText inserts text in one event, as an input method does. Like pressChord, it returns
// ErrPolicyDenied if a denied document has the focus.
func (a *Actor) insertText(ctx context.Context, d *frames.Document, text string) error {
	if err := a.focusAllowed(ctx, nil, false); err != nil {
		return err
	}
	p, err := a.StartInput(ctx, cdpinput.CommandInsertText, cdpinput.InsertTextParams{Text: text})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, a.timing.Input+time.Duration(len(text))*a.timing.InputPerByte)
	defer cancel()
	return d.Wait(ctx, p, nil)
}

// pressChordChecked is like pressChord, for a chord that the caller requested. It returns
// ErrNotActionable if the focused document received no key of the chord. With any other error, sent
// means that the page may have received keys, or may still receive them.
func (a *Actor) pressChordChecked(ctx context.Context, d *frames.Document, k *keys.Chord) (sent bool, err error) {
	c := a.newHitTargetCheck(nil, nil)
	defer c.end()
	if stopped, err := a.pressChordWithCheck(ctx, d, k, c); stopped || err != nil || !c.listens || len(c.reported()) > 0 {
		return c.sent && !errors.Is(err, executor.ErrPolicyDenied), err
	}
	var got hitTargetResult // a page script's report may arrive after the browser's response to the input
	err = c.path[0].Call(ctx, &got, "finishCheck", c.token, false)
	if err != nil || len(got.Seen) > 0 {
		return true, ignoreInterruption(err)
	}
	if err := a.shield.Unblock(ctx, a.client); err != nil {
		return !errors.Is(err, executor.ErrPolicyDenied), err
	}
	return false, a.inputNotReceived("the page did not receive the key")
}

// inputNotReceived returns the ErrNotActionable error for input that no document received. The page
// responds to commands, so the browser itself blocked the input.
func (a *Actor) inputNotReceived(what string) error {
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
func (a *Actor) pressChord(ctx context.Context, d *frames.Document, c *keys.Chord) (stopped bool, err error) {
	return a.pressChordWithCheck(ctx, d, c, nil)
}

// pressChordWithCheck is like pressChord, with a hit target check that observes the keys. A nil
// check means none.
func (a *Actor) pressChordWithCheck(ctx context.Context, d *frames.Document, c *keys.Chord, check *hitTargetCheck) (stopped bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, a.timing.Input)
	defer cancel()
	if err := a.focusAllowed(ctx, check, c.UsesClipboard()); err != nil {
		return true, ignoreInterruption(err)
	}
	var pending []*cdpconn.Pending
	for _, e := range c.Events() {
		p, err := a.StartInput(ctx, cdpinput.CommandDispatchKeyEvent, e)
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
