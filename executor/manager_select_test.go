package executor_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// reaches calls the manager and returns the backend that received the call.
func reaches(t *testing.T, m *executor.Manager, ext, cdp *fakeBackend) executor.BackendKind {
	t.Helper()
	e, c := ext.count("Tabs"), cdp.count("Tabs")
	if _, err := m.Tabs(t.Context()); err != nil {
		t.Fatal(err)
	}
	switch e, c = ext.count("Tabs")-e, cdp.count("Tabs")-c; {
	case e == 1 && c == 0:
		return executor.BackendExtension
	case e == 0 && c == 1:
		return executor.BackendCDP
	}
	t.Fatalf("one call was %d to the extension and %d to cdp", e, c)
	return ""
}

func TestManagerChooses(t *testing.T) {
	for _, c := range []struct {
		name      string
		opts      executor.ManagerOptions
		without   executor.BackendKind // backend to leave nil
		connected bool
		answers   bool
		want      executor.BackendKind
		text      string // of ErrNoBackend and its hint, if want is empty
		retryable bool
	}{
		{name: "extension", connected: true, answers: true, want: executor.BackendExtension},
		{name: "extension without cdp", without: executor.BackendCDP, connected: true, answers: true, want: executor.BackendExtension},
		{name: "extension not connected", answers: true, want: executor.BackendCDP},
		{name: "extension does not respond", connected: true, want: executor.BackendCDP},
		{name: "no extension", without: executor.BackendExtension, want: executor.BackendCDP},
		{name: "prefer cdp", opts: executor.ManagerOptions{Prefer: executor.BackendCDP}, connected: true, answers: true, want: executor.BackendCDP},
		{name: "prefer cdp, not available", opts: executor.ManagerOptions{Prefer: executor.BackendCDP}, without: executor.BackendCDP, connected: true, answers: true, want: executor.BackendExtension},
		{name: "prefer cdp, fallback disabled", opts: executor.ManagerOptions{Prefer: executor.BackendCDP, NoCDPFallback: true}, connected: true, answers: true, want: executor.BackendExtension},
		{name: "prefer extension", opts: executor.ManagerOptions{Prefer: executor.BackendExtension}, connected: true, answers: true, want: executor.BackendExtension},
		{name: "fallback disabled, extension", opts: executor.ManagerOptions{NoCDPFallback: true}, connected: true, answers: true, want: executor.BackendExtension},
		{name: "fallback disabled, extension not connected", opts: executor.ManagerOptions{NoCDPFallback: true},
			text: "no extension is connected, and the CDP fallback is disabled|Open the Chrome that has it. The user can enable CDP by removing ManagerOptions.NoCDPFallback", retryable: true},
		{name: "fallback disabled, extension does not respond", opts: executor.ManagerOptions{NoCDPFallback: true}, connected: true,
			text: "does not respond|ask the user to restart Chrome. The user can enable CDP by removing ManagerOptions.NoCDPFallback", retryable: true},
		{name: "fallback disabled, no extension", opts: executor.ManagerOptions{NoCDPFallback: true}, without: executor.BackendExtension,
			text: "no extension backend configured, and the CDP fallback is disabled|The user can enable CDP by removing ManagerOptions.NoCDPFallback"},
		{name: "no cdp, extension not connected", without: executor.BackendCDP, text: "no extension is connected|Open the Chrome that has it.", retryable: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ext, cdp := pair()
				ext.connected.Store(c.connected)
				ext.do = func(_ context.Context, method string) error {
					if method == "Ping" && !c.answers {
						return errors.New("no response")
					}
					return nil
				}
				opts := c.opts
				if c.without != executor.BackendExtension {
					opts.Extension = ext
				}
				if c.without != executor.BackendCDP {
					opts.CDP = cdp
				}
				m := manager(t, opts)
				if c.want != "" {
					if got := reaches(t, m, ext, cdp); got != c.want {
						t.Errorf("the call went to %s, want %s", got, c.want)
					}
					return
				}
				_, err := m.Page(t.Context(), "")
				var e *executor.Error
				if !errors.As(err, &e) || e.Code != executor.ErrNoBackend || e.Op != "page" || e.Retryable != c.retryable {
					t.Fatalf("the call returned %#v, want NO_BACKEND", err)
				}
				message, hint, _ := strings.Cut(c.text, "|")
				if !strings.Contains(e.Message(), message) || !strings.Contains(e.Hint, hint) {
					t.Errorf("the call returned %q, hint %q, want %q", e.Message(), e.Hint, c.text)
				}
				if len(cdp.opened()) > 0 {
					t.Error("cdp has a session")
				}
			})
		})
	}
	_, err := manager(t, executor.ManagerOptions{}).Tabs(t.Context())
	if !errors.Is(err, executor.ErrNoBackend) || !strings.Contains(err.Error(), "no extension") {
		t.Errorf("a manager without backends: %v", err)
	}
}

// TestManagerPingsOnce checks that calls within two seconds share one ping, regardless of its
// result, and that an extension that is not connected is not pinged.
func TestManagerPingsOnce(t *testing.T) {
	for _, answers := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			ext, cdp := pair()
			ext.do = func(ctx context.Context, method string) error {
				if method == "Ping" && !answers {
					<-ctx.Done()
					return ctx.Err()
				}
				return nil
			}
			m := manager(t, executor.ManagerOptions{Extension: ext, CDP: cdp})
			want, wait := executor.BackendExtension, time.Duration(0)
			if !answers {
				want, wait = executor.BackendCDP, 800*time.Millisecond
			}
			for round := 1; round <= 3; round++ {
				start := time.Now()
				for i := range 4 {
					if got := reaches(t, m, ext, cdp); got != want {
						t.Errorf("with answers %v the call went to %s", answers, got)
					}
					if i == 0 && time.Since(start) != wait {
						t.Errorf("with answers %v the first call took %v, want %v", answers, time.Since(start), wait)
					}
					time.Sleep(499 * time.Millisecond) // 1996 ms in all
				}
				if n := ext.count("Ping"); n != round {
					t.Fatalf("with answers %v there were %d pings after %d rounds", answers, n, round)
				}
				time.Sleep(4 * time.Millisecond)
			}
			ext.connected.Store(false)
			if got := reaches(t, m, ext, cdp); got != executor.BackendCDP || ext.count("Ping") != 3 {
				t.Errorf("not connected: the call went to %s after %d pings", got, ext.count("Ping"))
			}
		})
	}
}

// TestManagerLateExtension connects, disconnects and reconnects an extension. Each time the next
// call uses the right backend, regardless of the time since the last ping.
func TestManagerLateExtension(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ext, cdp := pair()
		ext.connected.Store(false)
		var mute atomic.Bool
		ext.do = func(_ context.Context, method string) error {
			if method == "Ping" && mute.Load() {
				return errors.New("no response")
			}
			return nil
		}
		m := manager(t, executor.ManagerOptions{Extension: ext, CDP: cdp})
		for i, step := range []struct {
			connected, mute bool
			want            executor.BackendKind
		}{
			{false, false, executor.BackendCDP},
			{true, false, executor.BackendExtension},
			{false, false, executor.BackendCDP},
			{true, true, executor.BackendCDP},
			{false, false, executor.BackendCDP},
			{true, false, executor.BackendExtension},
		} {
			ext.connected.Store(step.connected)
			mute.Store(step.mute)
			if got := reaches(t, m, ext, cdp); got != step.want {
				t.Errorf("step %d went to %s, want %s", i, got, step.want)
			}
		}
	})
}

// TestManagerSharesPing lets several calls wait for one ping. The first call is canceled during the
// ping.
func TestManagerSharesPing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ext, cdp := pair()
		ext.do = func(ctx context.Context, method string) error {
			if method == "Ping" {
				select {
				case <-time.After(500 * time.Millisecond):
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return nil
		}
		m := manager(t, executor.ManagerOptions{Extension: ext, CDP: cdp})
		start := time.Now()
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("canceled by the client")
		first := make(chan error, 1)
		go func() {
			err := m.Ready(ctx)
			if time.Since(start) != 100*time.Millisecond {
				t.Errorf("the canceled call returned after %v", time.Since(start))
			}
			first <- err
		}()
		synctest.Wait()
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if _, err := m.Tabs(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(100 * time.Millisecond)
		cancel(why)
		if err := <-first; !errors.Is(err, executor.ErrTimeout) || !errors.Is(err, why) {
			t.Errorf("the canceled call: %v, want TIMEOUT with its cause", err)
		}
		all.Wait()
		if took := time.Since(start); took != 500*time.Millisecond {
			t.Errorf("the calls took %v", took)
		}
		if ext.count("Ping") != 1 || ext.count("Tabs") != 10 || ext.count("Ready") != 0 || len(cdp.opened()) > 0 {
			t.Errorf("calls to the extension %q, sessions on cdp %d", ext.calls(), len(cdp.opened()))
		}
	})
}

// TestManagerPingTimeout uses a ping that ignores its deadline. Calls continue without it.
func TestManagerPingTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ext, cdp := pair()
		release := make(chan struct{})
		ext.do = func(_ context.Context, method string) error {
			if method == "Ping" {
				<-release
			}
			return nil
		}
		m := manager(t, executor.ManagerOptions{Extension: ext, CDP: cdp})
		start := time.Now()
		for range 3 {
			if got := reaches(t, m, ext, cdp); got != executor.BackendCDP {
				t.Errorf("the call went to %s", got)
			}
		}
		if took := time.Since(start); took != 800*time.Millisecond {
			t.Errorf("three calls took %v", took)
		}
		close(release)
		synctest.Wait()
		if got := reaches(t, m, ext, cdp); got != executor.BackendExtension {
			t.Errorf("after the answer the call went to %s", got)
		}
	})
}

// TestManagerDoesNotMigrate disconnects the extension during a call.
func TestManagerDoesNotMigrate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ext, cdp := pair()
		ext.do = func(_ context.Context, method string) error {
			if method == "Click" {
				ext.connected.Store(false)
				return executor.ErrExtensionDisconnected
			}
			return nil
		}
		m := manager(t, executor.ManagerOptions{Extension: ext, CDP: cdp})
		page, err := m.Page(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		_, err = page.Click(t.Context(), executor.Target{Ref: "e1"}, nil)
		if !errors.Is(err, executor.ErrExtensionDisconnected) || len(cdp.opened()) > 0 {
			t.Errorf("the call: %v; sessions on cdp: %d", err, len(cdp.opened()))
		}
		if got := reaches(t, m, ext, cdp); got != executor.BackendCDP {
			t.Errorf("the next call went to %s", got)
		}
	})
}

// TestManagerSessionFails uses backends that cannot open a session.
func TestManagerSessionFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ext, cdp := pair()
		closed := executor.Errorf(executor.ErrNoBackend, "", "the backend is closed")
		ext.newErr = closed
		m := manager(t, executor.ManagerOptions{Extension: ext, CDP: cdp})
		if got := reaches(t, m, ext, cdp); got != executor.BackendCDP {
			t.Errorf("the call went to %s", got)
		}
		ext, cdp = pair()
		ext.connected.Store(false)
		cdp.newErr = closed
		m = manager(t, executor.ManagerOptions{Extension: ext, CDP: cdp})
		if _, err := m.Tabs(t.Context()); !errors.Is(err, executor.ErrNoBackend) || !strings.Contains(err.Error(), "is closed") {
			t.Errorf("the call: %v, want the backend's reason", err)
		}
		cdp.newErr = nil // a failed attempt is not stored
		if got := reaches(t, m, ext, cdp); got != executor.BackendCDP {
			t.Errorf("the call went to %s", got)
		}
	})
}
