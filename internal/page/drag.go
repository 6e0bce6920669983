package page

import (
	"context"
	"crypto/rand"
	"errors"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto/input"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

const (
	// dragSteps are the moves of a drag from one end to the other: sortable
	// lists and sliders follow the pointer, and take no leap.
	dragSteps = 8
	// dragPatience is how long the browser may take to hand a drop to the page.
	dragPatience = 2 * time.Second
)

// Drag drags one element onto another.
func (v *View) Drag(ctx context.Context, from, to executor.Target, opts *executor.ActionOptions) (*executor.Drag, error) {
	var onto *element
	res := &executor.Drag{}
	var err error
	res.Changes, err = v.act(ctx, from, actOptions{timeout: timeoutOf(opts)}, func(ctx context.Context, el *element) (note string, err error) {
		if onto, err = v.appear(ctx, to, timeoutOf(opts) > 0); err != nil {
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

// drag makes both ends actionable, and only then presses.
func (v *View) drag(ctx context.Context, el, onto *element) (drop executor.Drop, err error) {
	el.watch = nil // the press is not all of the action
	if _, err := v.aim(ctx, onto, aimOptions{}); err != nil {
		return "", err
	}
	token := rand.Text()
	var taken atomic.Bool
	v.tab.hear(token, func([]byte) { taken.Store(true) })
	defer v.tab.unhear(token)
	for _, d := range v.dragDocuments(el, onto) {
		if err := d.call(ctx, nil, "watchDrag", token); err != nil {
			return "", v.goneOr(ctx, el, err)
		}
		defer d.start(context.WithoutCancel(ctx), "endDrag", token)
	}
	at, err := v.grasp(ctx, el)
	ended := false
	defer func() {
		if at != nil && !ended {
			v.letGo(ctx)
		}
	}()
	if err != nil {
		return "", err
	}
	// A drag begins a few pixels on; the page may change by that.
	for _, d := range []float64{2, 6} {
		if err := v.pull(ctx, at.x+d, at.y+d/2); err != nil {
			return "", err
		}
	}
	no := false
	end, err := v.aim(ctx, onto, aimOptions{Hit: &no})
	if err != nil {
		return "", err
	}
	for i := 1; i <= dragSteps; i++ {
		part := float64(i) / dragSteps
		x, y := at.x+(end.x-at.x)*part, at.y+(end.y-at.y)*part
		// A frame that is denied must not even learn what is dragged over it.
		reaches := v.reachesNow // a frame that is loading delays only the drop
		if i == dragSteps {
			reaches = v.reaches
		}
		if err := reaches(ctx, x, y); err != nil {
			if i == dragSteps {
				return "", err
			}
			continue
		}
		if err := v.pull(ctx, x, y); err != nil {
			return "", err
		}
	}
	// What is dragged over is asked each time whether it takes the drop, and
	// the last answer counts.
	if err := v.pull(ctx, end.x, end.y); err != nil {
		return "", err
	}
	docs := v.dragDocuments(el, onto)
	seen := dragSeen(ctx, docs, token)
	ended = true
	if err := v.release(ctx, executor.ButtonLeft); err != nil {
		return "", err
	}
	if !seen.Dragged {
		return executor.DropPointer, nil
	}
	return v.dropped(ctx, docs, token, &taken), nil
}

// dragDocuments are the documents of both ends.
func (v *View) dragDocuments(el, onto *element) []*document {
	if el.doc.world == onto.doc.world {
		return []*document{el.doc}
	}
	return []*document{el.doc, onto.doc}
}

// grasp presses the button on el and makes sure that it got that. The button is
// pressed when it returns a point, even with an error.
func (v *View) grasp(ctx context.Context, el *element) (*point, error) {
	for tries := 1; ; tries++ {
		at, err := v.aim(ctx, el, aimOptions{})
		if err != nil {
			return nil, err
		}
		var c *confirmation
		if at.moved && v.tab.split() {
			err = unpressed(v.moveOnto(ctx, el, at))
		}
		if err == nil {
			v.block(ctx)
			c, err = v.confirm(ctx, el, at, 1, busyLimit, []string{"pointerdown", "mousedown"})
		}
		if errors.Is(err, errMoved) {
			if tries < 10 && ctx.Err() == nil {
				continue
			}
			return nil, v.notActionable(ctx, el, &obstacle{aimed: aimed{Problem: "moving"}, doc: el.doc})
		}
		if err != nil {
			return nil, v.goneOr(ctx, el, err)
		}
		defer c.end()
		first, err := v.startInput(ctx, input.CommandDispatchMouseEvent, mouseEvent{Type: input.DispatchMouseEventTypeMouseMoved, X: at.x, Y: at.y})
		if err != nil {
			return nil, err
		}
		pressed, err := v.startPress(ctx, executor.ButtonLeft, at.x, at.y, 1)
		if err != nil {
			return nil, err
		}
		_, _, err = c.wait(ctx, []*cdpconn.Pending{first, pressed}, expected{last: "pointerdown", times: 1})
		return at, err
	}
}

// A dragState is what js/drag.js's dragSeen tells, of all documents together.
type dragState struct {
	Dragged bool `json:"dragged"`
	Dropped bool `json:"dropped"`
	Ended   bool `json:"ended"`
}

// dragSeen asks documents what they saw of a drag. One that is gone saw nothing.
func dragSeen(ctx context.Context, docs []*document, token string) dragState {
	var all dragState
	for _, d := range docs {
		var seen dragState
		if d.call(ctx, &seen, "dragSeen", token) == nil {
			all = dragState{all.Dragged || seen.Dragged, all.Dropped || seen.Dropped, all.Ended || seen.Ended}
		}
	}
	return all
}

// dropped tells how a drag of data ended. The browser brings a drop to the page
// after the button was released, and then tells what was dragged of its end.
func (v *View) dropped(ctx context.Context, docs []*document, token string, taken *atomic.Bool) executor.Drop {
	limit, cancel := context.WithTimeout(callerOf(ctx), dragPatience)
	defer cancel()
	for {
		// The response can be processed before the report of the drop.
		seen := dragSeen(limit, docs, token)
		switch {
		case seen.Dropped || taken.Load():
			return executor.DropTaken
		case seen.Ended && len(docs) == 1, limit.Err() != nil:
			return executor.DropRefused
		case !v.pause(limit) && !taken.Load():
			return executor.DropRefused
		}
	}
}
