package page

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// callQueue is the queue for a tab: calls have it one at a time, in the order in
// which they came. The zero value is free.
type callQueue struct {
	mu      sync.Mutex // guards what follows
	busy    bool
	waiting []chan struct{} // each is closed when its turn comes
}

// maxWaiting bounds the calls that wait for one tab. An agent makes a few at a
// time; whoever makes more does not look at the answers.
const maxQueuedCalls = 64

// enqueue takes the turn, or a place in the queue if there is one. turn is closed
// when it comes.
func (q *callQueue) enqueue() (turn chan struct{}, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	turn = make(chan struct{})
	switch {
	case !q.busy:
		q.busy = true
		close(turn)
	case len(q.waiting) >= maxQueuedCalls:
		return nil, &executor.Error{Code: executor.ErrBackpressure, Retryable: true,
			Err:  fmt.Errorf("%d calls are already queued for this tab", len(q.waiting)),
			Hint: "Wait for their answers, then try again."}
	default:
		q.waiting = append(q.waiting, turn)
	}
	return turn, nil
}

// release gives the turn to the next, or the place in the queue up.
func (q *callQueue) release(turn chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.waiting, turn); i >= 0 {
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

// Busy reports whether a call has its turn on the tab.
func (t *Tab) Busy() bool {
	t.queue.mu.Lock()
	defer t.queue.mu.Unlock()
	return t.queue.busy
}

// Acquire waits for the caller's turn on the tab, and attaches to the target if
// that is not done; leave ends the turn. It returns
// ErrDialogOpen at once while a dialog blocks the page, and ErrTimeout when
// ctx's deadline passes first.
func (t *Tab) Acquire(ctx context.Context) (leave func(), err error) {
	turn, err := t.queue.enqueue()
	if err != nil {
		return nil, err
	}
	for {
		t.mu.Lock()
		dialog, gone, changed := t.dialog, t.gone, t.changed
		t.mu.Unlock()
		switch {
		case gone != nil:
			err = gone
		case dialog != nil:
			err = dialog.error()
		}
		if err != nil {
			t.queue.release(turn)
			return nil, err
		}
		select {
		case <-turn: // also for a call whose time is over: it says so itself
			return t.prepareCall(ctx, turn)
		default:
		}
		select {
		case <-turn:
			return t.prepareCall(ctx, turn)
		case <-changed: // a dialog, perhaps
		case <-ctx.Done():
			t.queue.release(turn)
			return nil, busyError(ctx)
		}
	}
}

// prepareCall makes the tab of a call whose turn has come ready for it.
func (t *Tab) prepareCall(ctx context.Context, turn chan struct{}) (leave func(), err error) {
	err = t.EnsureAttached(ctx)
	if err == nil {
		err = t.enableRequestFilter(ctx)
	}
	if err != nil {
		t.queue.release(turn)
		return nil, err
	}
	t.keepRendering(ctx)
	return func() {
		t.endInput()
		t.stopRenderingLater()
		t.queue.release(turn)
	}, nil
}

func busyError(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &executor.Error{Code: executor.ErrTimeout, Retryable: true,
			Err: errors.New("the tab is busy with another call"), Hint: "Try again, or use another tab."}
	}
	return context.Cause(ctx)
}
