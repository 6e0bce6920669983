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
	"github.com/chrome-mcp/chrome-mcp/internal/elements"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/keys"
)

// Click clicks the target.
func (a *Actor) Click(ctx context.Context, target executor.Target, opts *executor.ClickOptions) (*executor.Action, error) {
	o := *cmp.Or(opts, new(executor.ClickOptions))
	o.Button, o.Count = cmp.Or(o.Button, executor.ButtonLeft), cmp.Or(o.Count, 1)
	if buttonBits[o.Button] == 0 {
		return nil, executor.Errorf(executor.ErrBadArgs, "Use left, right or middle.", "button %q is unknown", string(o.Button))
	}
	if o.Count < 1 || o.Count > 3 {
		return nil, executor.Errorf(executor.ErrBadArgs, "Use 1, 2 or 3.", "click count %d is out of range", o.Count)
	}
	modifiers, err := keys.ModifierBits(o.Modifiers)
	if err != nil {
		return nil, err
	}
	return actionOf(a.act(ctx, target, actOptions{timeout: o.Timeout}, func(ctx context.Context, el *element) (string, error) {
		return a.clickElement(ctx, el, o.Button, o.Count, modifiers)
	}))
}

// clickElement waits until el is actionable, and presses and releases the button there count times.
// It verifies each time that el received the input: an element that replaces el after the first
// click of a double click does not receive the second.
func (a *Actor) clickElement(ctx context.Context, el *element, button executor.Button, count int, modifiers int64) (note string, err error) {
	defer func() { err = notClickedError(err) }()
	late := a.timing.PressDelivery
	for tries := 1; ; tries++ {
		at, err := a.waitActionable(ctx, el, actionabilityOptions{})
		if err != nil {
			return "", err
		}
		if button == executor.ButtonMiddle {
			if err := a.checkMiddleButton(ctx, at.x, at.y); err != nil {
				return "", err
			}
		}
		note, err = a.clickAt(ctx, el, at, button, count, modifiers, late)
		switch {
		case errors.Is(err, errTargetMoved) && ctx.Err() != nil:
			return "", a.notStable(ctx, el)
		case errors.Is(err, errTargetMoved), errors.Is(err, errInputBlocked) && tries < 3 && ctx.Err() == nil:
			late = a.timing.BusyPress
		default:
			return note, err
		}
	}
}

// notClickedError adds to the error for an open dialog that the element was not clicked.
func notClickedError(err error) error {
	e, ok := errors.AsType[*executor.Error](err)
	if !ok || e.Code != executor.ErrDialogOpen {
		return err
	}
	c := *e
	c.Err = fmt.Errorf("%s, so the element was not clicked", e.Message())
	return &c
}

// clickEventType maps each button to the event that ends a click with it.
var clickEventType = map[executor.Button]string{
	executor.ButtonLeft: "click", executor.ButtonRight: "contextmenu", executor.ButtonMiddle: "auxclick",
}

// clickAt clicks at a point where el was found. With the left button, that is a tap if the tab
// emulates a touch screen: the touch events are followed by the mouse events that the browser
// derives from them. A press that arrives at the page more than late after it was sent has no
// effect. If no press was sent or the press was blocked, clickAt returns errTargetMoved if el is no
// longer at the point, and an error that wraps errInputBlocked if another element would have
// received the press.
func (a *Actor) clickAt(ctx context.Context, el *element, at *actionPoint, button executor.Button, count int, modifiers int64, late time.Duration) (note string, err error) {
	last, tap := clickEventType[button], button == executor.ButtonLeft && a.opts.Emulation.Touch()
	types := []string{"pointerdown", "mousedown", last}
	if tap {
		types[1] = "touchstart"
	}
	c, err := a.startPressCheck(ctx, el, at, count, late, types...)
	if errors.Is(err, frames.ErrDocumentGone) {
		return "", a.finder.RemovedBeforeActionError(ctx, el.Element)
	}
	if err != nil {
		return "", err
	}
	defer c.end()
	if el.effects != nil {
		el.effects.Plain = !el.effects.Changed && !at.moved && el.Doc.IsTop() && at.frame == nil
	}
	var pending []*cdpconn.Pending
	send := func(method string, params any) {
		p, err := a.StartInput(ctx, method, params)
		c.err = cmp.Or(c.err, err)
		pending = append(pending, p)
	}
	mouse := func(e mouseEvent) {
		e.X, e.Y, e.Modifiers = at.x, at.y, modifiers
		send(cdpinput.CommandDispatchMouseEvent, e)
	}
	if !tap {
		el.Shown.Hover()
		mouse(mouseEvent{Type: cdpinput.DispatchMouseEventTypeMouseMoved})
	}
	for n := 1; n <= count; n++ {
		c.before = len(c.reported())
		if tap {
			for _, e := range tapEvents(at.x, at.y, modifiers) {
				send(cdpinput.CommandDispatchTouchEvent, e)
			}
		} else {
			mouse(mouseEvent{Type: cdpinput.DispatchMouseEventTypeMousePressed, Button: button, Buttons: buttonBits[button], ClickCount: n})
			mouse(mouseEvent{Type: cdpinput.DispatchMouseEventTypeMouseReleased, Button: button, ClickCount: n})
		}
		var done bool
		note, done, err = c.wait(ctx, pending, completionCriteria{last: last, times: n, more: n < count, tap: tap})
		if !errors.Is(err, errInputBlocked) {
			el.Shown.Act()
		}
		if err != nil || done {
			return note, err
		}
		pending = nil
		if n < count && at.frame == nil {
			var hits bool
			err := el.Doc.Call(ctx, &hits, "hits", el.ID, at.inner[0], at.inner[1])
			if errors.Is(err, executor.ErrDialogOpen) {
				return partialClickNote(n), nil
			}
			if err == nil && !hits {
				return "", &executor.Error{Code: executor.ErrNotActionable, Hint: "Take a snapshot to see what the click did.",
					Err: fmt.Errorf("%s was clicked %d of %d times: it is no longer at the point", a.describeWithRef(ctx, el), n, count)}
			}
		}
	}
	return note, nil
}

// startPressCheck starts the hit target check of a press at a point where el was found. If the
// pointer must first move there, the error says that no press was sent.
func (a *Actor) startPressCheck(ctx context.Context, el *element, at *actionPoint, presses int, late time.Duration, types ...string) (*hitTargetCheck, error) {
	if at.moved && a.tree.HasOutOfProcessFrames() {
		if err := a.movePointerWithRetry(ctx, el, at); err != nil {
			return nil, notPressedError(err)
		}
	}
	a.Block(ctx)
	return a.startHitTargetCheck(ctx, el, at, presses, late, types)
}

// describeWithRef describes an element for a message, with a ref for the next attempt even if the
// element was found by a selector.
func (a *Actor) describeWithRef(ctx context.Context, el *element) string {
	if el.Ref != "" || a.client.Check(ctx, el.Doc, executor.OpRead, "") != nil {
		return a.finder.Describe(ctx, el.Element)
	}
	var l *elements.Description
	if err := el.Doc.Call(ctx, &l, "describe", el.ID); err != nil || l == nil {
		return a.finder.Describe(ctx, el.Element)
	}
	return a.finder.WithRef(el.Doc, elements.DescribedElement{ID: el.ID, Description: *l})
}

// A mouseEvent holds the parameters of Input.dispatchMouseEvent.
type mouseEvent struct {
	Type       cdpinput.DispatchMouseEventType `json:"type"`
	X          float64                         `json:"x"`
	Y          float64                         `json:"y"`
	Button     executor.Button                 `json:"button,omitempty"`
	Buttons    int                             `json:"buttons"`
	ClickCount int                             `json:"clickCount,omitempty"`
	Modifiers  int64                           `json:"modifiers,omitempty"`
}

// Hover moves the pointer onto the target.
func (a *Actor) Hover(ctx context.Context, target executor.Target, opts *executor.ActionOptions) (*executor.Action, error) {
	return actionOf(a.act(ctx, target, actOptions{timeout: timeoutOf(opts)}, func(ctx context.Context, el *element) (string, error) {
		return "", a.movePointerOnto(ctx, el)
	}))
}

// movePointerOnto moves the pointer onto el and verifies that el received the move.
func (a *Actor) movePointerOnto(ctx context.Context, el *element) error {
	for {
		at, err := a.waitActionable(ctx, el, actionabilityOptions{})
		if err != nil {
			return err
		}
		err = a.movePointerWithRetry(ctx, el, at)
		switch {
		case errors.Is(err, errTargetMoved) && ctx.Err() != nil:
			return a.notStable(ctx, el)
		case !errors.Is(err, errTargetMoved):
			return a.finder.Removed(ctx, el.Element, err)
		}
	}
}

// movePointerWithRetry moves the pointer to a point where el was found and verifies that el
// received the move. It returns errTargetMoved if el is no longer at the point.
//
// The browser uses the last compositor frame to find the process that receives input. If the tab
// has out-of-process iframes, that frame may be older than a change of the layout, and then the
// wrong process receives the input. A move has no other effect, so it is repeated until it arrives.
func (a *Actor) movePointerWithRetry(ctx context.Context, el *element, at *actionPoint) error {
	for start := time.Now(); ; {
		err := a.movePointerOnce(ctx, el, at)
		if !errors.Is(err, executor.ErrNotActionable) || !a.tree.HasOutOfProcessFrames() || time.Since(start) > a.timing.StaleFrame || ctx.Err() != nil || !a.pause(ctx) {
			return err
		}
	}
}

// movePointerOnce is one attempt of movePointerWithRetry.
func (a *Actor) movePointerOnce(ctx context.Context, el *element, at *actionPoint) error {
	// An element handles pointerover before pointermove, and may open a dialog for it. So the
	// check includes both.
	a.Block(ctx)
	c, err := a.startHitTargetCheck(ctx, el, at, 0, 0, []string{"pointerover", "mouseover", "pointermove", "mousemove"})
	if err != nil {
		return err
	}
	defer c.end()
	el.Shown.Hover()
	var pending []*cdpconn.Pending
	// Send two moves, because a move to the current position of the pointer has no effect.
	for _, d := range []float64{1, 0} {
		p, err := a.StartInput(ctx, cdpinput.CommandDispatchMouseEvent, mouseEvent{Type: cdpinput.DispatchMouseEventTypeMouseMoved, X: at.x + d, Y: at.y})
		if err != nil {
			return err
		}
		pending = append(pending, p)
	}
	_, _, err = c.wait(ctx, pending, completionCriteria{})
	return err
}

// notPressedError returns the error of a press that was not sent because the pointer did not
// arrive.
func notPressedError(err error) error {
	if e, ok := errors.AsType[*executor.Error](err); ok && e.Code == executor.ErrNotActionable {
		e.Err, e.Retryable = fmt.Errorf("%w, so %w", e.Err, errInputBlocked), true
	}
	return err
}
