package mcp

import "context"

// A callSlot is the use that a call makes of a place in the queue of Options.Limit. The calls within a
// call use its place. While some of them wait for the user and no other one runs, the place is free.
type callSlot struct {
	place   *queuePlace
	nested  bool
	entered bool // the call has had the place
	counter *int // of place, which counts the call; nil if none does
}

// A queuePlace is a place in the queue of Options.Limit, of a call and of the calls within it.
type queuePlace struct {
	limit func(context.Context) (release func(), err error) // nil means no limit

	lock      chan struct{} // guards the fields below; occupied while a call waits for the place
	release   func()        // nil while the place is free
	inside    int           // calls within the call that run
	suspended int           // calls within the call that wait for the user
}

type callSlotKey struct{}

// withCallSlot returns the slot of a call, and a context that contains it. The call has no place
// yet.
func withCallSlot(ctx context.Context, limit func(context.Context) (func(), error)) (context.Context, *callSlot) {
	slot := new(callSlot)
	if outer, nested := ctx.Value(callSlotKey{}).(*callSlot); nested {
		slot.place, slot.nested = outer.place, true
	} else {
		slot.place = &queuePlace{limit: limit, lock: make(chan struct{}, 1)}
	}
	return context.WithValue(ctx, callSlotKey{}, slot), slot
}

func callSlotOf(ctx context.Context) *callSlot {
	slot, _ := ctx.Value(callSlotKey{}).(*callSlot)
	return slot
}

// outermost reports whether the call is not part of another call.
func (c *callSlot) outermost() bool { return !c.nested }

// enter waits for the place, at the beginning of a call and after suspend.
func (c *callSlot) enter(ctx context.Context) error {
	p := c.place
	select {
	case p.lock <- struct{}{}:
		defer func() { <-p.lock }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if p.release == nil && p.limit != nil {
		release, err := p.limit(ctx)
		if err != nil {
			return err
		}
		p.release = release
	}
	c.countIn(&p.inside)
	c.entered = true
	return nil
}

// suspend frees the place, unless other calls use it, while the call waits for the user.
func (c *callSlot) suspend() { c.end(&c.place.suspended) }

// leave frees the place at the end of the call. The place of a nested call is that of the call around
// it, which still runs.
func (c *callSlot) leave() { c.end(nil) }

func (c *callSlot) end(counter *int) {
	p := c.place
	p.lock <- struct{}{}
	defer func() { <-p.lock }()
	c.countIn(counter)
	if p.release != nil && (!c.nested || p.inside == 0 && p.suspended > 0) {
		p.release()
		p.release = nil
	}
}

// countIn makes counter count a nested call, or no counter if counter is nil. The place must be locked.
func (c *callSlot) countIn(counter *int) {
	if !c.nested {
		return
	}
	if c.counter != nil {
		*c.counter--
	}
	if c.counter = counter; counter != nil {
		*counter++
	}
}
