package cdpconn

import (
	"context"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// A stream is an unbounded queue of events from one writer to one reader. It
// is unbounded because the writer is the connection's reader: were it to wait
// for a slow consumer, every call of every tab would wait with it.
type stream struct {
	mu     sync.Mutex // guards queue and ended
	queue  []Event
	ended  bool
	signal chan struct{} // holds one token when there may be something new
}

func newStream() *stream { return &stream{signal: make(chan struct{}, 1)} }

func (s *stream) wake() {
	select {
	case s.signal <- struct{}{}:
	default:
	}
}

// put queues an event and reports whether it will be read: not after close.
func (s *stream) put(ev Event) bool {
	s.mu.Lock()
	ended := s.ended
	if !ended {
		s.queue = append(s.queue, ev)
	}
	s.mu.Unlock()
	s.wake()
	return !ended
}

func (s *stream) close() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.wake()
}

func (s *stream) next(ctx context.Context) (Event, error) {
	for {
		s.mu.Lock()
		if len(s.queue) > 0 {
			ev := s.queue[0]
			s.queue[0] = Event{}
			s.queue = s.queue[1:]
			if len(s.queue) == 0 {
				s.queue = nil // let a flood's memory go
			}
			s.mu.Unlock()
			if ev.reply != nil {
				ev.reply()
				continue
			}
			return ev, nil
		}
		ended := s.ended
		s.mu.Unlock()
		if ended {
			return Event{}, executor.ErrTargetGone
		}
		select {
		case <-s.signal:
		case <-ctx.Done():
			return Event{}, ctx.Err()
		}
	}
}
