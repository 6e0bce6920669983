package input

import (
	"context"
	"errors"
	"fmt"

	cdpinput "github.com/chromedp/cdproto/input"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/deadline"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/pointerstate"
)

// A pointer moves the pointer of a tab, presses its buttons and touches the page.
type pointer struct {
	*sender
	clipboard clipboard
	buttons   *pointerstate.Buttons
}

// dispatch sends one mouse or touch input.
func (p *pointer) dispatch(ctx context.Context, o executor.MouseOptions) error {
	switch o.Action {
	case executor.MouseWheel:
		p.Block(ctx).PreventScrolling(ctx)
		if err := p.checkPoint(ctx, o.X, o.Y); err != nil {
			return err
		}
		return p.send(ctx, cdpinput.CommandDispatchMouseEvent, map[string]any{
			"type": cdpinput.DispatchMouseEventTypeMouseWheel, "x": o.X, "y": o.Y, "deltaX": o.DeltaX, "deltaY": o.DeltaY,
		})
	case executor.MouseTap:
		p.Block(ctx)
		if err := p.checkPoint(ctx, o.X, o.Y); err != nil {
			return err
		}
		return p.tap(ctx, o.X, o.Y)
	}
	if err := p.move(ctx, o.X, o.Y); err != nil || o.Action == executor.MouseMove {
		return err
	}
	if err := p.checkPoint(ctx, o.X, o.Y); err != nil { // the page may have put another frame there during the move
		return err
	}
	if o.Action != executor.MouseUp {
		if err := p.checkPaste(ctx, o.Button, o.X, o.Y); err != nil {
			return err
		}
		err := p.press(ctx, o.Button, o.X, o.Y)
		if err != nil || o.Action == executor.MouseDown {
			return err
		}
		if err := p.checkPoint(ctx, o.X, o.Y); err != nil && !errors.Is(err, executor.ErrDialogOpen) && !errors.Is(err, executor.ErrTargetGone) {
			return err // the caller's ReleaseButtons releases the button
		}
	}
	return p.release(ctx, o.Button)
}

// move moves the pointer while the pressed buttons stay pressed.
func (p *pointer) move(ctx context.Context, x, y float64) error {
	return p.send(ctx, cdpinput.CommandDispatchMouseEvent, p.buttons.Move(x, y))
}

// startPress sends the press of a button at a point, without waiting for the page. The button counts
// as pressed only if the press was sent.
func (p *pointer) startPress(ctx context.Context, button executor.Button, x, y float64) (*cdpconn.Pending, error) {
	sent, err := p.StartInput(ctx, cdpinput.CommandDispatchMouseEvent, p.buttons.Press(button, x, y))
	if err != nil {
		p.buttons.Release(button)
	}
	return sent, err
}

// press presses a button at a point and waits until the page has handled that.
func (p *pointer) press(ctx context.Context, button executor.Button, x, y float64) error {
	ctx, cancel := context.WithTimeout(deadline.Caller(ctx), p.timing.Input)
	defer cancel()
	sent, err := p.startPress(ctx, button, x, y)
	return p.await(ctx, sent, err)
}

// release releases a button at the pointer's position.
func (p *pointer) release(ctx context.Context, button executor.Button) error {
	return p.send(ctx, cdpinput.CommandDispatchMouseEvent, p.buttons.Release(button))
}

// ReleaseButtons releases all pressed buttons and cancels touches, without waiting for the page. It
// is called after a failed call, and before other commands. It cancels a drag without a drop. If it
// fails, the next call sends the remaining events.
func (p *pointer) ReleaseButtons(ctx context.Context) (err error) {
	ctx = context.WithoutCancel(ctx)
	b := p.buttons
	defer func() { b.Failed.Store(err != nil) }()
	if b.Touched.Swap(false) {
		if _, err := p.StartInput(ctx, cdpinput.CommandDispatchTouchEvent, pointerstate.TouchCancel); err != nil {
			b.Touched.Store(true)
			return err
		}
	}
	for {
		button := b.Down()
		if button == "" {
			return nil
		}
		p.tree.Session().Start(ctx, cdpinput.CommandCancelDragging, nil)
		event := b.Release(button)
		if _, err := p.StartInput(ctx, cdpinput.CommandDispatchMouseEvent, event); err != nil {
			b.Press(button, event.X, event.Y)
			return err
		}
	}
}

// releaseSent releases a button, or lifts a finger, whose press at a point was sent. If that fails, the
// next call does it.
func (p *pointer) releaseSent(ctx context.Context, tap bool, button executor.Button, x, y float64) {
	if tap {
		p.buttons.Touched.Store(true)
	} else {
		p.buttons.Press(button, x, y)
	}
	_ = p.ReleaseButtons(ctx)
}

// tap touches a point and lifts the finger. If the touch fails, it cancels the touch.
func (p *pointer) tap(ctx context.Context, x, y float64) error {
	events := pointerstate.TapEvents(x, y, 0)
	if err := p.send(ctx, cdpinput.CommandDispatchTouchEvent, events[0]); err != nil {
		_, _ = p.StartInput(context.WithoutCancel(ctx), cdpinput.CommandDispatchTouchEvent, pointerstate.TouchCancel)
		return fmt.Errorf("touching the page: %w", err)
	}
	return p.send(ctx, cdpinput.CommandDispatchTouchEvent, events[1])
}

// checkPoint checks with the gate each document that input at a point of the viewport passes
// through, down to the one that receives it. It waits for frames that are loading.
func (p *pointer) checkPoint(ctx context.Context, x, y float64) error {
	p.tree.WaitForFrames(ctx)
	return p.checkPointNow(ctx, x, y)
}

// checkPointNow is like checkPoint, without the wait: it denies a frame whose document is unknown.
func (p *pointer) checkPointNow(ctx context.Context, x, y float64) error {
	_, _, err := p.documentAt(ctx, x, y)
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
func (p *pointer) documentAt(ctx context.Context, x, y float64) (d *frames.Document, editable bool, err error) {
	d, err = p.client.Document(ctx, executor.OpAct)
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
		below := p.frameAt(ctx, d, at.Frame)
		if below == nil {
			return nil, false, frameNotReadyError(fmt.Sprintf("the frame at %v, %v", x, y))
		}
		if err := p.client.Check(ctx, below, executor.OpAct, ""); err != nil {
			return nil, false, err
		}
		p.shield.Admit(ctx, below)
		d, x, y = below, at.X, at.Y
	}
}

// checkPaste checks a press of a button at a point of the viewport: the middle button may paste
// what the user has selected into an editable element. See also blockPaste.
func (p *pointer) checkPaste(ctx context.Context, button executor.Button, x, y float64) error {
	if button != executor.ButtonMiddle || !p.clipboard.user {
		return nil
	}
	d, editable, err := p.documentAt(ctx, x, y)
	if err != nil || !editable {
		return err
	}
	return p.clipboard.check(ctx, d)
}
