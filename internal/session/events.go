package session

import (
	"context"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
)

// maxEvents bounds the events that wait for a client's OnEvent function. A page can open dialogs
// and tabs in a loop. Above the limit the oldest event is dropped.
const maxEvents = 1000

// deliverEvents returns a queue whose events go to a client's OnEvent function, in order, from one
// goroutine of wg. The goroutine exits when the queue is closed and all its events are delivered.
func deliverEvents(wg *sync.WaitGroup, onEvent func(executor.Event)) *notify.Queue[executor.Event] {
	queue := notify.NewQueue[executor.Event](maxEvents)
	wg.Go(func() {
		for {
			ev, err := queue.Next(context.Background())
			if err != nil {
				return
			}
			onEvent(ev)
		}
	})
	return queue
}
