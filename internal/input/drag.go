package input

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"sync/atomic"

	cdpinput "github.com/chromedp/cdproto/input"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/deadline"
	"github.com/chrome-mcp/chrome-mcp/internal/elements"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/phrase"
	"github.com/chrome-mcp/chrome-mcp/internal/pointerstate"
	"github.com/chrome-mcp/chrome-mcp/internal/shield"
)

// dragSteps is the number of moves of a drag from one end to the other. Sortable lists and
// sliders follow the pointer and ignore a jump.
const dragSteps = 8

// A drag is the state of one call of [Actor.Drag].
type drag struct {
	actor    *Actor
	el, onto *element
	docs     []*frames.Document // the documents of both elements, in which watchDrag was called
	token    string
	ontoRef  bool        // the target of the drop was given by a ref, so it cannot be found again
	accepted atomic.Bool // a document has reported the drop
}

// Drag drags one element onto another.
func (a *Actor) Drag(ctx context.Context, from, to executor.Target, opts *executor.ActionOptions) (*executor.Drag, error) {
	d := &drag{actor: a, token: rand.Text()}
	o := *cmp.Or(opts, new(executor.ActionOptions))
	a.tree.Reports().Subscribe(d.token, func([]byte) { d.accepted.Store(true) })
	defer a.tree.Reports().Unsubscribe(d.token)
	res := &executor.Drag{}
	var err error
	res.Changes, err = a.act(ctx, from, actOptions{timeout: o.Timeout}, func(ctx context.Context, el *element) (note string, err error) {
		d.el, d.ontoRef = el, to.Selector == ""
		if d.onto, err = a.find(ctx, to, o.Timeout > 0); err != nil {
			return "", err
		}
		res.Drop, err = d.run(ctx)
		return d.onto.Note(), err
	})
	stayed := d.end(ctx)
	if err != nil {
		return nil, err
	}
	if stayed && res.Drop != executor.DragRejected {
		res.Note = phrase.Notes(res.Note, "the dragged element did not move")
	}
	return res, nil
}

// run waits until both elements are actionable before it presses the button.
func (d *drag) run(ctx context.Context) (outcome executor.DragOutcome, err error) {
	a := d.actor
	d.el.effects = nil // the press is not the last input of the action
	if _, err := d.waitDropTarget(ctx, actionabilityOptions{}); err != nil {
		return "", err
	}
	d.end(ctx) // of an element that the page has replaced
	d.docs = []*frames.Document{d.el.Doc}
	if d.onto.Doc.World != d.el.Doc.World {
		d.docs = append(d.docs, d.onto.Doc)
	}
	for i, doc := range d.docs {
		source := 0
		if i == 0 {
			source = d.el.ID
		}
		if err := doc.Call(ctx, nil, "watchDrag", d.token, source); err != nil {
			return "", a.finder.Removed(ctx, d.el.Element, err)
		}
	}
	at, err := d.press(ctx)
	pressed, ended := false, false
	defer func() {
		if at != nil && !ended {
			a.ReleaseButtons(ctx)
			if pressed && !errors.As(err, new(elements.RemovedBeforeAction)) { // a drag of what was replaced is tried again
				err = shield.WithProgress(err, "the button was pressed on the dragged element, and released without a drop")
			}
		}
	}()
	if err != nil {
		return "", err
	}
	pressed = true
	d.onto.Shown.RecordInput()
	_ = d.el.Doc.Call(ctx, nil, "holdPress", d.token, a.timing.DragDelay.Milliseconds())
	// A drag starts only after the pointer has moved a few pixels. The start may change the page.
	for _, by := range []float64{2, 6} {
		if err := d.move(ctx, at.x+by, at.y+by/2); err != nil {
			return "", err
		}
	}
	end, err := d.waitDropTarget(ctx, actionabilityOptions{Hit: new(false)})
	if err != nil {
		return "", err
	}
	for i := 1; i < dragSteps; i++ {
		fraction := float64(i) / dragSteps
		x, y := at.x+(end.x-at.x)*fraction, at.y+(end.y-at.y)*fraction
		// A denied frame must not receive any event of the drag.
		if a.pointer.checkPointNow(ctx, x, y) == nil {
			if err := d.move(ctx, x, y); err != nil {
				return "", err
			}
		}
	}
	a.tree.WaitForFrames(ctx) // only the drop waits for a frame that is loading
	seen, err := d.moveToDropPoint(ctx, end)
	if err != nil {
		return "", err
	}
	ended = true
	if err := a.pointer.release(ctx, executor.ButtonLeft); err != nil {
		return "", err
	}
	if !seen.Dragged {
		return executor.DragPointerOnly, nil
	}
	return d.outcome(ctx), nil
}

// move moves the pointer, and waits until the page has drawn the effect. Many pages handle moves in
// animation frames.
func (d *drag) move(ctx context.Context, x, y float64) error {
	err := d.actor.pointer.move(ctx, x, y)
	if err == nil {
		d.actor.pause(ctx)
	}
	return err
}

// moveToDropPoint moves the pointer to the point of the drop. At each move, the page may move items
// to show where it would insert the dragged one, and ignore moves until it has: SortableJS does so
// for 30 ms, and until the animation of an item ends. The last effect counts. So moveToDropPoint
// repeats the move until it no longer changes the layout. It alternates between the point and one
// next to it, because pages ignore a move to the same point, and SortableJS the exact center of an
// item.
//
// At each move, the element below the pointer also decides whether it accepts dragged data. The
// browser sends dragover only after it has started the drag of data, which a busy browser may do
// after the moves.
func (d *drag) moveToDropPoint(ctx context.Context, end *actionPoint) (dragState, error) {
	a := d.actor
	ctx, cancel := deadline.Extend(ctx, a.timing.Drop)
	defer cancel()
	started, cancel := context.WithTimeout(ctx, a.timing.Drop)
	defer cancel()
	settled, cancel := context.WithTimeout(ctx, a.timing.DropLayout)
	defer cancel()
	for {
		stable := true
		for _, by := range []float64{1, 0} {
			x, y := end.x+by, end.y+by
			if err := a.pointer.checkPointNow(ctx, x, y); err != nil {
				if by != 0 {
					continue
				}
				return dragState{}, err
			}
			if err := a.pointer.move(ctx, x, y); err != nil {
				return dragState{}, err
			}
			same := true
			_ = d.onto.Doc.Call(ctx, &same, "isDropLayoutStable", d.token, d.onto.ID, end.inner[0]+by, end.inner[1]+by, a.timing.DropRepeat.Milliseconds())
			stable = stable && same
		}
		seen := d.state(ctx)
		if seen.Ended || (stable || settled.Err() != nil) && (!seen.Dragged || seen.Over || started.Err() != nil) {
			return seen, nil
		}
	}
}

// waitDropTarget waits until the target of the drop is actionable. Its error for a removed target that
// was given by a ref is final, although act finds a replacement of the dragged element.
func (d *drag) waitDropTarget(ctx context.Context, opts actionabilityOptions) (*actionPoint, error) {
	at, err := d.actor.waitActionable(ctx, d.onto, opts)
	if removed, ok := errors.AsType[elements.RemovedBeforeAction](err); ok && d.ontoRef {
		err = removed.Unwrap()
	}
	return at, err
}

// end stops listening. It reports whether the dragged element is known to be where it was, with the
// same content.
func (d *drag) end(ctx context.Context) (stayed bool) {
	limit, cancel := context.WithTimeout(ctx, d.actor.timing.Script)
	defer cancel()
	for _, doc := range d.docs {
		var same bool
		if p, err := doc.Start(context.WithoutCancel(ctx), "endDrag", d.token); err == nil && doc.Finish(limit, p, &same) == nil {
			stayed = stayed || same
		}
	}
	return stayed
}

// press presses the button on the dragged element and verifies that it received the press. If press
// returns a point, the button is pressed, even if it also returns an error.
func (d *drag) press(ctx context.Context) (*actionPoint, error) {
	a, el := d.actor, d.el
	for tries := 1; ; tries++ {
		at, err := a.waitActionable(ctx, el, actionabilityOptions{})
		if err != nil {
			return nil, err
		}
		c, err := a.startPressCheck(ctx, el, at, 1, a.timing.BusyPress, "pointerdown", "mousedown")
		if errors.Is(err, errTargetMoved) {
			if tries < 10 && ctx.Err() == nil {
				continue
			}
			return nil, a.notStable(ctx, el)
		}
		if err != nil {
			return nil, a.finder.Removed(ctx, el.Element, err)
		}
		defer c.end()
		first, err := a.StartInput(ctx, cdpinput.CommandDispatchMouseEvent, pointerstate.MouseEvent{Type: cdpinput.DispatchMouseEventTypeMouseMoved, X: at.x, Y: at.y})
		if err != nil {
			return nil, err
		}
		el.Shown.RecordInput()
		c.beginPress()
		pressed, err := a.startPress(ctx, executor.ButtonLeft, at.x, at.y)
		if err != nil {
			c.noPressPending()
			return nil, err
		}
		_, _, err = c.wait(ctx, []*cdpconn.Pending{first, pressed}, completionCriteria{last: "pointerdown", times: 1})
		return at, err
	}
}

// A dragState is the result of dragState in js/drag.js, combined for several documents.
type dragState struct {
	Dragged bool `json:"dragged"`
	Over    bool `json:"over"`
	Dropped bool `json:"dropped"`
	Ended   bool `json:"ended"`
}

// state queries the documents of both elements for the state of the drag. It skips documents that
// no longer exist.
func (d *drag) state(ctx context.Context) dragState {
	var all dragState
	for _, doc := range d.docs {
		var seen dragState
		if doc.Call(ctx, &seen, "dragState", d.token) == nil {
			all = dragState{all.Dragged || seen.Dragged, all.Over || seen.Over, all.Dropped || seen.Dropped, all.Ended || seen.Ended}
		}
	}
	return all
}

// outcome returns the outcome of a drag of data. The browser delivers the drop to the page after
// the button was released, and then reports the end of the drag to the dragged element.
func (d *drag) outcome(ctx context.Context) executor.DragOutcome {
	limit, cancel := context.WithTimeout(deadline.Caller(ctx), d.actor.timing.Drop)
	defer cancel()
	for {
		// The response can be processed before the report of the drop.
		seen := d.state(limit)
		switch {
		case seen.Dropped || d.accepted.Load():
			return executor.DragAccepted
		case seen.Ended && len(d.docs) == 1, limit.Err() != nil:
			return executor.DragRejected
		case !d.actor.pause(limit) && !d.accepted.Load():
			return executor.DragRejected
		}
	}
}
