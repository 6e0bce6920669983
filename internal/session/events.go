package session

import (
	"sync"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// maxEvents bounds the events that wait for a client's hook. A page can open
// dialogs and tabs in a loop; what nobody takes is dropped, the oldest first.
const maxEvents = 1000

// An eventQueue hands events to a client's hook, in order, from one goroutine.
type eventQueue struct {
	mu     sync.Mutex // guards queue and ended
	queue  []executor.Event
	ended  bool
	signal chan struct{}
	wg     sync.WaitGroup
}

func (q *eventQueue) start(hook func(executor.Event)) {
	q.signal = make(chan struct{}, 1)
	q.wg.Go(func() {
		for range q.signal {
			for {
				q.mu.Lock()
				if len(q.queue) == 0 {
					ended := q.ended
					q.mu.Unlock()
					if ended {
						return
					}
					break
				}
				ev := q.queue[0]
				q.queue = q.queue[1:]
				q.mu.Unlock()
				hook(ev)
			}
		}
	})
}

func (q *eventQueue) wake() {
	select {
	case q.signal <- struct{}{}:
	default:
	}
}

func (q *eventQueue) put(ev executor.Event) {
	q.mu.Lock()
	if !q.ended {
		q.queue = append(q.queue, ev)
		if len(q.queue) > maxEvents {
			q.queue = q.queue[1:]
		}
	}
	q.mu.Unlock()
	q.wake()
}

// stop hands out what waits and ends the goroutine.
func (q *eventQueue) stop() {
	if q.signal == nil {
		return
	}
	q.mu.Lock()
	q.ended = true
	q.mu.Unlock()
	q.wake()
	q.wg.Wait()
}
