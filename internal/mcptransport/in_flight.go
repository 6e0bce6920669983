package mcptransport

import (
	"sync/atomic"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/notify"
)

// An InFlight counts the requests whose responses are not sent. The zero value is ready to use.
type InFlight struct {
	n    atomic.Int64
	idle notify.Broadcast // n is 0
}

func (f *InFlight) Begin() { f.n.Add(1) }

func (f *InFlight) End() {
	if f.n.Add(-1) == 0 {
		f.idle.Notify()
	}
}

// Wait waits until all responses are sent, canceled is closed, or limit has passed.
func (f *InFlight) Wait(limit time.Duration, canceled <-chan struct{}) {
	idle := f.idle.Changed()
	if f.n.Load() == 0 {
		return
	}
	select {
	case <-idle:
	case <-canceled:
	case <-time.After(limit):
	}
}
