// Package notify passes changes and values between goroutines without making the sender wait.
package notify

import (
	"context"
	"sync"
)

// A Broadcast notifies any number of goroutines of a change. The zero value is ready to
// use. It is safe for concurrent use.
type Broadcast struct {
	mu sync.Mutex // guards ch
	ch chan struct{}
}

// Changed returns a channel that is closed at the next change. To miss no change, a goroutine calls
// Changed before it reads what may change.
func (b *Broadcast) Changed() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

// Notify reports a change. It never blocks.
func (b *Broadcast) Notify() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}

// Wait waits until done, which it calls immediately and then after each change, returns true. It
// returns the cause of ctx if ctx is done first.
func (b *Broadcast) Wait(ctx context.Context, done func() bool) error {
	for {
		changed := b.Changed()
		if done() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// A Signal wakes up one goroutine, which receives from it. It holds at most one value: several
// changes may be received as one. Create it with [NewSignal].
type Signal chan struct{}

// NewSignal returns a Signal without a value.
func NewSignal() Signal { return make(Signal, 1) }

// Notify reports a change. It never blocks.
func (s Signal) Notify() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// IsClosed reports whether a channel that never carries values is closed.
func IsClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// A Queue passes values, in order, from any number of senders to one receiver. Create it with
// [NewQueue].
type Queue[T any] struct {
	limit  int
	signal Signal // something may be new

	mu     sync.Mutex // guards the fields below
	values []T
	err    error // set at the end
}

// NewQueue returns a queue that drops the oldest value when it holds more than limit values. A
// limit of 0 means no limit.
func NewQueue[T any](limit int) *Queue[T] {
	return &Queue[T]{limit: limit, signal: NewSignal()}
}

// Put adds a value. It never blocks. After Close it does nothing.
func (q *Queue[T]) Put(v T) {
	q.mu.Lock()
	if q.err == nil {
		q.values = append(q.values, v)
		if q.limit > 0 && len(q.values) > q.limit {
			q.drop()
		}
	}
	q.mu.Unlock()
	q.signal.Notify()
}

// Close ends the queue. After the remaining values, Next returns err. Later calls of Close do
// nothing.
func (q *Queue[T]) Close(err error) {
	q.mu.Lock()
	if q.err == nil {
		q.err = err
	}
	q.mu.Unlock()
	q.signal.Notify()
}

// Next waits for the next value and returns it. It returns the error of Close if the queue is
// closed and empty, and the error of ctx if ctx is done first. Only one goroutine may call Next at
// a time.
func (q *Queue[T]) Next(ctx context.Context) (T, error) {
	for {
		q.mu.Lock()
		if len(q.values) > 0 {
			v := q.values[0]
			q.drop()
			q.mu.Unlock()
			return v, nil
		}
		err := q.err
		q.mu.Unlock()
		var none T
		if err != nil {
			return none, err
		}
		select {
		case <-q.signal:
		case <-ctx.Done():
			return none, ctx.Err()
		}
	}
}

// drop removes the oldest value. mu must be held.
func (q *Queue[T]) drop() {
	var none T
	q.values[0] = none
	if q.values = q.values[1:]; len(q.values) == 0 {
		q.values = nil // release the memory of a flood
	}
}
