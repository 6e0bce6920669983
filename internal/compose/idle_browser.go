package compose

import (
	"context"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/mcp"
)

// An idleBrowser closes the browsers of an MCP session when no call has run for a time. It observes
// the calls and passes them to another observer.
type idleBrowser struct {
	mcp.CallObserver
	after time.Duration
	close func(ctx context.Context, after time.Duration) // closes the browsers that may be closed

	work sync.WaitGroup // calls of close

	mu      sync.Mutex // guards the fields below
	running int        // calls
	timer   *time.Timer
	cancel  context.CancelFunc // of the last call of close
	stopped bool
}

// newIdleBrowser returns an idleBrowser that calls close after each time without calls, until it is
// stopped. The context of close is canceled when a call starts.
func newIdleBrowser(
	next mcp.CallObserver, after time.Duration, close func(context.Context, time.Duration),
) *idleBrowser {
	b := &idleBrowser{CallObserver: next, after: after, close: close, cancel: func() {}}
	b.timer = time.AfterFunc(after, b.expired)
	return b
}

// CallStarted implements mcp.CallObserver.
func (b *idleBrowser) CallStarted(c mcp.Call) (ended func(mcp.CallOutcome)) {
	b.mu.Lock()
	b.running++
	b.cancel()
	b.mu.Unlock()
	end := b.CallObserver.CallStarted(c)
	return func(o mcp.CallOutcome) {
		end(o)
		b.mu.Lock()
		b.running--
		b.restart()
		b.mu.Unlock()
	}
}

// restart starts the timer again unless a call is running. b.mu must be held.
func (b *idleBrowser) restart() {
	if b.running == 0 && !b.stopped {
		b.timer.Reset(b.after)
	}
}

// expired calls close. A browser that is needed, for example for a download, is tried again later.
func (b *idleBrowser) expired() {
	b.mu.Lock()
	if b.running > 0 || b.stopped {
		b.mu.Unlock()
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	b.cancel = cancel
	b.work.Add(1)
	b.mu.Unlock()
	defer b.work.Done()
	b.close(ctx, b.after)
	cancel()
	b.mu.Lock()
	b.restart()
	b.mu.Unlock()
}

// stop stops the timer, and waits for a call of close.
func (b *idleBrowser) stop() {
	b.mu.Lock()
	b.stopped = true
	b.timer.Stop()
	b.cancel()
	b.mu.Unlock()
	b.work.Wait()
}
