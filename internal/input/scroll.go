package input

import (
	"cmp"
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/deadline"
	"github.com/chrome-mcp/chrome-mcp/internal/elements"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// Scroll scrolls the page, or the scroller that the target belongs to.
func (a *Actor) Scroll(ctx context.Context, opts *executor.ScrollOptions) (*executor.ScrollResult, error) {
	o := *cmp.Or(opts, new(executor.ScrollOptions))
	ctx, cancel := deadline.ForAction(ctx, o.Timeout)
	defer cancel()
	d, err := a.client.Document(ctx, executor.OpRead)
	if err != nil {
		return nil, err
	}
	id, changed := 0, func() string { return "" }
	if !o.Target.IsZero() {
		el, err := a.finder.Resolve(ctx, o.Target, executor.OpRead)
		if err != nil {
			return nil, err
		}
		d, id = el.Doc, el.ID
		changed = a.finder.StartComparing(ctx, el)
		defer d.ScrollIntoView(ctx)
	} else if o.X == nil && o.Y == nil && o.DeltaX == 0 && o.DeltaY == 0 {
		return nil, executor.Errorf(executor.ErrBadArgs, "Give deltaY to move by, y to move to, or a target to bring into view.", "nothing to scroll to")
	}
	var got *executor.ScrollResult
	if err := d.Call(ctx, &got, "moveScroller", id, o.X, o.Y, o.DeltaX, o.DeltaY); err != nil {
		return nil, frames.TimeoutAs(err, "the page to scroll")
	}
	if got == nil {
		return nil, a.finder.RemovedError(ctx, &elements.Element{Doc: d, ID: id, Ref: o.Target.Ref})
	}
	got.OK, got.Note = true, changed()
	return got, nil
}
