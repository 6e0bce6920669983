package bridge

import (
	"io"
	"math/rand/v2"
	"slices"
	"sync"
)

// slots limits connections that are not authenticated. When all slots are taken,
// a new connection replaces a random one. If new connections were rejected
// instead, a process that holds all slots could block the extension forever. The
// choice is random so that no process can predict it.
type slots struct {
	max int

	mu    sync.Mutex // guards conns
	conns []io.Closer
}

// take assigns a slot to c. c is closed when another connection takes its slot.
// take reports whether it closed another connection.
func (s *slots) take(c io.Closer) (evicted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.conns) < s.max {
		s.conns = append(s.conns, c)
		return false
	}
	i := rand.IntN(len(s.conns))
	old := s.conns[i]
	s.conns[i] = c
	go old.Close() // Close frees the slot, which needs the lock
	return true
}

// free releases the slot of c, if it has one.
func (s *slots) free(c io.Closer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.conns, c); i >= 0 {
		s.conns = slices.Delete(s.conns, i, i+1)
	}
}
