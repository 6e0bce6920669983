package page

import (
	"slices"
	"sync"
)

// maxLoggedEvents is the maximum number of events that an eventLog stores.
const maxLoggedEvents = 20

// An eventLog stores the newest events of one kind in a tab, so that the next action can report
// those that it caused. The zero value is ready to use. It is safe for concurrent use.
type eventLog[E any] struct {
	mu     sync.Mutex // guards the fields below
	events []E        // the newest last
	total  int        // number of events ever added
}

// add adds an event. It may drop the oldest one.
func (l *eventLog[E]) add(e E) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
	if len(l.events) > maxLoggedEvents {
		l.events = slices.Delete(l.events, 0, 1)
	}
	l.total++
}

// count returns the number of events ever added.
func (l *eventLog[E]) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}

// since returns the stored events that were added when count was before or higher.
func (l *eventLog[E]) since(before int) []E {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.events[max(0, len(l.events)-(l.total-before)):])
}

// remove removes the oldest event for which match returns true, and reports whether there was one.
func (l *eventLog[E]) remove(match func(E) bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.events, match)
	if i < 0 {
		return false
	}
	l.events = slices.Delete(l.events, i, i+1)
	return true
}

// empty reports whether no events are stored.
func (l *eventLog[E]) empty() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.events) == 0
}
