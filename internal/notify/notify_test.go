package notify

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

func TestBroadcast(t *testing.T) {
	var b Broadcast
	b.Notify() // no goroutine waits
	first, second := b.Changed(), b.Changed()
	select {
	case <-first:
		t.Fatal("changed before the change")
	default:
	}
	b.Notify()
	for _, ch := range []<-chan struct{}{first, second} {
		await.Receive(t, "report of a change", ch)
	}
	select {
	case <-b.Changed():
		t.Error("a change was reported twice")
	default:
	}
}

func TestQueueKeepsTheOrderOfEachSender(t *testing.T) {
	q := NewQueue[[2]int](0)
	const senders, values = 4, 1000
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			for v := range values {
				q.Put([2]int{s, v})
			}
		})
	}
	go func() {
		wg.Wait()
		q.Close(errors.New("the end"))
	}()
	var next [senders]int
	for {
		v, err := q.Next(t.Context())
		if err != nil {
			if err.Error() != "the end" {
				t.Error(err)
			}
			break
		}
		if v[1] != next[v[0]] {
			t.Fatalf("sender %d: got %d, want %d", v[0], v[1], next[v[0]])
		}
		next[v[0]]++
	}
	if next != [senders]int{values, values, values, values} {
		t.Errorf("got %v values", next)
	}
	q.Put([2]int{}) // dropped
	if _, err := q.Next(t.Context()); err == nil {
		t.Error("a closed queue accepted a value")
	}
}

func TestQueueDropsTheOldestValue(t *testing.T) {
	q := NewQueue[int](2)
	for i := range 5 {
		q.Put(i)
	}
	for _, want := range []int{3, 4} {
		if got, err := q.Next(t.Context()); got != want || err != nil {
			t.Errorf("got %d, %v, want %d", got, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := q.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("an empty queue returned %v", err)
	}
}
