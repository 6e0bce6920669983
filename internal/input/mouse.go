package input

import (
	"cmp"
	"context"
	"math"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/deadline"
	"github.com/chrome-mcp/chrome-mcp/internal/pointerstate"
)

// maxWheel is the maximum step of one wheel event, in CSS pixels.
const maxWheel = 100_000

// Mouse sends one mouse or touch input at a point of the viewport.
func (a *Actor) Mouse(ctx context.Context, o *executor.MouseOptions) (*executor.Action, error) {
	opts := *cmp.Or(o, new(executor.MouseOptions))
	opts.Button = cmp.Or(opts.Button, executor.ButtonLeft)
	if err := checkMouse(opts); err != nil {
		return nil, err
	}
	if a.pointer.buttons.Failed.Load() {
		if err := a.ReleaseButtons(ctx); err != nil {
			return nil, err
		}
	}
	pressed := a.pointer.buttons.Pressed(opts.Button)
	switch {
	case opts.Action == executor.MouseUp && !pressed:
		return nil, executor.Errorf(executor.ErrBadArgs, "Press it first with down. Other actions release it.", "the %s button is not pressed", opts.Button)
	case (opts.Action == executor.MouseDown || opts.Action == executor.MouseClick) && pressed:
		return nil, executor.Errorf(executor.ErrBadArgs, "Release it first, with up.", "the %s button is pressed already", opts.Button)
	}
	failed := true
	defer func() {
		if failed {
			a.ReleaseButtons(ctx)
		}
	}()
	actx, cancel := deadline.ForAction(ctx, 0)
	defer cancel()
	if err := a.pointer.checkPoint(actx, opts.X, opts.Y); err != nil {
		return nil, err
	}
	w := a.opts.TrackChanges()
	defer w.End()
	if err := a.pointer.dispatch(actx, opts); err != nil {
		return nil, err
	}
	changes, err := w.Finish(ctx)
	failed = err != nil // the page possibly did not receive the press
	return &executor.Action{OK: true, Changes: changes}, err
}

func checkMouse(o executor.MouseOptions) error {
	if err := pointerstate.CheckButton(o.Button); err != nil {
		return err
	}
	for _, n := range []float64{o.X, o.Y, o.DeltaX, o.DeltaY} {
		if math.IsNaN(n) || math.IsInf(n, 0) {
			return executor.Errorf(executor.ErrBadArgs, "Give numbers.", "coordinates and deltas must be finite numbers")
		}
	}
	switch o.Action {
	case executor.MouseMove, executor.MouseDown, executor.MouseUp, executor.MouseClick, executor.MouseTap:
		if o.DeltaX != 0 || o.DeltaY != 0 {
			return executor.Errorf(executor.ErrBadArgs, "Omit them, or use the action wheel.", "%s has no deltaX or deltaY", o.Action)
		}
	case executor.MouseWheel:
		if o.DeltaX == 0 && o.DeltaY == 0 || math.Abs(o.DeltaX) > maxWheel || math.Abs(o.DeltaY) > maxWheel {
			return executor.Errorf(executor.ErrBadArgs, "Give deltaX or deltaY in CSS pixels.", "wheel needs a step of at most %d", maxWheel)
		}
	default:
		return executor.Errorf(executor.ErrBadArgs, "Use move, down, up, click, wheel or tap.", "action %q is unknown", string(o.Action))
	}
	return nil
}
