package input

import (
	"context"
	"errors"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/deadline"
	"github.com/chrome-mcp/chrome-mcp/internal/elements"
	"github.com/chrome-mcp/chrome-mcp/internal/phrase"
)

// actionOf returns the result of an action that act has run.
func actionOf(changes executor.Changes, err error) (*executor.Action, error) {
	if err != nil {
		return nil, err
	}
	return &executor.Action{OK: true, Changes: changes}, nil
}

// actOptions are the options of act.
type actOptions struct {
	timeout time.Duration // of the wait for the element; 0 means the default
	// skipFrameWait makes act wait only for what the page changes immediately, and not for an
	// animation frame. It is for actions that read back their result. Later changes are reported
	// with the next action.
	skipFrameWait bool
}

// act runs an action on an element and returns what it changed.
func (a *Actor) act(ctx context.Context, target executor.Target, opts actOptions, do func(context.Context, *element) (note string, err error)) (executor.Changes, error) {
	a.ReleaseButtons(ctx)
	actx, cancel := deadline.ForAction(ctx, opts.timeout)
	defer cancel()
	el, err := a.waitForElement(actx, target, opts.timeout > 0)
	if err != nil {
		return executor.Changes{}, err
	}
	w := a.opts.TrackChanges()
	effects := w.Effects()
	effects.Brief, effects.Target = opts.skipFrameWait, el.Shown
	el.effects = effects
	defer w.End()
	note, err := do(actx, el)
	for target.Selector != "" && errors.As(err, new(elements.RemovedBeforeAction)) && actx.Err() == nil {
		// The page replaced the element before the action started.
		var next *element
		if next, err = a.waitForElement(actx, target, opts.timeout > 0); err == nil { // by a selector
			el = next
			el.effects, effects.Target = effects, el.Shown
			note, err = do(actx, el)
		}
	}
	if err != nil && !w.DetachedByHandover(err) {
		return executor.Changes{}, err
	}
	effects.Hung = note == pageBusyNote
	changes, err := w.Finish(ctx)
	changes.Note = phrase.Notes(el.Note(), note, changes.Note)
	return changes, err
}

// timeoutOf returns the timeout of o, or 0 if o is nil.
func timeoutOf(o *executor.ActionOptions) time.Duration {
	if o == nil {
		return 0
	}
	return o.Timeout
}
