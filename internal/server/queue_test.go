package server

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
)

// A callLog calls an acquire function and records the order in which calls start.
type callLog struct {
	t       *testing.T
	queue   *callQueue
	running sync.WaitGroup

	mu      sync.Mutex
	started []string
	failed  map[errs.Code]int
}

// call makes a call that runs for half a second.
func (l *callLog) call(principal, name string) { l.callFor(principal, name, time.Second/2) }

// callFor makes a call that runs for a duration.
func (l *callLog) callFor(principal, name string, d time.Duration) {
	l.running.Go(func() {
		release, err := l.queue.acquire(l.t.Context(), principal)
		l.mu.Lock()
		if err != nil {
			l.failed[errs.CodeOf(err)]++
		} else {
			l.started = append(l.started, name)
		}
		l.mu.Unlock()
		if err == nil {
			time.Sleep(d)
			release()
		}
	})
	synctest.Wait()
}

func newCallLog(t *testing.T, limit int) *callLog {
	return &callLog{t: t, queue: newCallQueue(limit), failed: map[errs.Code]int{}}
}

// TestCallQueueIsFair floods a queue with calls of one principal. The first call of another one
// does not wait, and later ones take turns.
func TestCallQueueIsFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newCallLog(t, 3)
		for i := range 100 {
			l.call("ann", fmt.Sprint("ann", i))
		}
		l.callFor("bob", "bob0", time.Minute)
		l.call("bob", "bob1")
		l.call("bob", "bob2")
		l.call("eve", "eve0")
		l.running.Wait()
		if n := l.failed[errs.ErrBackpressure]; n != 100-3-maxQueued {
			t.Errorf("%d calls were rejected, want %d", n, 100-3-maxQueued)
		}
		// The calls that start at the same time start in any order.
		started := l.started
		for i, want := range [][]string{{"ann0", "ann1", "ann2", "bob0", "eve0"}, {"ann3", "bob1"}, {"ann4", "bob2"}, {"ann5", "ann6"}} {
			got := slices.Sorted(slices.Values(started[:len(want)]))
			started = started[len(want):]
			if !slices.Equal(got, want) {
				t.Errorf("at step %d started %v, want %v", i, got, want)
			}
		}
	})
}

// TestCallQueueOneCallEach checks that the next call of a principal takes the slot of its only
// running call immediately, although others run more calls than the limit.
func TestCallQueueOneCallEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newCallLog(t, 1)
		l.callFor("ann", "ann0", time.Minute)
		l.call("ann", "ann1")
		for i := range 3 {
			l.call("bob", fmt.Sprint("bob", i))
		}
		time.Sleep(2 * time.Second)
		l.mu.Lock()
		started := slices.Clone(l.started)
		l.mu.Unlock()
		if want := []string{"ann0", "bob0", "bob1", "bob2"}; !slices.Equal(started, want) {
			t.Errorf("started %v, want %v", started, want)
		}
		l.running.Wait()
	})
}

func TestCallQueueTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newCallQueue(1)
		release, err := q.acquire(t.Context(), "ann")
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		_, err = q.acquire(t.Context(), "ann")
		wantError(t, err, errs.ErrBackpressure, "waited 30s in the queue")
		if waited := time.Since(start); waited != queueTimeout {
			t.Errorf("waited %v", waited)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := q.acquire(ctx, "ann"); err != context.DeadlineExceeded {
			t.Errorf("a canceled call: %v", err)
		}
		release()
		if release, err = q.acquire(t.Context(), "eve"); err != nil { // the calls that no longer wait took no place
			t.Fatal(err)
		}
		release()
		if q.running != 0 || len(q.runs) != 0 || len(q.waiting) != 0 || len(q.turns) != 0 {
			t.Errorf("the queue is not empty: %+v", q)
		}
	})
}

func TestCallQueueStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newCallLog(t, 1)
		for i := range 3 {
			l.call("ann", fmt.Sprint("ann", i))
		}
		start := time.Now()
		idle := l.queue.stop()
		synctest.Wait()
		if n := l.failed[errs.ErrNoBackend]; n != 2 {
			t.Errorf("%d waiting calls were rejected", n)
		}
		if _, err := l.queue.acquire(t.Context(), "ann"); errs.CodeOf(err) != errs.ErrNoBackend {
			t.Errorf("a later call: %v", err)
		}
		<-idle
		if d := time.Since(start); d != time.Second/2 {
			t.Errorf("idle after %v", d)
		}
		l.running.Wait()
	})
}
