package input

import (
	"context"
	"errors"
	"fmt"
	"time"

	cdpinput "github.com/chromedp/cdproto/input"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/hitcheck"
	"github.com/chrome-mcp/chrome-mcp/internal/keys"
	"github.com/chrome-mcp/chrome-mcp/internal/shield"
)

// A keyboard presses keys and inserts text in the document that has the focus. Its methods return
// ErrPolicyDenied, and send nothing, if that is a denied document.
type keyboard struct {
	*sender
	clipboard clipboard
}

// A keyCheck observes which keys of a chord the page receives.
type keyCheck struct {
	*hitcheck.Events
	doc    *frames.Document         // reports keys; nil before that
	target *keyTarget               // nil means that any element may receive the keys
	others *hitcheck.OtherDocuments // block the keys; nil if target is
	sent   bool                     // a key of the chord was sent
}

// A keyTarget is where keys and text must arrive.
type keyTarget struct {
	doc *frames.Document
	// inFrame means that the target is the frame of doc, so that the documents of the frames in it may
	// receive the keys, too.
	inFrame bool
}

// observeKeys returns the check of a chord. The caller must call stop.
func (k *keyboard) observeKeys() *keyCheck { return &keyCheck{Events: hitcheck.Observe(k.tree)} }

// stop stops the check.
func (c *keyCheck) stop() { c.Events.Stop(append(c.others.All(), c.doc)...) }

// received reports whether the page received a key of the chord. blocked is the event of a key that
// was blocked because another element than the target would have received it, or nil.
func (c *keyCheck) received(events []hitcheck.Event) (ok bool, blocked *hitcheck.Event) {
	for i, e := range events {
		ok = ok || !e.Prevented // the page may have moved the focus before the key was released
		if e.Prevented && e.By != nil {
			blocked = &events[i]
		}
	}
	return ok, blocked
}

// A keyBlockedError means that the key of a chord was blocked because the element by would have received
// it.
type keyBlockedError struct{ by *hitcheck.Event }

func (keyBlockedError) Error() string { return "the key was blocked" }

// pressChecked is like press, for a chord that the caller requested. It returns ErrNotActionable if
// the focused document received no key of the chord, ErrTargetGone if d was replaced and reported
// none, and a keyBlockedError. With an error, sent means that the page may have received keys, or may
// still receive them.
func (k *keyboard) pressChecked(ctx context.Context, d *frames.Document, chord *keys.Chord, c *keyCheck) (sent bool, err error) {
	stopped, err := k.pressObserved(ctx, d, chord, c)
	received, blocked := c.received(c.Reported())
	switch {
	case err == nil && blocked != nil:
		return false, keyBlockedError{blocked}
	case err == nil && !received && !d.IsCurrent():
		if err := k.shield.Unblock(ctx, k.client); err != nil {
			return c.sent && !errors.Is(err, executor.ErrPolicyDenied), err
		}
		return c.sent, documentReplacedError("key")
	case stopped || err != nil || c.doc == nil || received:
		return c.sent && !errors.Is(err, executor.ErrPolicyDenied), err
	}
	var got hitcheck.Result // a page script's report may arrive after the browser's response to the input
	err = c.doc.Call(ctx, &got, "finishCheck", c.Token, false)
	received, blocked = c.received(got.Seen)
	switch {
	case err == nil && blocked != nil:
		return false, keyBlockedError{blocked}
	case err != nil || received:
		return true, ignoreInterruption(err)
	}
	if err := k.shield.Unblock(ctx, k.client); err != nil {
		return !errors.Is(err, executor.ErrPolicyDenied), err
	}
	return false, inputNotReceivedError("the page did not receive the key")
}

// press presses and releases a chord. A dialog or a detached document, which the chord itself may
// cause, is not an error; stopped is true then, because further input would reach another page or
// wait for the dialog.
func (k *keyboard) press(ctx context.Context, d *frames.Document, chord *keys.Chord) (stopped bool, err error) {
	return k.pressObserved(ctx, d, chord, nil)
}

// pressObserved is like press, with a check that observes the keys. A nil check means none.
func (k *keyboard) pressObserved(ctx context.Context, d *frames.Document, chord *keys.Chord, check *keyCheck) (stopped bool, err error) {
	stopped, err = k.sendKeys(ctx, d, check, chord.UsesClipboard(), chord.Events()...)
	if stopped {
		err = ignoreInterruption(err)
	}
	return stopped, err
}

// runCommand runs an editing command of the browser in the focused element, as a key binding does.
// The key that it presses is not on a keyboard, so pages do not act on it.
func (k *keyboard) runCommand(ctx context.Context, d *frames.Document, command string) error {
	_, err := k.sendKeys(ctx, d, nil, false,
		cdpinput.DispatchKeyEventParams{Type: cdpinput.DispatchKeyEventTypeRawKeyDown, Key: "Unidentified", Commands: []string{command}},
		cdpinput.DispatchKeyEventParams{Type: cdpinput.DispatchKeyEventTypeKeyUp, Key: "Unidentified"})
	return err
}

// sendKeys sends key events and waits until d has handled them. Without a check, they are for a field
// in d. With an error, stopped means that an event could not reach the document that has the focus,
// or that d did not handle it.
func (k *keyboard) sendKeys(ctx context.Context, d *frames.Document, check *keyCheck, usesClipboard bool, events ...cdpinput.DispatchKeyEventParams) (stopped bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, k.timing.Input)
	defer cancel()
	target := &keyTarget{doc: d}
	if check != nil {
		target = check.target
	}
	if err := k.checkFocus(ctx, target, check, usesClipboard); err != nil {
		return true, err
	}
	if !d.IsCurrent() {
		return true, frames.ErrDocumentGone // another document has the focus
	}
	var pending []*cdpconn.Pending
	for _, e := range events {
		p, err := k.StartInput(ctx, cdpinput.CommandDispatchKeyEvent, e)
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
			return true, err
		}
	}
	return false, nil
}

// insertText inserts text for a field in d in one event, as an input method does.
func (k *keyboard) insertText(ctx context.Context, d *frames.Document, text string) error {
	if err := k.checkFocus(ctx, &keyTarget{doc: d}, nil, false); err != nil {
		return err
	}
	p, err := k.StartInput(ctx, cdpinput.CommandInsertText, cdpinput.InsertTextParams{Text: text})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, k.timing.Input+time.Duration(len(text))*k.timing.InputPerByte)
	defer cancel()
	return d.Wait(ctx, p, nil)
}

// CheckFocus checks with the gate the document that has the focus, which receives keys.
func (k *keyboard) CheckFocus(ctx context.Context) error { return k.checkFocus(ctx, nil, nil, false) }

// checkFocus is like CheckFocus, for keys that check observes if it is not nil, and that copy, cut
// or paste if usesClipboard is set. If target is not nil, it returns ErrNotActionable if another
// document has the focus, and frames.ErrDocumentGone if the target's was replaced.
func (k *keyboard) checkFocus(ctx context.Context, target *keyTarget, check *keyCheck, usesClipboard bool) error {
	b := k.Block(ctx)
	d, ok, err := k.focusedDocument(ctx, b, target, check)
	if err == nil && !ok && target.doc.IsCurrent() {
		err = target.doc.Call(ctx, &ok, "receivesKeys")
	}
	switch {
	case err != nil:
		return err
	case !ok && !target.doc.IsCurrent():
		return frames.ErrDocumentGone
	case !ok && target.doc.Session == k.tree.Session():
		return focusElsewhereError(d)
	case usesClipboard:
		return k.clipboard.check(ctx, d)
	}
	// Chromium does not always notify the documents around an out-of-process iframe that the focus has moved
	// to it. Other documents block the input: see [hitcheck.OtherDocuments].
	return nil
}

// focusedDocument checks with the gate the document that has the focus, and returns it. ok means that
// it is the target's, which then listens for the keys of check. It queries each document for its
// focused frame before it accesses that frame, so it never queries a denied document.
func (k *keyboard) focusedDocument(ctx context.Context, b *shield.Blocker, target *keyTarget, check *keyCheck) (d *frames.Document, ok bool, err error) {
	if d, err = k.tree.TopDocument(ctx); err != nil {
		return nil, false, err
	}
	for ok = target == nil; ; {
		ok = target == nil || d.World == target.doc.World || ok && target.inFrame
		token := ""
		if ok && check != nil && check.doc == nil {
			token = check.Token
		}
		var id int
		if err := d.Call(ctx, &id, "focusedFrame", token); err != nil {
			return nil, false, err
		}
		if id == 0 {
			if token != "" {
				check.doc = d
			}
			return d, ok, nil
		}
		below := k.frameAt(ctx, d, id)
		if below == nil {
			return nil, false, frameNotReadyError("the frame that has the focus")
		}
		if err := k.client.Check(ctx, below, executor.OpAct, ""); err != nil {
			return nil, false, err
		}
		b.Admit(ctx, below)
		d = below
	}
}

// focusElsewhereError returns the error of keys or text that were not sent because d has the focus, and
// not the document of the target.
func focusElsewhereError(d *frames.Document) error {
	return executor.Errorf(executor.ErrNotActionable, "Take a snapshot to see what the page did. If the input is for that document, act on an element in it.",
		"%s has the focus instead of the target, so the input was not sent", documentName(d))
}

// documentName describes a document of a tab for messages.
func documentName(d *frames.Document) string {
	switch {
	case d.IsTop():
		return "the page"
	case d.Origin == executor.OriginOpaque || d.Origin == executor.OriginInternal:
		return "a frame without an origin"
	}
	return "a frame of " + d.Origin
}

// ignoreInterruption returns nil for the errors that the input itself may have caused, an open
// dialog and a detached document, and err otherwise.
func ignoreInterruption(err error) error {
	if errors.Is(err, executor.ErrDialogOpen) || errors.Is(err, frames.ErrDocumentGone) {
		return nil
	}
	return err
}

// documentReplacedError returns the ErrTargetGone error for a key or a press whose document was replaced
// or removed, and did not report it.
func documentReplacedError(what string) error {
	return executor.Errorf(executor.ErrTargetGone, "Take a snapshot to see where the page is, before trying again.",
		"the document was replaced or removed before it reported the %s", what)
}

// inputNotReceivedError returns the ErrNotActionable error for input that no document received. The
// page responds to commands, so the browser itself blocked the input.
func inputNotReceivedError(what string) error {
	return &executor.Error{Code: executor.ErrNotActionable, Retryable: true,
		Err:  fmt.Errorf("%s: the browser blocked the input", what),
		Hint: nativeDialogHint}
}

// nativeDialogHint is the hint for input that the browser did not pass to a page. No CDP command
// reports the browser's own dialogs.
const nativeDialogHint = "A dialog of the browser itself may be open over the page, such as a request for a password, a passkey, a permission or another program: " +
	"ask the user to answer it in the browser's window and try again, or open the page in another tab."
