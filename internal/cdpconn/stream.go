package cdpconn

import (
	"context"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
)

// A stream is a queue of events from one writer to one reader. The writer never waits, because it
// is the goroutine that reads the connection: if it waited for a slow reader of events, every call
// of every tab would wait. See put for what happens if the queue is full.
type stream struct {
	mu     sync.Mutex // guards queue, queued and ended
	queue  []Event
	queued int // bytes of the parameters in queue
	ended  bool
	signal notify.Signal // the queue or ended may have changed
}

func newStream() *stream { return &stream{signal: notify.NewSignal()} }

// maxLost limits the number of lost events that one event reports.
const maxLost = 1 << 30

// put queues an event and reports whether it was queued. After close it drops all events. If the
// queue is full, it drops events for which MayDrop returns true, and queues the number of
// consecutive dropped events as one event.
func (s *stream) put(ev Event) bool {
	s.mu.Lock()
	ended := s.ended
	full := s.queued+len(ev.Params) > maxQueued && MayDrop(ev.Method)
	if full {
		ev = Event{Session: ev.Session, Method: ev.Method, Lost: max(1, ev.Lost)}
	}
	if !ended && !(ev.Lost > 0 && s.addLost(ev)) {
		s.queue = append(s.queue, ev)
		s.queued += len(ev.Params)
	}
	s.mu.Unlock()
	s.signal.Notify()
	return !ended && !full
}

// addLost adds the number of lost events in ev to a queued event that reports lost events of the
// same session and method, if only events that report lost events follow it. It reports whether it
// found one. s.mu must be held.
func (s *stream) addLost(ev Event) bool {
	for i := len(s.queue) - 1; i >= 0 && s.queue[i].Lost > 0; i-- {
		if q := &s.queue[i]; q.Session == ev.Session && q.Method == ev.Method {
			q.Lost = min(q.Lost+ev.Lost, maxLost)
			return true
		}
	}
	return false
}

// close ends the stream. next still returns the queued events.
func (s *stream) close() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.signal.Notify()
}

// next returns the next event. It completes the commands of the replies before that event. After
// close and the last event, it returns errs.ErrTargetGone.
func (s *stream) next(ctx context.Context) (Event, error) {
	for {
		s.mu.Lock()
		if len(s.queue) > 0 {
			ev := s.queue[0]
			s.queue[0] = Event{}
			s.queue = s.queue[1:]
			s.queued -= len(ev.Params)
			if len(s.queue) == 0 {
				s.queue = nil // release the memory of a long queue
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
			return Event{}, errs.ErrTargetGone
		}
		select {
		case <-s.signal:
		case <-ctx.Done():
			return Event{}, ctx.Err()
		}
	}
}
