package page

import (
	"context"
	"crypto/rand"
	"errors"
	"sync/atomic"

	"github.com/chromedp/cdproto/input"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

// dragSteps is the number of moves of a drag from one end to the other. Sortable lists and
// sliders follow the pointer and ignore a jump.
const dragSteps = 8

// Drag drags one element onto another.
func (v *View) Drag(ctx context.Context, from, to executor.Target, opts *executor.ActionOptions) (*executor.Drag, error) {
	var onto *element
	res := &executor.Drag{}
	var err error
	res.Changes, err = v.act(ctx, from, actOptions{timeout: timeoutOf(opts)}, func(ctx context.Context, el *element) (note string, err error) {
		if onto, err = v.waitForElement(ctx, to, timeoutOf(opts) > 0); err != nil {
			return "", err
		}
		res.Drop, err = v.drag(ctx, el, onto)
		return onto.note(), err
	})
	if err != nil {
		return nil, err
	}
	return res, nil
}

// drag waits until both elements are actionable before it presses the button.
func (v *View) drag(ctx context.Context, el, onto *element) (drop executor.DragOutcome, err error) {
	el.watch = nil // the press is not the last input of the action
	if _, err := v.waitActionable(ctx, onto, actionabilityOptions{}); err != nil {
		return "", err
	}
	token := rand.Text()
	var accepted atomic.Bool
	v.tab.reports.subscribe(token, func([]byte) { accepted.Store(true) })
	defer v.tab.reports.unsubscribe(token)
	for _, d := range v.dragDocuments(el, onto) {
		if err := d.call(ctx, nil, "watchDrag", token); err != nil {
			return "", v.mapDetached(ctx, el, err)
		}
		defer d.start(context.WithoutCancel(ctx), "endDrag", token)
	}
	at, err := v.pressDragSource(ctx, el)
	ended := false
	defer func() {
		if at != nil && !ended {
			v.releaseButtons(ctx)
		}
	}()
	if err != nil {
		return "", err
	}
	onto.shown.act()
	// A drag starts only after the pointer has moved a few pixels. The start may change the page.
	for _, d := range []float64{2, 6} {
		if err := v.movePressedPointer(ctx, at.x+d, at.y+d/2); err != nil {
			return "", err
		}
	}
	end, err := v.waitActionable(ctx, onto, actionabilityOptions{Hit: new(false)})
	if err != nil {
		return "", err
	}
	for i := 1; i <= dragSteps; i++ {
		fraction := float64(i) / dragSteps
		x, y := at.x+(end.x-at.x)*fraction, at.y+(end.y-at.y)*fraction
		// A denied frame must not receive any event of the drag.
		checkPoint := v.checkPointNow // only the drop waits for a frame that is loading
		if i == dragSteps {
			checkPoint = v.checkPoint
		}
		if err := checkPoint(ctx, x, y); err != nil {
			if i == dragSteps {
				return "", err
			}
			continue
		}
		if err := v.movePressedPointer(ctx, x, y); err != nil {
			return "", err
		}
	}
	docs := v.dragDocuments(el, onto)
	seen, err := v.moveToDropPoint(ctx, docs, token, end)
	if err != nil {
		return "", err
	}
	ended = true
	if err := v.release(ctx, executor.ButtonLeft); err != nil {
		return "", err
	}
	if !seen.Dragged {
		return executor.DragPointerOnly, nil
	}
	return v.dragOutcome(ctx, docs, token, &accepted), nil
}

// moveToDropPoint moves the pointer to the point of the drop. At each move, the element below the
// pointer decides whether it accepts the drop, and the last decision counts. The browser sends
// dragover only after it has started the drag of data, which a busy browser may do after the moves.
// Until then, moveToDropPoint repeats the last move.
func (v *View) moveToDropPoint(ctx context.Context, docs []*document, token string, end *actionPoint) (dragState, error) {
	limit, cancel := context.WithTimeout(ctx, v.tab.timing.Drop)
	defer cancel()
	for {
		if err := v.movePressedPointer(ctx, end.x, end.y); err != nil {
			return dragState{}, err
		}
		seen := queryDragState(ctx, docs, token)
		if !seen.Dragged || seen.Over || seen.Ended || !v.pause(limit) {
			return seen, nil
		}
	}
}

// dragDocuments returns the documents of both elements.
func (v *View) dragDocuments(el, onto *element) []*document {
	if el.doc.world == onto.doc.world {
		return []*document{el.doc}
	}
	return []*document{el.doc, onto.doc}
}

// pressDragSource presses the button on el and verifies that el received the press. If it returns a
// point, the button is pressed, even if it also returns an error.
func (v *View) pressDragSource(ctx context.Context, el *element) (*actionPoint, error) {
	for tries := 1; ; tries++ {
		at, err := v.waitActionable(ctx, el, actionabilityOptions{})
		if err != nil {
			return nil, err
		}
		c, err := v.startPressCheck(ctx, el, at, 1, v.tab.timing.BusyPress, "pointerdown", "mousedown")
		if errors.Is(err, errTargetMoved) {
			if tries < 10 && ctx.Err() == nil {
				continue
			}
			return nil, v.notStable(ctx, el)
		}
		if err != nil {
			return nil, v.mapDetached(ctx, el, err)
		}
		defer c.end()
		first, err := v.startInput(ctx, input.CommandDispatchMouseEvent, mouseEvent{Type: input.DispatchMouseEventTypeMouseMoved, X: at.x, Y: at.y})
		if err != nil {
			return nil, err
		}
		el.shown.act()
		pressed, err := v.startInput(ctx, input.CommandDispatchMouseEvent, v.tab.pressed.press(executor.ButtonLeft, at.x, at.y))
		if err != nil {
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

// queryDragState queries documents for the state of a drag. It skips documents that no longer
// exist.
func queryDragState(ctx context.Context, docs []*document, token string) dragState {
	var all dragState
	for _, d := range docs {
		var seen dragState
		if d.call(ctx, &seen, "dragState", token) == nil {
			all = dragState{all.Dragged || seen.Dragged, all.Over || seen.Over, all.Dropped || seen.Dropped, all.Ended || seen.Ended}
		}
	}
	return all
}

// dragOutcome returns the outcome of a drag of data. The browser delivers the drop to the page
// after the button was released, and then reports the end of the drag to the dragged element.
func (v *View) dragOutcome(ctx context.Context, docs []*document, token string, accepted *atomic.Bool) executor.DragOutcome {
	limit, cancel := context.WithTimeout(parentContext(ctx), v.tab.timing.Drop)
	defer cancel()
	for {
		// The response can be processed before the report of the drop.
		seen := queryDragState(limit, docs, token)
		switch {
		case seen.Dropped || accepted.Load():
			return executor.DragAccepted
		case seen.Ended && len(docs) == 1, limit.Err() != nil:
			return executor.DragRejected
		case !v.pause(limit) && !accepted.Load():
			return executor.DragRejected
		}
	}
}
