package record

import (
	"slices"
	"sync"
)

// maxLoggedEvents is the maximum number of events that an EventLog stores.
const maxLoggedEvents = 20

// An EventLog stores the newest events of one kind in a tab, so that the next action can report
// those that it caused. The zero value is ready to use. It is safe for concurrent use.
type EventLog[E any] struct {
	mu     sync.Mutex // guards the fields below
	events []E        // the newest last
	total  int        // number of events ever added
}

// Add adds an event. It may drop the oldest one.
func (l *EventLog[E]) Add(e E) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
	if len(l.events) > maxLoggedEvents {
		l.events = slices.Delete(l.events, 0, 1)
	}
	l.total++
}

// Count returns the number of events ever added.
func (l *EventLog[E]) Count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}

// Since returns the stored events that were added when count was before or higher.
func (l *EventLog[E]) Since(before int) []E {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.events[max(0, len(l.events)-(l.total-before)):])
}

// Remove removes the oldest event for which match returns true, and reports whether there was one.
func (l *EventLog[E]) Remove(match func(E) bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.events, match)
	if i < 0 {
		return false
	}
	l.events = slices.Delete(l.events, i, i+1)
	return true
}

// Empty reports whether no events are stored.
func (l *EventLog[E]) Empty() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.events) == 0
}
