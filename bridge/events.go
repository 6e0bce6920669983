package bridge

import (
	"context"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// Next returns the next event of the extension. Before it does, it calls the
// done functions of the queued commands whose answers came before that event.
// When the connection has ended and everything was read it returns the error
// of [Instance.Err]; when ctx is done, its error. Only one goroutine may call
// Next at a time.
//
// Events are kept until they are read: whoever has an Instance must read it.
func (i *Instance) Next(ctx context.Context) (*wire.Event, error) { return i.events.next(ctx) }

// events is an unbounded queue from the connection's reader, which must never
// wait for a slow consumer, to one consumer.
type events struct {
	mu     sync.Mutex // guards what follows
	queue  []item
	err    error         // set at the end
	signal chan struct{} // holds one token when there may be something new
}

// An item is an event, or the answer to a queued command in its place.
type item struct {
	event  *wire.Event
	answer func()
}

func newEvents() *events { return &events{signal: make(chan struct{}, 1)} }

func (e *events) put(it item) {
	e.mu.Lock()
	e.queue = append(e.queue, it)
	e.mu.Unlock()
	e.notify()
}

func (e *events) end(err error) {
	e.mu.Lock()
	e.err = err
	e.mu.Unlock()
	e.notify()
}

func (e *events) notify() {
	select {
	case e.signal <- struct{}{}:
	default:
	}
}

func (e *events) next(ctx context.Context) (*wire.Event, error) {
	for {
		e.mu.Lock()
		if len(e.queue) > 0 {
			it := e.queue[0]
			e.queue[0] = item{}
			if e.queue = e.queue[1:]; len(e.queue) == 0 {
				e.queue = nil // let a flood's memory go
			}
			e.mu.Unlock()
			if it.answer != nil {
				it.answer()
				continue
			}
			return it.event, nil
		}
		err := e.err
		e.mu.Unlock()
		if err != nil {
			return nil, err
		}
		select {
		case <-e.signal:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
