package page

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/dialogs"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// A callQueue queues the calls on a tab. They run one at a time, in the order in which they arrive.
type callQueue struct {
	tab     executor.TabID
	tree    *frames.Tree
	dialogs *dialogs.State
	group   *openerGroup
	running atomic.Bool // a call has the slot and does not wait for the end of a handover

	mu      sync.Mutex // guards the fields below
	busy    bool
	waiting []chan struct{} // each is closed when it is its call's turn
}

// maxQueuedCalls is the maximum number of calls that wait for one tab. An agent makes a few calls
// at a time. A client that makes more does not read the results.
const maxQueuedCalls = 64

// enqueue reserves a slot for a call. slot is closed when it is the turn of the call. enqueue
// returns ErrBackpressure if the queue is full.
func (q *callQueue) enqueue() (slot chan struct{}, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	slot = make(chan struct{})
	switch {
	case !q.busy:
		q.busy = true
		close(slot)
	case len(q.waiting) >= maxQueuedCalls:
		return nil, &executor.Error{Code: executor.ErrBackpressure, Retryable: true,
			Err:  fmt.Errorf("%d calls are already queued for this tab", len(q.waiting)),
			Hint: "Wait for their results, then try again."}
	default:
		q.waiting = append(q.waiting, slot)
	}
	return slot, nil
}

// release frees a slot, which may still be in the queue. The next call in the queue gets its
// turn.
func (q *callQueue) release(slot chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.waiting, slot); i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
		return
	}
	if len(q.waiting) == 0 {
		q.busy = false
		return
	}
	close(q.waiting[0])
	q.waiting = q.waiting[1:]
}

// Busy reports whether a call has its turn on the tab, which may be waiting for the end of a handover.
func (q *callQueue) Busy() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.busy
}

// Acquire waits for the turn of the caller in the call queue of the tab, and attaches to the tab if
// it is detached. It also waits while the tab is handed over to the user. The caller must call
// release at the end of its call. Acquire returns ErrDialogOpen immediately while a dialog blocks
// the page, and ErrTimeout if the deadline of ctx passes first.
func (t *Tab) Acquire(ctx context.Context) (release func(), err error) {
	slot, err := t.Queue.wait(ctx)
	if err != nil {
		return nil, err
	}
	err = t.EnsureAttached(ctx)
	if err == nil {
		err = t.Interception.EnableFilter(ctx)
	}
	if err != nil {
		t.Queue.setIdle()
		t.Queue.release(slot)
		return nil, err
	}
	t.acted.Store(false)
	t.rendering.keep(ctx)
	return func() {
		t.shield.EndCall()
		t.rendering.stopLater()
		t.Queue.setIdle()
		t.Queue.release(slot)
	}, nil
}

// hintActed is the hint of a call that ended before its outcome was known.
const hintActed = "Take a snapshot to see what it did before you try again."

// Interrupted returns err, the error of the current call, for the client. If the call ended before
// its outcome was known, and the page may have received its input or script, the error reports that
// and is not retryable: the same call might do again what is done.
func (v *View) Interrupted(err error) error {
	e, ok := errors.AsType[*executor.Error](err)
	if !ok || !e.Retryable || !v.tab.acted.Load() {
		return err
	}
	switch e.Code {
	case executor.ErrTimeout, executor.ErrTargetGone, executor.ErrDetached, executor.ErrExtensionDisconnected, executor.ErrNavigationFailed:
		return actedError(e, "the call may have had effects")
	}
	return err
}

// actedError returns e for a call of which progress is known.
func actedError(e *executor.Error, progress string) error {
	acted := *e
	acted.Err, acted.Hint, acted.Retryable = errs.WithCause(e.Message()+"; "+progress, e), hintActed, false
	return &acted
}

// wait waits for the turn of a call, and for the end of a handover. The caller must call setIdle
// and release at the end of the call.
func (q *callQueue) wait(ctx context.Context) (slot chan struct{}, err error) {
	slot, err = q.enqueue()
	if err != nil {
		return nil, err
	}
	for {
		s := q.tree.Lock()
		changed, dialog, gone := q.tree.Changes.Changed(), q.dialogs.Open(), s.Gone()
		s.Unlock()
		handedOver := q.group.handedOver()
		switch {
		case gone != nil:
			err = gone
		case handedOver: // its dialogs are for the user
			select {
			case <-changed:
				continue
			case <-ctx.Done():
				err = handedOverError(ctx)
			}
		case dialog != nil:
			err = dialog.Err()
		}
		if err != nil {
			q.release(slot)
			return nil, err
		}
		select {
		case <-slot: // even if ctx has expired: the call reports that itself
			q.running.Store(true)
			if q.group.handedOver() { // in the meantime; HandOver waits for calls that are running
				q.setIdle()
				continue
			}
			return slot, nil
		default:
		}
		select {
		case <-slot:
		case <-changed: // possibly a dialog
		case <-ctx.Done():
			q.release(slot)
			return nil, busyError(ctx)
		}
	}
}

// setIdle records that no call is running, and wakes HandOver, which may wait for that.
func (q *callQueue) setIdle() {
	q.running.Store(false)
	if q.group.handedOver() {
		q.tree.Changes.Notify()
	}
}

// awaitIdle waits until no call is running on the tab, except for those that wait for the end of a
// handover.
func (q *callQueue) awaitIdle(ctx context.Context) error {
	if q.tree.Changes.Wait(ctx, func() bool { return !q.running.Load() }) == nil {
		return nil
	}
	return &executor.Error{Code: executor.ErrBackpressure, Retryable: true, Hint: "Wait for its result, then try again.",
		Err: fmt.Errorf("a call on tab %s, which is related to this one, is running", q.tab)}
}

func busyError(ctx context.Context) error {
	return waitError(ctx, "the tab is busy with another call", "Try again, or use another tab.")
}

func handedOverError(ctx context.Context) error {
	return waitError(ctx, "the page is handed over to the user", hintHandedOver)
}

// waitError returns the error of a call that stops to wait because ctx is done: if its deadline has
// passed, ErrTimeout with the reason of the wait.
func waitError(ctx context.Context, reason, hint string) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &executor.Error{Code: executor.ErrTimeout, Retryable: true, Err: errors.New(reason), Hint: hint}
	}
	return context.Cause(ctx)
}
