package page

import (
	"errors"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// TestQueueIsBounded checks that queued calls run in order, and that a call for which the queue has
// no space is rejected immediately and occupies no slot.
func TestQueueIsBounded(t *testing.T) {
	var q callQueue
	var slots []chan struct{}
	for range 1 + maxQueuedCalls {
		slot, err := q.enqueue()
		if err != nil {
			t.Fatal(err)
		}
		slots = append(slots, slot)
	}
	for range 3 {
		_, err := q.enqueue()
		var e *executor.Error
		if !errors.As(err, &e) || e.Code != executor.ErrBackpressure || !e.Retryable || e.Hint == "" {
			t.Fatalf("%v", err)
		}
	}
	q.release(slots[5]) // the call is canceled, which frees its slot
	if _, err := q.enqueue(); err != nil {
		t.Error(err)
	}
	for i, slot := range slots {
		if i == 5 {
			continue
		}
		select {
		case <-slot:
		default:
			t.Fatalf("call %d did not get its turn", i)
		}
		q.release(slot)
	}
}
