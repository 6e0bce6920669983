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

func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
