package mcp

import (
	"context"
	"errors"
	"testing"
)

// TestCallSlot checks when the slot of a call is in use, while calls within the call begin, wait for
// the user, and end.
func TestCallSlot(t *testing.T) {
	ctx := t.Context()
	inUse := 0
	limit := func(context.Context) (func(), error) {
		inUse++
		return func() { inUse-- }, nil
	}
	expect := func(want int, when string) {
		t.Helper()
		if inUse != want {
			t.Fatalf("%s: %d slots in use, want %d", when, inUse, want)
		}
	}
	// wait lets a call wait for the user until the returned function returns.
	wait := func(c *callSlot, result error) (answer func()) {
		waiting, answered, ended := make(chan struct{}), make(chan struct{}), make(chan error)
		go func() {
			ended <- c.freeWhile(ctx, func() error {
				close(waiting)
				<-answered
				return result
			})
		}()
		<-waiting
		return func() {
			close(answered)
			if err := <-ended; err != result {
				t.Errorf("freeWhile returned %v, want %v", err, result)
			}
		}
	}

	outerCtx, outer := withCallSlot(ctx, limit)
	_, a := withCallSlot(outerCtx, limit)
	_, b := withCallSlot(outerCtx, limit)
	if outer.nested || !a.nested || !b.nested || a.acquired {
		t.Fatalf("%+v, %+v, %+v", outer, a, b)
	}
	expect(0, "before the call")
	for _, c := range []*callSlot{outer, a, b} {
		if err := c.acquire(ctx); err != nil || !c.acquired {
			t.Fatal(err)
		}
		expect(1, "a call runs")
	}

	answerA := wait(a, nil)
	expect(1, "a waits, b runs")
	answerB := wait(b, nil)
	expect(0, "both wait")
	answerA()
	expect(1, "a runs, b waits")
	a.leave()
	expect(0, "a has ended, b waits")
	answerB()
	expect(1, "b runs")

	wait(b, errors.New("no answer"))()
	expect(0, "the wait of b has failed")
	b.leave()
	expect(0, "b has ended")
	if err := a.acquire(ctx); err != nil {
		t.Fatal(err)
	}
	expect(1, "a further call runs")
	a.leave()
	expect(1, "the outermost call runs")

	answer := wait(outer, nil)
	expect(0, "the outermost call waits")
	answer()
	expect(1, "the outermost call runs again")
	outer.leave()
	expect(0, "after the call")
}

// TestCallSlotRejected checks that a call whose limit rejects it, or whose context ends while another
// call waits for the slot, does not have it.
func TestCallSlotRejected(t *testing.T) {
	busy := errors.New("busy")
	waiting, reject := make(chan struct{}), make(chan struct{})
	outerCtx, outer := withCallSlot(t.Context(), func(context.Context) (func(), error) {
		close(waiting)
		<-reject
		return nil, busy
	})
	rejected := make(chan error)
	go func() { rejected <- outer.acquire(outerCtx) }()
	<-waiting
	ctx, cancel := context.WithCancel(outerCtx)
	_, inner := withCallSlot(ctx, nil)
	cancel()
	if err := inner.acquire(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that was canceled: %v", err)
	}
	close(reject)
	if err := <-rejected; err != busy {
		t.Errorf("a call that was rejected: %v", err)
	}
	if outer.acquired || inner.acquired {
		t.Errorf("%+v, %+v", outer, inner)
	}
}
