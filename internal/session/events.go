package session

import (
	"context"
	"errors"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
)

// maxEvents bounds the events that wait for a client's OnEvent function. A page can open dialogs
// and tabs in a loop. Above the limit the oldest event is dropped.
const maxEvents = 1000

var errEventsEnded = errors.New("the session is closed")

// An eventQueue passes events to a client's OnEvent function, in order, from one goroutine. The
// zero value drops all events.
type eventQueue struct {
	queue *notify.Queue[executor.Event]
	wg    sync.WaitGroup
}

func (q *eventQueue) start(hook func(executor.Event)) {
	q.queue = notify.NewQueue[executor.Event](maxEvents)
	q.wg.Go(func() {
		for {
			ev, err := q.queue.Next(context.Background())
			if err != nil {
				return
			}
			hook(ev)
		}
	})
}

func (q *eventQueue) put(ev executor.Event) {
	if q.queue != nil {
		q.queue.Put(ev)
	}
}

// stop waits until all queued events are delivered and the goroutine has exited.
func (q *eventQueue) stop() {
	if q.queue != nil {
		q.queue.Close(errEventsEnded)
		q.wg.Wait()
	}
}
