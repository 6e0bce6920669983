package input

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	cdpinput "github.com/chromedp/cdproto/input"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/deadline"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// maxWheel is the maximum step of one wheel event, in CSS pixels.
const maxWheel = 100_000

// Mouse sends one mouse or touch input at a point of the viewport.
func (a *Actor) Mouse(ctx context.Context, opts executor.MouseOptions) (*executor.Action, error) {
	opts.Button = cmp.Or(opts.Button, executor.ButtonLeft)
	if err := checkMouse(opts); err != nil {
		return nil, err
	}
	if a.buttons.failed.Load() {
		if err := a.ReleaseButtons(ctx); err != nil {
			return nil, err
		}
	}
	pressed := a.buttons.pressed(opts.Button)
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
	if err := a.checkPoint(actx, opts.X, opts.Y); err != nil {
		return nil, err
	}
	w := a.opts.TrackChanges()
	defer w.End()
	if err := a.mouse(actx, opts); err != nil {
		return nil, err
	}
	changes, err := w.Finish(ctx)
	failed = err != nil // the page possibly did not receive the press
	return &executor.Action{OK: true, Changes: changes}, err
}

func checkMouse(o executor.MouseOptions) error {
	if buttonBits[o.Button] == 0 {
		return executor.Errorf(executor.ErrBadArgs, "Use left, right or middle.", "button %q is unknown", string(o.Button))
	}
	for _, n := range []float64{o.X, o.Y, o.DeltaX, o.DeltaY} {
		if math.IsNaN(n) || math.IsInf(n, 0) {
			return executor.Errorf(executor.ErrBadArgs, "Give numbers.", "coordinates and deltas must be finite numbers")
		}
	}
	switch o.Action {
	case executor.MouseMove, executor.MouseDown, executor.MouseUp, executor.MouseClick, executor.MouseTap:
		if o.DeltaX != 0 || o.DeltaY != 0 {
			return executor.Errorf(executor.ErrBadArgs, "Omit it, or use the action wheel.", "%s has no deltaX or deltaY", o.Action)
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

// checkPoint checks with the gate each document that input at a point of the viewport passes
// through, down to the one that receives it. It waits for frames that are loading.
func (a *Actor) checkPoint(ctx context.Context, x, y float64) error {
	a.tree.WaitForFrames(ctx)
	return a.checkPointNow(ctx, x, y)
}

// checkPointNow is like checkPoint, without the wait: it denies a frame whose document is unknown.
func (a *Actor) checkPointNow(ctx context.Context, x, y float64) error {
	_, _, err := a.documentAt(ctx, x, y)
	return err
}

// frameNotReadyError returns the error of input to a frame whose document is not known yet.
func frameNotReadyError(frame string) error {
	return &executor.Error{Code: executor.ErrNotActionable, Retryable: true,
		Err:  frames.UnknownError(frame, "allows"),
		Hint: "Try again when the frame has loaded."}
}

// documentAt checks with the gate each document that input at a point of the viewport passes
// through. It returns the document that receives the input, and whether the element there is
// editable.
func (a *Actor) documentAt(ctx context.Context, x, y float64) (d *frames.Document, editable bool, err error) {
	d, err = a.client.Document(ctx, executor.OpAct)
	if err != nil {
		return nil, false, err
	}
	for {
		var at struct {
			Width    float64 `json:"width"`
			Height   float64 `json:"height"`
			Outside  bool    `json:"outside"`
			Editable bool    `json:"editable"`
			Frame    int     `json:"frame"`
			X        float64 `json:"x"`
			Y        float64 `json:"y"`
		}
		err := d.Call(ctx, &at, "frameAtPoint", x, y, d.IsTop())
		if errors.Is(err, frames.ErrDocumentGone) {
			return nil, false, &executor.Error{Code: executor.ErrTargetGone, Retryable: true, Err: err, Hint: "The page was navigating; try again."}
		}
		if err != nil {
			return nil, false, frames.TimeoutAs(err, "the page to return the element at the point")
		}
		if at.Outside {
			return nil, false, executor.Errorf(executor.ErrBadArgs, "Scroll first, and take a screenshot to see where things are.",
				"point %v, %v is outside the viewport (%v x %v CSS pixels)", x, y, at.Width, at.Height)
		}
		if at.Frame == 0 {
			return d, at.Editable, nil
		}
		below := a.frameAt(ctx, d, at.Frame)
		if below == nil {
			return nil, false, frameNotReadyError(fmt.Sprintf("the frame at %v, %v", x, y))
		}
		if err := a.client.Check(ctx, below, executor.OpAct, ""); err != nil {
			return nil, false, err
		}
		a.shield.Admit(ctx, below)
		d, x, y = below, at.X, at.Y
	}
}

func (a *Actor) mouse(ctx context.Context, o executor.MouseOptions) error {
	switch o.Action {
	case executor.MouseWheel:
		a.Block(ctx).Lock(ctx)
		if err := a.checkPoint(ctx, o.X, o.Y); err != nil {
			return err
		}
		return a.input(ctx, cdpinput.CommandDispatchMouseEvent, map[string]any{
			"type": cdpinput.DispatchMouseEventTypeMouseWheel, "x": o.X, "y": o.Y, "deltaX": o.DeltaX, "deltaY": o.DeltaY,
		})
	case executor.MouseTap:
		a.Block(ctx)
		if err := a.checkPoint(ctx, o.X, o.Y); err != nil {
			return err
		}
		return a.tap(ctx, o.X, o.Y)
	}
	if err := a.movePressedPointer(ctx, o.X, o.Y); err != nil || o.Action == executor.MouseMove {
		return err
	}
	if err := a.checkPoint(ctx, o.X, o.Y); err != nil { // the page may have put another frame there during the move
		return err
	}
	if o.Action != executor.MouseUp {
		if o.Button == executor.ButtonMiddle {
			if err := a.checkMiddleButton(ctx, o.X, o.Y); err != nil {
				return err
			}
		}
		err := a.input(ctx, cdpinput.CommandDispatchMouseEvent, a.buttons.press(o.Button, o.X, o.Y))
		if err != nil || o.Action == executor.MouseDown {
			return err
		}
		if err := a.checkPoint(ctx, o.X, o.Y); err != nil && !errors.Is(err, executor.ErrDialogOpen) && !errors.Is(err, executor.ErrTargetGone) {
			return err // the caller's ReleaseButtons releases the button
		}
	}
	return a.release(ctx, o.Button)
}
