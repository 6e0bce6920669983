package page

import (
	"errors"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// TestQueueIsBounded: what waits has its turn in order, and what there is no
// place for is refused at once and takes none.
func TestQueueIsBounded(t *testing.T) {
	var q callQueue
	var taken []chan struct{}
	for range 1 + maxQueuedCalls {
		turn, err := q.enqueue()
		if err != nil {
			t.Fatal(err)
		}
		taken = append(taken, turn)
	}
	for range 3 {
		_, err := q.enqueue()
		var e *executor.Error
		if !errors.As(err, &e) || e.Code != executor.ErrBackpressure || !e.Retryable || e.Hint == "" {
			t.Fatalf("%v", err)
		}
	}
	q.release(taken[5]) // gives up, and its place is free
	if _, err := q.enqueue(); err != nil {
		t.Error(err)
	}
	for i, turn := range taken {
		if i == 5 {
			continue
		}
		select {
		case <-turn:
		default:
			t.Fatalf("call %d has not its turn", i)
		}
		q.release(turn)
	}
}
