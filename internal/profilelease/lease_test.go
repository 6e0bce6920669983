package profilelease

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// A lockedBackend is a backend whose profile another process uses until a time.
type lockedBackend struct {
	executor.Backend
	until time.Time
}

func (b *lockedBackend) NewSession(*executor.SessionOptions) (executor.Executor, error) {
	return lockedExecutor{b: b}, nil
}

type lockedExecutor struct {
	executor.Executor
	b *lockedBackend
}

func (e lockedExecutor) Ready(context.Context) error {
	if time.Now().Before(e.b.until) {
		return executor.Errorf(executor.ErrLaunchFailed, "End that process.", "profile /p %w by process 7", chromium.ErrProfileInUse)
	}
	return nil
}

// executor returns an executor of l on b.
func (l *Lease) executor(t *testing.T, b executor.Backend) executor.Executor {
	t.Helper()
	ex, err := l.Wrap(b, "work").NewSession(&executor.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return ex
}

// wantInUse checks that a call fails after Timing.ProfileInUse because the profile is in use.
func wantInUse(t *testing.T, ex executor.Executor, text, hint string) {
	t.Helper()
	start := time.Now()
	_, err := ex.Page(t.Context(), "")
	e, ok := errors.AsType[*executor.Error](err)
	if !ok || e.Code != executor.ErrBackpressure || !e.Retryable || !strings.Contains(e.Message(), text) || !strings.Contains(e.Hint, hint) {
		t.Errorf("error %+v, want %q, %q", e, text, hint)
	}
	if wait, d := timing.Default().ProfileInUse, time.Since(start); d < wait || d > wait+poll {
		t.Errorf("it waited %v", d)
	}
}

func TestProfileLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leases := New()
		free := &lockedBackend{}
		a, b, foreign := leases.Lease("", "a"), leases.Lease("", "b"), leases.Lease("ann", "a")
		for range 2 {
			if err := a.executor(t, free).Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		wantInUse(t, b.executor(t, free), `profile work is in use by session "a"`, `close that session`)
		wantInUse(t, foreign.executor(t, free), "profile work is in use by another session", "Use another Options.Profile.")
		time.AfterFunc(time.Second, a.Release)
		start := time.Now()
		if err := b.executor(t, free).Ready(t.Context()); err != nil || time.Since(start) != time.Second {
			t.Errorf("after the release: %v, after %v", err, time.Since(start))
		}
		b.Release()

		locked := &lockedBackend{until: time.Now().Add(time.Minute)}
		wantInUse(t, a.executor(t, locked), "is in use by process 7", "End that process.")
		locked.until = time.Now().Add(time.Second)
		if err := a.executor(t, locked).Ready(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A slowBackend is a backend whose browser starts when the test sends a result.
type slowBackend struct {
	executor.Backend
	start chan error // each value ends one Ready call
}

func (b *slowBackend) NewSession(*executor.SessionOptions) (executor.Executor, error) {
	return slowExecutor{b: b}, nil
}

type slowExecutor struct {
	executor.Executor
	b *slowBackend
}

func (e slowExecutor) Ready(context.Context) error { return <-e.b.start }

// TestProfileLeaseOfParallelCalls starts a browser with several calls of one session, of which some
// fail. The session holds the profile while one of them may succeed, and after one has.
func TestProfileLeaseOfParallelCalls(t *testing.T) {
	failed := errors.New("it did not start")
	for _, tt := range []struct {
		name    string
		results []error
		held    bool // after all of them
	}{
		{"one", []error{failed}, false},
		{"all fail", []error{failed, failed, failed}, false},
		{"failure before success", []error{failed, nil}, true},
		{"success before failure", []error{nil, failed}, true},
		{"success between failures", []error{failed, nil, failed}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				leases := New()
				slow := &slowBackend{start: make(chan error)}
				a, b := leases.Lease("", "a"), leases.Lease("", "b")
				free := b.executor(t, &lockedBackend{})
				ready := make(chan error)
				ex := a.executor(t, slow)
				for range tt.results {
					go func() { ready <- ex.Ready(t.Context()) }()
				}
				synctest.Wait()
				for i, result := range tt.results {
					wantInUse(t, free, `profile work is in use by session "a"`, "")
					slow.start <- result
					if err := <-ready; err != result {
						t.Errorf("call %d: %v", i, err)
					}
				}
				if tt.held {
					wantInUse(t, free, `profile work is in use by session "a"`, "")
				} else if err := free.Ready(t.Context()); err != nil {
					t.Errorf("after the failure of another session: %v", err)
				}
				a.Release()
				b.Release()
				go func() { slow.start <- failed }() // a late call
				if err := ex.Ready(t.Context()); err != failed {
					t.Error(err)
				}
				if err := free.Ready(t.Context()); err != nil {
					t.Errorf("afterwards: %v", err)
				}
			})
		})
	}
}
