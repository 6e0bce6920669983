package input

import (
	"cmp"
	"context"
	"fmt"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/deadline"
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
	if !o.Target.IsZero() {
		el, err := a.find(actx, o.Target, o.Timeout > 0)
		if err != nil {
			return nil, err
		}
		d, w.Effects().Target = el.Doc, el.Shown
		if err := a.focus(actx, el); err != nil {
			return nil, err
		}
		note = el.Note()
	}
	if sent, err := a.keyboard.pressChecked(actx, d, c); err != nil && !w.DetachedByExternalNavigation(err) {
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
	el.Shown.RecordInput()
	if !*focused {
		return &executor.Error{Code: executor.ErrNotActionable, Err: fmt.Errorf("%s cannot be focused", a.finder.Describe(ctx, el.Element)),
			Hint: "Press the key without a target, or on an element that accepts keys."}
	}
	return nil
}
