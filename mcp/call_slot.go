package mcp

import "context"

// A callSlot is the place of a call among those that run at the same time, see Options.Limit. The
// calls within another call use its slot.
type callSlot struct {
	limit   func(context.Context) (release func(), err error) // nil means no limit
	release func()                                            // nil while the call has no place
	nested  bool
}

type callSlotKey struct{}

// withCallSlot returns the slot of a call, and a context that contains it. The call has no place
// yet.
func withCallSlot(ctx context.Context, limit func(context.Context) (func(), error)) (context.Context, *callSlot) {
	slot := &callSlot{limit: limit}
	if _, nested := ctx.Value(callSlotKey{}).(*callSlot); nested {
		slot = &callSlot{nested: true}
	}
	return context.WithValue(ctx, callSlotKey{}, slot), slot
}

func callSlotOf(ctx context.Context) *callSlot {
	slot, _ := ctx.Value(callSlotKey{}).(*callSlot)
	return slot
}

// outermost reports whether the call is not part of another call.
func (c *callSlot) outermost() bool { return !c.nested }

// enter waits for a place.
func (c *callSlot) enter(ctx context.Context) (err error) {
	if c.limit != nil {
		c.release, err = c.limit(ctx)
	}
	return err
}

// leave frees the place, if the call has one.
func (c *callSlot) leave() {
	if c.release != nil {
		c.release()
		c.release = nil
	}
}
