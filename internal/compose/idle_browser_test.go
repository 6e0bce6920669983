package compose

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chrome-mcp/chrome-mcp/mcp"
)

// noObserver ignores all calls.
type noObserver struct{}

func (noObserver) CallStarted(mcp.Call) func(mcp.CallOutcome) { return func(mcp.CallOutcome) {} }

func TestIdleBrowserTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const after = 10 * time.Minute
		start := time.Now()
		var mu sync.Mutex // guards the variables below
		var closed []time.Duration
		var during func(context.Context) // runs while the browsers are being closed
		set := func(f func(context.Context)) {
			mu.Lock()
			during = f
			mu.Unlock()
		}
		b := newIdleBrowser(noObserver{}, after, func(ctx context.Context, d time.Duration) {
			if d != after {
				t.Errorf("close is called with %v", d)
			}
			mu.Lock()
			closed = append(closed, time.Since(start))
			f := during
			mu.Unlock()
			if f != nil {
				f(ctx)
			}
		})
		wants := func(what string, want ...time.Duration) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if fmt.Sprint(closed) != fmt.Sprint(want) {
				t.Errorf("%s: closed at %v, want %v", what, closed, want)
			}
			closed = nil
		}
		time.Sleep(8 * time.Minute)
		first := b.CallStarted(mcp.Call{})
		second := b.CallStarted(mcp.Call{})
		time.Sleep(time.Hour)
		first(mcp.CallOutcome{})
		time.Sleep(time.Hour)
		wants("calls are running")
		second(mcp.CallOutcome{})
		time.Sleep(25 * time.Minute)
		wants("calls have ended", 2*time.Hour+18*time.Minute, 2*time.Hour+28*time.Minute)

		set(func(ctx context.Context) {
			ended := b.CallStarted(mcp.Call{})
			if ctx.Err() == nil {
				t.Error("a call has started, and the browser is still being closed")
			}
			ended(mcp.CallOutcome{})
		})
		time.Sleep(9 * time.Minute)
		wants("a call starts during close", 2*time.Hour+38*time.Minute)

		stopping := make(chan struct{})
		set(func(ctx context.Context) { <-ctx.Done(); close(stopping) })
		time.Sleep(7 * time.Minute)
		b.stop()
		select {
		case <-stopping:
		default:
			t.Error("stop did not wait")
		}
		wants("it is being stopped", 2*time.Hour+48*time.Minute)
		b.CallStarted(mcp.Call{})(mcp.CallOutcome{})
		time.Sleep(time.Hour)
		wants("it is stopped")
	})
}
