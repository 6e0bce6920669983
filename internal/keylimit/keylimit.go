// Package keylimit limits concurrent work separately for each key, such as a principal or a browser.
package keylimit

import (
	"context"
	"sync"
)

// A Limit has a number of slots for each key. Create it with [New]. Its methods are safe for concurrent
// use. It uses memory only for keys whose slots are in use or awaited.
type Limit[K comparable] struct {
	slots int

	mu   sync.Mutex // guards keys
	keys map[K]*key
}

// key has the slots of one key.
type key struct {
	taken chan struct{} // has an element for each slot in use
	users int           // slots in use, and callers that wait for one; guarded by Limit.mu
}

// New returns a Limit with the given number of slots for each key.
func New[K comparable](slots int) *Limit[K] {
	return &Limit[K]{slots: slots, keys: make(map[K]*key)}
}

// TryAcquire takes a slot of k, which the caller releases. It reports whether one was free.
func (l *Limit[K]) TryAcquire(k K) bool {
	e := l.use(k)
	select {
	case e.taken <- struct{}{}:
		return true
	default:
		l.leave(k, e)
		return false
	}
}

// Acquire waits for a slot of k, which the caller releases. It returns the cause of ctx if ctx is done
// first.
func (l *Limit[K]) Acquire(ctx context.Context, k K) error {
	e := l.use(k)
	select {
	case e.taken <- struct{}{}:
		return nil
	case <-ctx.Done():
		l.leave(k, e)
		return context.Cause(ctx)
	}
}

// Release releases a slot of k.
func (l *Limit[K]) Release(k K) {
	l.mu.Lock()
	e := l.keys[k]
	l.mu.Unlock()
	<-e.taken
	l.leave(k, e)
}

// use returns the slots of k, which the caller uses until leave.
func (l *Limit[K]) use(k K) *key {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.keys[k]
	if e == nil {
		e = &key{taken: make(chan struct{}, l.slots)}
		l.keys[k] = e
	}
	e.users++
	return e
}

func (l *Limit[K]) leave(k K, e *key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.users--; e.users == 0 {
		delete(l.keys, k)
	}
}
