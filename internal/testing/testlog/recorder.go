package testlog

import (
	"slices"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/audit"
)

// A Recorder is an audit.Recorder in memory. The zero value is ready to use, and
// its methods are safe for concurrent use.
type Recorder struct {
	mu      sync.Mutex
	entries []audit.Entry
}

// Ready implements audit.Recorder.
func (l *Recorder) Ready() error { return nil }

// Record implements audit.Recorder.
func (l *Recorder) Record(e audit.Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, e)
}

// Entries returns the recorded entries.
func (l *Recorder) Entries() []audit.Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.entries)
}
