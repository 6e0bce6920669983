package executor_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// TestManagerSwitch disconnects and reconnects the extension. A call that does not name its tab is
// rejected until another call has reported the backend switch, which happens once.
func TestManagerSwitch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ext, cdp := pair()
		m := manager(t, executor.ManagerOptions{Extension: ext, CDP: cdp})
		var switches []executor.BackendSwitch
		ctx := executor.WithCallOptions(t.Context(), executor.CallOptions{OnSwitch: func(s executor.BackendSwitch) { switches = append(switches, s) }})
		click := func() error {
			page, err := m.Page(ctx, "")
			if err != nil {
				return err
			}
			_, err = page.Click(ctx, executor.Target{Ref: "e1"}, nil)
			return err
		}
		if err := click(); err != nil || len(switches) != 0 {
			t.Fatalf("the first call: %v, switches %v", err, switches)
		}

		ext.connected.Store(false)
		for range 2 {
			var e *executor.Error
			err := click()
			if !errors.As(err, &e) || e.Code != executor.ErrStaleTab || e.Op != "page" || e.Hint == "" ||
				!strings.Contains(e.Message(), "user's own Chrome") || !strings.Contains(e.Message(), "no extension is connected") {
				t.Fatalf("a click intended for the other browser: %#v", err)
			}
		}
		if len(cdp.calls()) != 0 || len(switches) != 0 {
			t.Fatalf("calls to cdp %q, switches %v", cdp.calls(), switches)
		}
		if _, err := m.Navigate(ctx, "https://example.com/", nil); err != nil {
			t.Fatal(err)
		}
		if len(switches) != 1 || switches[0].From != executor.BackendExtension || switches[0].To != executor.BackendCDP || !errors.Is(switches[0].Reason, executor.ErrNoBackend) {
			t.Fatalf("switches %v", switches)
		}
		if text := switches[0].String(); !strings.Contains(text, "calls now use the managed or attached browser (cdp)") || !strings.Contains(text, "no extension is connected (Open the Chrome that has it.)") {
			t.Errorf("switch %q", text)
		}
		if err := click(); err != nil || cdp.count("Click") != 1 || len(switches) != 1 {
			t.Fatalf("a click after it: %v, switches %v", err, switches)
		}

		ext.connected.Store(true)
		if err := click(); !errors.Is(err, executor.ErrStaleTab) {
			t.Fatalf("a click after the extension is back: %v", err)
		}
		if _, err := m.SelectTab(ctx, "ext:a:1"); err != nil {
			t.Fatal(err)
		}
		if len(switches) != 2 || switches[1].To != executor.BackendExtension || switches[1].Reason != nil || !strings.Contains(switches[1].String(), "the extension is connected") {
			t.Fatalf("switches %v", switches)
		}
		if err := click(); err != nil || ext.count("Click") != 2 {
			t.Errorf("a click after it: %v", err)
		}
		// An observer is optional.
		ext.connected.Store(false)
		if _, err := m.Tabs(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// TestManagerWaitsForReconnect checks how long a call waits for an extension that has just
// disconnected.
func TestManagerWaitsForReconnect(t *testing.T) {
	for _, c := range []struct {
		name         string
		since        time.Duration // time since it disconnected
		back         time.Duration // time until it reconnects; 0 means never
		want         executor.BackendKind
		takes, limit time.Duration
	}{
		{name: "reconnects", since: 300 * time.Millisecond, back: 200 * time.Millisecond, want: executor.BackendExtension, takes: 200 * time.Millisecond},
		{name: "does not reconnect", since: 300 * time.Millisecond, want: executor.BackendCDP, takes: 300 * time.Millisecond},
		{name: "disconnected long ago", since: 2 * time.Second, back: 200 * time.Millisecond, want: executor.BackendCDP},
		{name: "call times out first", since: 300 * time.Millisecond, limit: 100 * time.Millisecond, takes: 100 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ext, cdp := pair()
				ext.connected.Store(false)
				ext.changed = make(chan struct{})
				ext.lost.Store(time.Now().Add(-c.since).UnixMilli())
				if c.back > 0 {
					time.AfterFunc(c.back, func() {
						ext.connected.Store(true)
						close(ext.changed)
					})
				}
				m := manager(t, executor.ManagerOptions{Extension: ext, CDP: cdp})
				start := time.Now()
				if s := m.Status(t.Context()); s.Backend != executor.BackendCDP || time.Since(start) != 0 {
					t.Errorf("the status after %v: %+v", time.Since(start), s)
				}
				if c.limit > 0 {
					ctx, cancel := context.WithTimeout(t.Context(), c.limit)
					defer cancel()
					if _, err := m.Tabs(ctx); !errors.Is(err, executor.ErrTimeout) {
						t.Errorf("the call returned %v", err)
					}
				} else if got := reaches(t, m, ext, cdp); got != c.want {
					t.Errorf("the call went to %s", got)
				}
				if took := time.Since(start); took != c.takes {
					t.Errorf("the call took %v, want %v", took, c.takes)
				}
				time.Sleep(c.back) // let the timer goroutine finish
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ext, cdp := pair()
		ext.connected.Store(false)
		ext.lost.Store(time.Now().UnixMilli())
		m := executor.NewManager(&executor.ManagerOptions{Extension: ext, CDP: cdp})
		call := make(chan error, 1)
		go func() { call <- m.Ready(t.Context()) }()
		synctest.Wait()
		start := time.Now()
		m.Close()
		if err := <-call; !errors.Is(err, executor.ErrNoBackend) || time.Since(start) != 0 {
			t.Errorf("the call that waited: %v after %v", err, time.Since(start))
		}
	})
}
