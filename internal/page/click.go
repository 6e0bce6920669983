package page

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/cdproto/input"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/deadline"
	"github.com/chrome-mcp/chrome-mcp/internal/elements"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// Click clicks the target.
func (v *View) Click(ctx context.Context, target executor.Target, opts *executor.ClickOptions) (*executor.Action, error) {
	o := *cmp.Or(opts, new(executor.ClickOptions))
	o.Button, o.Count = cmp.Or(o.Button, executor.ButtonLeft), cmp.Or(o.Count, 1)
	if buttonBits[o.Button] == 0 {
		return nil, executor.Errorf(executor.ErrBadArgs, "Use left, right or middle.", "button %q is unknown", string(o.Button))
	}
	if o.Count < 1 || o.Count > 3 {
		return nil, executor.Errorf(executor.ErrBadArgs, "Use 1, 2 or 3.", "click count %d is out of range", o.Count)
	}
	modifiers, err := modifierBits(o.Modifiers)
	if err != nil {
		return nil, err
	}
	return actionOf(v.act(ctx, target, actOptions{timeout: o.Timeout}, func(ctx context.Context, el *element) (string, error) {
		return v.clickElement(ctx, el, o.Button, o.Count, modifiers)
	}))
}

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
func (v *View) act(ctx context.Context, target executor.Target, opts actOptions, do func(context.Context, *element) (note string, err error)) (executor.Changes, error) {
	v.releaseButtons(ctx)
	actx, cancel := deadline.ForAction(ctx, opts.timeout)
	defer cancel()
	el, err := v.waitForElement(actx, target, opts.timeout > 0)
	if err != nil {
		return executor.Changes{}, err
	}
	w := v.watch()
	w.brief = opts.skipFrameWait
	el.watch, w.target = w, el.Shown
	defer w.end()
	note, err := do(actx, el)
	for target.Selector != "" && errors.As(err, new(elements.RemovedBeforeAction)) && actx.Err() == nil {
		// The page replaced the element before the action started.
		if el, err = v.waitForElement(actx, target, opts.timeout > 0); err == nil { // by a selector
			note, err = do(actx, el)
		}
	}
	if err != nil && !v.tab.detachedByHandover(err, w.handovers) {
		return executor.Changes{}, err
	}
	w.hung = note == pageBusyNote
	changes, err := w.finish(ctx)
	changes.Note = joinNotes(el.Note(), note, changes.Note)
	return changes, err
}

// joinNotes joins the notes that are not empty.
func joinNotes(notes ...string) string {
	return strings.Join(slices.DeleteFunc(notes, func(s string) bool { return s == "" }), "; ")
}

// clickElement waits until el is actionable, and presses and releases the button there count times.
// It verifies each time that el received the input: an element that replaces el after the first
// click of a double click does not receive the second.
func (v *View) clickElement(ctx context.Context, el *element, button executor.Button, count int, modifiers int64) (note string, err error) {
	defer func() { err = notClickedError(err) }()
	late := v.tab.timing.PressDelivery
	for tries := 1; ; tries++ {
		at, err := v.waitActionable(ctx, el, actionabilityOptions{})
		if err != nil {
			return "", err
		}
		if button == executor.ButtonMiddle {
			if err := v.checkMiddleButton(ctx, at.x, at.y); err != nil {
				return "", err
			}
		}
		note, err = v.clickAt(ctx, el, at, button, count, modifiers, late)
		switch {
		case errors.Is(err, errTargetMoved) && ctx.Err() != nil:
			return "", v.notStable(ctx, el)
		case errors.Is(err, errTargetMoved), errors.Is(err, errInputBlocked) && tries < 3 && ctx.Err() == nil:
			late = v.tab.timing.BusyPress
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

// clickAt clicks at a point where el was found. With the left button, that is a tap if the tab emulates
// a touch screen: the touch events are followed by the mouse events that the browser derives from them.
// A press that arrives at the page more than late after it was sent has no effect. If no press was sent
// or the press was blocked, clickAt returns errTargetMoved if el is no longer at the point, and an error
// that wraps errInputBlocked if another element would have received the press.
func (v *View) clickAt(ctx context.Context, el *element, at *actionPoint, button executor.Button, count int, modifiers int64, late time.Duration) (note string, err error) {
	last, tap := clickEventType[button], button == executor.ButtonLeft && v.tab.emulation.Touch()
	types := []string{"pointerdown", "mousedown", last}
	if tap {
		types[1] = "touchstart"
	}
	c, err := v.startPressCheck(ctx, el, at, count, late, types...)
	if errors.Is(err, frames.ErrDocumentGone) {
		return "", v.elements.RemovedBeforeActionError(ctx, el.Element)
	}
	if err != nil {
		return "", err
	}
	defer c.end()
	if el.watch != nil {
		el.watch.plain = !el.watch.changed && !at.moved && el.Doc.IsTop() && at.frame == nil
	}
	var pending []*cdpconn.Pending
	send := func(method string, params any) {
		p, err := v.startInput(ctx, method, params)
		c.err = cmp.Or(c.err, err)
		pending = append(pending, p)
	}
	mouse := func(e mouseEvent) {
		e.X, e.Y, e.Modifiers = at.x, at.y, modifiers
		send(input.CommandDispatchMouseEvent, e)
	}
	if !tap {
		el.Shown.Hover()
		mouse(mouseEvent{Type: input.DispatchMouseEventTypeMouseMoved})
	}
	for n := 1; n <= count; n++ {
		c.before = len(c.reported())
		if tap {
			for _, e := range tapEvents(at.x, at.y, modifiers) {
				send(input.CommandDispatchTouchEvent, e)
			}
		} else {
			mouse(mouseEvent{Type: input.DispatchMouseEventTypeMousePressed, Button: button, Buttons: buttonBits[button], ClickCount: n})
			mouse(mouseEvent{Type: input.DispatchMouseEventTypeMouseReleased, Button: button, ClickCount: n})
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
					Err: fmt.Errorf("%s was clicked %d of %d times: it is no longer at the point", v.describeWithRef(ctx, el), n, count)}
			}
		}
	}
	return note, nil
}

// startPressCheck starts the hit target check of a press at a point where el was found. If the
// pointer must first move there, the error says that no press was sent.
func (v *View) startPressCheck(ctx context.Context, el *element, at *actionPoint, presses int, late time.Duration, types ...string) (*hitTargetCheck, error) {
	if at.moved && v.tab.tree.HasOutOfProcessFrames() {
		if err := v.movePointerWithRetry(ctx, el, at); err != nil {
			return nil, notPressedError(err)
		}
	}
	v.block(ctx)
	return v.startHitTargetCheck(ctx, el, at, presses, late, types)
}

// describeWithRef describes an element for a message, with a ref for the next attempt even if the
// element was found by a selector.
func (v *View) describeWithRef(ctx context.Context, el *element) string {
	if el.Ref != "" || v.client.Check(ctx, el.Doc, executor.OpRead, "") != nil {
		return v.elements.Describe(ctx, el.Element)
	}
	var l *elements.Description
	if err := el.Doc.Call(ctx, &l, "describe", el.ID); err != nil || l == nil {
		return v.elements.Describe(ctx, el.Element)
	}
	return v.elements.WithRef(el.Doc, elements.Found{ID: el.ID, Description: *l})
}

// A mouseEvent holds the parameters of Input.dispatchMouseEvent.
type mouseEvent struct {
	Type       input.DispatchMouseEventType `json:"type"`
	X          float64                      `json:"x"`
	Y          float64                      `json:"y"`
	Button     executor.Button              `json:"button,omitempty"`
	Buttons    int                          `json:"buttons"`
	ClickCount int                          `json:"clickCount,omitempty"`
	Modifiers  int64                        `json:"modifiers,omitempty"`
}

// Hover moves the pointer onto the target.
func (v *View) Hover(ctx context.Context, target executor.Target, opts *executor.ActionOptions) (*executor.Action, error) {
	return actionOf(v.act(ctx, target, actOptions{timeout: timeoutOf(opts)}, func(ctx context.Context, el *element) (string, error) {
		return "", v.movePointerOnto(ctx, el)
	}))
}

// movePointerOnto moves the pointer onto el and verifies that el received the move.
func (v *View) movePointerOnto(ctx context.Context, el *element) error {
	for {
		at, err := v.waitActionable(ctx, el, actionabilityOptions{})
		if err != nil {
			return err
		}
		err = v.movePointerWithRetry(ctx, el, at)
		switch {
		case errors.Is(err, errTargetMoved) && ctx.Err() != nil:
			return v.notStable(ctx, el)
		case !errors.Is(err, errTargetMoved):
			return v.elements.Removed(ctx, el.Element, err)
		}
	}
}

// movePointerWithRetry moves the pointer to a point where el was found and verifies that el
// received the move. It returns errTargetMoved if el is no longer at the point.
//
// The browser uses the last compositor frame to find the process that receives input. If the tab
// has out-of-process iframes, that frame may be older than a change of the layout, and then the
// wrong process receives the input. A move has no other effect, so it is repeated until it arrives.
func (v *View) movePointerWithRetry(ctx context.Context, el *element, at *actionPoint) error {
	for start := time.Now(); ; {
		err := v.movePointerOnce(ctx, el, at)
		if !errors.Is(err, executor.ErrNotActionable) || !v.tab.tree.HasOutOfProcessFrames() || time.Since(start) > v.tab.timing.StaleFrame || ctx.Err() != nil || !v.pause(ctx) {
			return err
		}
	}
}

// movePointerOnce is one attempt of movePointerWithRetry.
func (v *View) movePointerOnce(ctx context.Context, el *element, at *actionPoint) error {
	// An element handles pointerover before pointermove, and may open a dialog for it. So the
	// check includes both.
	v.block(ctx)
	c, err := v.startHitTargetCheck(ctx, el, at, 0, 0, []string{"pointerover", "mouseover", "pointermove", "mousemove"})
	if err != nil {
		return err
	}
	defer c.end()
	el.Shown.Hover()
	var pending []*cdpconn.Pending
	// Send two moves, because a move to the current position of the pointer has no effect.
	for _, d := range []float64{1, 0} {
		p, err := v.startInput(ctx, input.CommandDispatchMouseEvent, mouseEvent{Type: input.DispatchMouseEventTypeMouseMoved, X: at.x + d, Y: at.y})
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
