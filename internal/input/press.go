package input

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/deadline"
	"github.com/chrome-mcp/chrome-mcp/internal/elements"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/hitcheck"
	"github.com/chrome-mcp/chrome-mcp/internal/keys"
	"github.com/chrome-mcp/chrome-mcp/internal/phrase"
	"github.com/chrome-mcp/chrome-mcp/internal/shield"
)

// Press presses a key or a chord.
func (a *Actor) Press(ctx context.Context, name string, opts *executor.PressOptions) (*executor.Action, error) {
	o := *cmp.Or(opts, new(executor.PressOptions))
	c, err := keys.Parse(name, o.Modifiers)
	if err == nil && a.keyboard.clipboard.shared && c.UsesClipboard() {
		err = a.keyboard.clipboard.check(ctx, nil) // it depends on no document
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
	check := a.observeKeys()
	defer check.stop()
	var target *element
	if !o.Target.IsZero() {
		el, err := a.find(actx, o.Target, o.Timeout > 0)
		if err != nil {
			return nil, err
		}
		d, w.Effects().Target, target = el.Doc, el.Shown, el
		if err := a.focus(actx, el, check); err != nil {
			return nil, err
		}
		note = el.Note()
	}
	if sent, err := a.pressKeys(actx, d, c, check, target); err != nil && !w.DetachedByExternalNavigation(err) {
		if sent {
			err = shield.WithProgress(err, "the key was sent, and the page may still receive it")
		}
		return nil, err
	}
	changes, err := w.Finish(ctx)
	changes.Note = phrase.Notes(note, changes.Note)
	return &executor.Action{OK: true, Changes: changes}, err
}

// pressKeys is [keyboard.pressChecked] for keys that are for the element target, if it is not nil.
func (a *Actor) pressKeys(ctx context.Context, d *frames.Document, c *keys.Chord, check *keyCheck, target *element) (sent bool, err error) {
	sent, err = a.keyboard.pressChecked(ctx, d, c, check)
	if blocked, ok := errors.AsType[keyBlockedError](err); ok && target != nil {
		in := target.Doc
		for _, e := range check.others.Finish(ctx, false) {
			if e.Prevented && e.By != nil {
				in, blocked.by = e.Doc, &e
			}
		}
		err = a.keyNotPressedError(ctx, target, in, blocked.by.By)
	}
	return sent, err
}

// keyNotPressedError returns the error of a key for an element that was not pressed, or blocked, because
// by in d has the focus. nil means that no element has it.
func (a *Actor) keyNotPressedError(ctx context.Context, el *element, d *frames.Document, by *elements.DescribedElement) error {
	const hint = "Press the key without a target if it is for the focused element, or dismiss that element first."
	name := a.finder.Describe(ctx, el.Element)
	if by == nil {
		return executor.Errorf(executor.ErrNotActionable, "Take a snapshot to see what the page did.", "%s lost the focus, so the key was not pressed", name)
	}
	taker := a.finder.WithRef(d, *by)
	if d.World != el.Doc.World {
		taker += " in " + documentName(d)
	}
	return executor.Errorf(executor.ErrNotActionable, hint, "%s took the focus from %s, so the key was not pressed", taker, name)
}

// A keyFocus is the KeyFocus of js/fields.js.
type keyFocus struct {
	Focused bool                       `json:"focused"`
	Frame   int                        `json:"frame"`
	By      *elements.DescribedElement `json:"by"`
}

// focus moves the focus to an element, and starts to block keys for others.
func (a *Actor) focus(ctx context.Context, el *element, check *keyCheck) error {
	if _, err := a.waitActionable(ctx, el, actionabilityOptions{Hit: new(false)}); err != nil {
		return err
	}
	var got *keyFocus
	if err := a.finder.Call(ctx, el.Element, &got, "focus", el.ID, check.Token, a.timing.TextBlock.Milliseconds()); err != nil {
		return a.finder.Removed(ctx, el.Element, err)
	}
	if got == nil {
		return a.finder.RemovedError(ctx, el.Element)
	}
	el.Shown.RecordInput()
	if !got.Focused {
		return &executor.Error{Code: executor.ErrNotActionable, Err: fmt.Errorf("%s cannot be focused", a.finder.Describe(ctx, el.Element)),
			Hint: "Press the key without a target, or on an element that accepts keys."}
	}
	if got.Frame == 0 {
		a.expectKeys(ctx, check, el.Doc)
		return nil
	}
	inside := a.frameAt(ctx, el.Doc, got.Frame)
	if inside == nil {
		return frameNotReadyError("the frame that has the focus")
	}
	check.target = &keyTarget{doc: inside, inFrame: true}
	return nil
}

// pressEnter presses Enter after text was entered in el, if the focus is still there. See
// entryKeyFocus of js/fields.js.
func (a *Actor) pressEnter(ctx context.Context, el *element) (sent bool, err error) {
	check := a.observeKeys()
	defer check.stop()
	var got keyFocus
	switch err := el.Doc.Call(ctx, &got, "entryKeyFocus", el.ID, check.Token, a.timing.TextBlock.Milliseconds()); {
	case ignoreInterruption(err) != nil:
		return false, err
	case err == nil && !got.Focused:
		return false, a.keyNotPressedError(ctx, el, el.Doc, got.By)
	}
	a.expectKeys(ctx, check, el.Doc)
	return a.pressKeys(ctx, el.Doc, &keys.Chord{Key: keys.Named("Enter")}, check, el)
}

// expectKeys sets the target of keys for an element of d, in which they are observed, and blocks them in
// other documents.
func (a *Actor) expectKeys(ctx context.Context, check *keyCheck, d *frames.Document) {
	check.doc, check.target = d, &keyTarget{doc: d}
	want := hitcheck.Options{Types: []string{"keydown"}, Text: a.timing.TextBlock.Milliseconds()}
	check.others = hitcheck.BlockElsewhere(ctx, a.client, check.Token, []*frames.Document{d}, nil, want)
	check.others.Await(ctx)
}
