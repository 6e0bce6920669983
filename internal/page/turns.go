package page

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// turns is the queue for a tab: calls have it one at a time, in the order in
// which they came. The zero value is free.
type turns struct {
	mu      sync.Mutex // guards what follows
	taken   bool
	waiting []chan struct{} // each is closed when its turn comes
}

// maxWaiting bounds the calls that wait for one tab. An agent makes a few at a
// time; whoever makes more does not look at the answers.
const maxWaiting = 64

// join takes the turn, or a place in the queue if there is one. turn is closed
// when it comes.
func (q *turns) join() (turn chan struct{}, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	turn = make(chan struct{})
	switch {
	case !q.taken:
		q.taken = true
		close(turn)
	case len(q.waiting) >= maxWaiting:
		return nil, &executor.Error{Code: executor.ErrBackpressure, Retryable: true,
			Err:  fmt.Errorf("%d calls wait for this tab already", len(q.waiting)),
			Hint: "Wait for their answers, then try again."}
	default:
		q.waiting = append(q.waiting, turn)
	}
	return turn, nil
}

// leave gives the turn to the next, or the place in the queue up.
func (q *turns) leave(turn chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.waiting, turn); i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
		return
	}
	if len(q.waiting) == 0 {
		q.taken = false
		return
	}
	close(q.waiting[0])
	q.waiting = q.waiting[1:]
}

// Busy reports whether a call has its turn on the tab.
func (t *Tab) Busy() bool {
	t.turns.mu.Lock()
	defer t.turns.mu.Unlock()
	return t.turns.taken
}

// Enter waits for the caller's turn on the tab, and attaches to the target if
// that is not done; leave ends the turn. It returns
// ErrDialogOpen at once while a dialog blocks the page, and ErrTimeout when
// ctx's deadline passes first.
func (t *Tab) Enter(ctx context.Context) (leave func(), err error) {
	turn, err := t.turns.join()
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
			t.turns.leave(turn)
			return nil, err
		}
		select {
		case <-turn: // also for a call whose time is over: it says so itself
			return t.begin(ctx, turn)
		default:
		}
		select {
		case <-turn:
			return t.begin(ctx, turn)
		case <-changed: // a dialog, perhaps
		case <-ctx.Done():
			t.turns.leave(turn)
			return nil, busyError(ctx)
		}
	}
}

// begin makes the tab of a call whose turn has come ready for it.
func (t *Tab) begin(ctx context.Context, turn chan struct{}) (leave func(), err error) {
	err = t.Wake(ctx)
	if err == nil {
		err = t.raiseWall(ctx)
	}
	if err != nil {
		t.turns.leave(turn)
		return nil, err
	}
	t.draw(ctx)
	return func() {
		t.endInput()
		t.undraw()
		t.turns.leave(turn)
	}, nil
}

func busyError(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &executor.Error{Code: executor.ErrTimeout, Retryable: true,
			Err: errors.New("another call holds the tab"), Hint: "Try again, or use another tab."}
	}
	return context.Cause(ctx)
}
