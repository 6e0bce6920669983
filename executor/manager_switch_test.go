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

// TestManagerSwitch lets the extension go and come back: a call that means a
// tab without naming it is refused until the client knows, and the call that
// lets it know is told, once.
func TestManagerSwitch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ext, cdp := pair()
		m := manager(t, executor.ManagerOptions{Extension: ext, CDP: cdp})
		var told []executor.Switch
		ctx := executor.WithSwitch(t.Context(), func(s executor.Switch) { told = append(told, s) })
		click := func() error {
			_, err := m.Click(ctx, "", executor.Target{Ref: "e1"}, nil)
			return err
		}
		if err := click(); err != nil || len(told) != 0 {
			t.Fatalf("the first call: %v, told %v", err, told)
		}

		ext.connected.Store(false)
		for range 2 {
			var e *executor.Error
			err := click()
			if !errors.As(err, &e) || e.Code != executor.ErrStaleTab || e.Op != "click" || e.Hint == "" ||
				!strings.Contains(e.Message(), "user's own Chrome") || !strings.Contains(e.Message(), "no extension is connected") {
				t.Fatalf("a click that was meant for the other browser: %#v", err)
			}
		}
		if len(cdp.calls()) != 0 || len(told) != 0 {
			t.Fatalf("calls to cdp %q, told %v", cdp.calls(), told)
		}
		if _, err := m.Navigate(ctx, "", "https://example.com/", nil); err != nil {
			t.Fatal(err)
		}
		if len(told) != 1 || told[0].From != executor.BackendExtension || told[0].To != executor.BackendCDP || !errors.Is(told[0].Reason, executor.ErrNoBackend) {
			t.Fatalf("told %v", told)
		}
		if text := told[0].String(); !strings.Contains(text, "managed Chromium (cdp) from now on") || !strings.Contains(text, "no extension is connected (Open the Chrome that has it.)") {
			t.Errorf("told %q", text)
		}
		if err := click(); err != nil || cdp.count("Click") != 1 || len(told) != 1 {
			t.Fatalf("a click after it: %v, told %v", err, told)
		}

		ext.connected.Store(true)
		if err := click(); !errors.Is(err, executor.ErrStaleTab) {
			t.Fatalf("a click after the extension is back: %v", err)
		}
		if _, err := m.SelectTab(ctx, "ext:a:1"); err != nil {
			t.Fatal(err)
		}
		if len(told) != 2 || told[1].To != executor.BackendExtension || told[1].Reason != nil || !strings.Contains(told[1].String(), "the extension is connected") {
			t.Fatalf("told %v", told)
		}
		if err := click(); err != nil || ext.count("Click") != 2 {
			t.Errorf("a click after it: %v", err)
		}
		// Nobody has to listen.
		ext.connected.Store(false)
		if _, err := m.ListTabs(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// TestManagerAwaitsReturn: an extension that was lost a moment ago may come
// back.
func TestManagerAwaitsReturn(t *testing.T) {
	for _, c := range []struct {
		name         string
		since        time.Duration // it was lost
		back         time.Duration // until it is back; 0 for never
		want         executor.BackendKind
		takes, limit time.Duration
	}{
		{name: "comes back", since: 300 * time.Millisecond, back: 200 * time.Millisecond, want: executor.BackendExtension, takes: 200 * time.Millisecond},
		{name: "does not", since: 300 * time.Millisecond, want: executor.BackendCDP, takes: 300 * time.Millisecond},
		{name: "lost long ago", since: 2 * time.Second, back: 200 * time.Millisecond, want: executor.BackendCDP},
		{name: "the call ends first", since: 300 * time.Millisecond, limit: 100 * time.Millisecond, takes: 100 * time.Millisecond},
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
				begin := time.Now()
				if s := m.Status(t.Context()); s.Backend != executor.BackendCDP || time.Since(begin) != 0 {
					t.Errorf("the status after %v: %+v", time.Since(begin), s)
				}
				if c.limit > 0 {
					ctx, cancel := context.WithTimeout(t.Context(), c.limit)
					defer cancel()
					if _, err := m.ListTabs(ctx); !errors.Is(err, executor.ErrTimeout) {
						t.Errorf("the call returned %v", err)
					}
				} else if got := reaches(t, m, ext, cdp); got != c.want {
					t.Errorf("the call went to %s", got)
				}
				if took := time.Since(begin); took != c.takes {
					t.Errorf("the call took %v, want %v", took, c.takes)
				}
				time.Sleep(c.back) // nobody is left in the bubble
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ext, cdp := pair()
		ext.connected.Store(false)
		ext.lost.Store(time.Now().UnixMilli())
		m := executor.NewManager(executor.ManagerOptions{Extension: ext, CDP: cdp})
		call := make(chan error, 1)
		go func() { call <- m.Ready(t.Context()) }()
		synctest.Wait()
		begin := time.Now()
		m.Close()
		if err := <-call; !errors.Is(err, executor.ErrNoBackend) || time.Since(begin) != 0 {
			t.Errorf("the call that waited: %v after %v", err, time.Since(begin))
		}
	})
}
