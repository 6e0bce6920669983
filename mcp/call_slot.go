package mcp

import "context"

// A callSlot is the use that one call makes of a slot, which Options.Limit grants so that the call may
// run. A call and the calls within it, such as those of a batch, share a slot.
type callSlot struct {
	*sharedSlot
	nested   bool // the call is within another call
	acquired bool // the call has had the slot
}

// A sharedSlot is the slot of a call and of the calls within it. It is free while the outermost call
// waits for the user, or while calls within it wait for the user and no other one runs. After a wait that
// failed, it stays free until the next call within it begins.
type sharedSlot struct {
	limit func(context.Context) (release func(), err error) // nil means no limit

	// lock guards the fields below. It is a channel because a call holds it while it waits for limit,
	// and others can stop waiting for it.
	lock    chan struct{}
	release func()             // returns the slot to limit; nil while it is free
	inner   map[*callSlot]bool // calls within the outermost call that have begun; whether each waits for the user
}

type callSlotKey struct{}

// withCallSlot returns the slot of a call, and a context that contains it for the calls within the
// call. The call has not acquired it.
func withCallSlot(ctx context.Context, limit func(context.Context) (func(), error)) (context.Context, *callSlot) {
	slot := new(callSlot)
	if outer := callSlotOf(ctx); outer != nil {
		slot.sharedSlot, slot.nested = outer.sharedSlot, true
	} else {
		slot.sharedSlot = &sharedSlot{limit: limit, lock: make(chan struct{}, 1), inner: map[*callSlot]bool{}}
	}
	return context.WithValue(ctx, callSlotKey{}, slot), slot
}

// callSlotOf returns the slot of the call of ctx.
func callSlotOf(ctx context.Context) *callSlot {
	slot, _ := ctx.Value(callSlotKey{}).(*callSlot)
	return slot
}

// acquire waits for the slot, unless another call that shares it has it.
func (c *callSlot) acquire(ctx context.Context) error {
	select {
	case c.lock <- struct{}{}:
		defer func() { <-c.lock }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if c.release == nil && c.limit != nil {
		release, err := c.limit(ctx)
		if err != nil {
			return err
		}
		c.release = release
	}
	if c.nested {
		c.inner[c] = false
	}
	c.acquired = true
	return nil
}

// freeWhile calls wait, which waits for the user, with the slot free for other calls, and then acquires
// it again. If wait returns an error, freeWhile does not acquire the slot, and returns the error.
func (c *callSlot) freeWhile(ctx context.Context, wait func() error) error {
	c.free(true)
	if err := wait(); err != nil {
		return err
	}
	return c.acquire(ctx)
}

// leave frees the slot at the end of the call, which has acquired it.
func (c *callSlot) leave() { c.free(false) }

// free frees the slot, unless other calls need it. waits is whether the call waits for the user, and has
// not ended.
func (c *callSlot) free(waits bool) {
	c.lock <- struct{}{}
	defer func() { <-c.lock }()
	switch {
	case c.nested && waits:
		c.inner[c] = true
	case c.nested:
		delete(c.inner, c)
	}
	if c.release != nil && (!c.nested || c.innerWait()) {
		c.release()
		c.release = nil
	}
}

// innerWait reports whether calls within the outermost call wait for the user and no other one runs.
// Without any, the outermost call itself runs. The slot must be locked.
func (s *sharedSlot) innerWait() bool {
	for _, waits := range s.inner {
		if !waits {
			return false
		}
	}
	return len(s.inner) > 0
}
