// Package testlog captures logs and audit entries in tests, and measures the cost of floods.
package testlog

import (
	"bytes"
	"sync"
)

// A Buffer collects what is written to it. The zero value is ready to use, and
// its methods are safe for concurrent use.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *Buffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *Buffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
