package input

import (
	"cmp"
	"context"
	"errors"
	"time"

	cdpinput "github.com/chromedp/cdproto/input"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/pointerstate"
)

// Hover moves the pointer onto the target.
func (a *Actor) Hover(ctx context.Context, target executor.Target, opts *executor.ActionOptions) (*executor.Action, error) {
	return actionOf(a.act(ctx, target, actOptions{timeout: cmp.Or(opts, new(executor.ActionOptions)).Timeout}, a.hover))
}

// hover moves the pointer onto el and verifies that el received the move.
func (a *Actor) hover(ctx context.Context, el *element) (note string, err error) {
	for {
		at, err := a.waitActionable(ctx, el, actionabilityOptions{})
		if err != nil {
			return "", err
		}
		err = a.movePointerWithRetry(ctx, el, at)
		switch {
		case errors.Is(err, errTargetMoved) && ctx.Err() != nil:
			return "", a.notStable(ctx, el)
		case !errors.Is(err, errTargetMoved):
			return "", a.finder.Removed(ctx, el.Element, err)
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
		err := a.tryMovePointer(ctx, el, at)
		if !errors.Is(err, executor.ErrNotActionable) || !a.tree.HasOutOfProcessFrames() || time.Since(start) > a.timing.StaleFrame || ctx.Err() != nil || !a.pause(ctx) {
			return err
		}
	}
}

// tryMovePointer is one attempt of movePointerWithRetry.
func (a *Actor) tryMovePointer(ctx context.Context, el *element, at *actionPoint) error {
	// An element handles pointerover before pointermove, and may open a dialog for it. So the
	// check includes both.
	a.Block(ctx)
	c, err := a.startHitTargetCheck(ctx, el, at, 0, 0, []string{"pointerover", "mouseover", "pointermove", "mousemove"})
	if err != nil {
		return err
	}
	defer c.end()
	el.Shown.RecordHover()
	var pending []*cdpconn.Pending
	// Send two moves, because a move to the current position of the pointer has no effect.
	for _, d := range []float64{1, 0} {
		p, err := a.StartInput(ctx, cdpinput.CommandDispatchMouseEvent, pointerstate.MouseEvent{Type: cdpinput.DispatchMouseEventTypeMouseMoved, X: at.x + d, Y: at.y})
		if err != nil {
			return err
		}
		pending = append(pending, p)
	}
	_, _, err = c.wait(ctx, pending, completionCriteria{})
	return err
}
