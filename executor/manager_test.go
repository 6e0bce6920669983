package executor_test

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// pair returns both backends. The extension is connected.
func pair() (ext, cdp *fakeBackend) {
	ext = &fakeBackend{kind: executor.BackendExtension, status: executor.Status{Ready: true, Backend: executor.BackendExtension, Detail: "ext's"}}
	ext.connected.Store(true)
	cdp = &fakeBackend{kind: executor.BackendCDP, status: executor.Status{Ready: true, Backend: executor.BackendCDP, Detail: "cdp's"}}
	return ext, cdp
}

func manager(t *testing.T, opts executor.ManagerOptions) *executor.Manager {
	m := executor.NewManager(&opts)
	t.Cleanup(func() { m.Close() })
	return m
}

// TestManagerPassesCalls calls each method of the interface, and checks that the session of the
// selected backend receives its arguments and that the manager returns its result and error.
func TestManagerPassesCalls(t *testing.T) {
	sessionErr := errors.New("of the session")
	for _, method := range methods(t) {
		cdp := &fakeBackend{kind: executor.BackendCDP, do: func(_ context.Context, m string) error {
			if m == "Close" {
				return nil
			}
			return sessionErr
		}}
		m := manager(t, executor.ManagerOptions{CDP: cdp})
		args, result, err := invoke(t, m, method)
		if got := cdp.calls(); !slices.Equal(got, []string{method}) {
			t.Errorf("%s called %q of the session", method, got)
			continue
		}
		call := cdp.opened()[0].last()
		if !reflect.DeepEqual(call.args, args) {
			t.Errorf("%s passed on %v, want %v", method, call.args, args)
		}
		for i, arg := range args { // options must be passed as the same pointer, not as a copy
			if reflect.TypeOf(arg).Kind() == reflect.Pointer && call.args[i] != arg {
				t.Errorf("%s did not pass on argument %d unchanged", method, i)
			}
		}
		if err != sessionErr {
			t.Errorf("%s returned the error %v, want the session's own", method, err)
		}
		if v := reflect.ValueOf(result); v.Kind() == reflect.Pointer && result != call.result {
			t.Errorf("%s returned another result than the session's", method)
		} else if v.Kind() == reflect.Slice && v.Len() != 1 {
			t.Errorf("%s returned %v, want the session's result", method, result)
		}
	}
}

// TestManagerTabOfOtherBackend calls each method that takes a tab with a tab of the backend that is
// not in use.
func TestManagerTabOfOtherBackend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ext, cdp := pair()
		m := manager(t, executor.ManagerOptions{Extension: ext, CDP: cdp})
		tried := 0
		for _, method := range methods(t) {
			typ := reflect.ValueOf(m).MethodByName(method).Type()
			if typ.NumIn() < 2 || typ.In(1) != reflect.TypeFor[executor.TabID]() {
				continue
			}
			tried++
			_, _, err := invoke(t, m, method) // with a tab of cdp
			var e *executor.Error
			if !errors.As(err, &e) || e.Code != executor.ErrStaleTab || e.Hint == "" || e.Op == "" || e.Tab != "cdp:a:1" {
				t.Errorf("%s: %#v, want STALE_TAB with a hint", method, err)
			}
		}
		if tried != 2 {
			t.Errorf("%d methods with a tab, want SelectTab and Page", tried)
		}
		if got := ext.calls(); !slices.Equal(got, []string{"Ping"}) || len(cdp.calls()) > 0 {
			t.Errorf("calls to the extension %q, to cdp %q, want one ping only", got, cdp.calls())
		}
		// The session reports an invalid tab id.
		if _, err := m.Page(t.Context(), "tab 7"); err != nil || ext.count("Page") != 1 {
			t.Errorf("Page with an invalid tab id: %v, calls %q", err, ext.calls())
		}
	})
}

func TestManagerSessions(t *testing.T) {
	ext, cdp := pair()
	gate := executor.GateFunc(func(context.Context, executor.Access) error { return nil })
	log := slog.New(slog.DiscardHandler)
	m := manager(t, executor.ManagerOptions{
		Extension: ext, CDP: cdp, Logger: log,
		Session: executor.SessionOptions{Gate: gate, AfterAction: executor.AfterNone},
	})
	if len(ext.opened())+len(cdp.opened()) > 0 {
		t.Fatal("there are sessions before the first call")
	}
	for range 2 { // twice each
		for _, connected := range []bool{true, false} {
			ext.connected.Store(connected)
			if _, err := m.Tabs(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, b := range []*fakeBackend{ext, cdp} {
		s := b.opened()
		if len(s) != 1 || b.count("Tabs") != 2 {
			t.Fatalf("%s has %d sessions with the calls %q, want one with both calls", b.kind, len(s), b.calls())
		}
		if o := s[0].opts; o.Gate == nil || o.AfterAction != executor.AfterNone || o.Logger != log || o.OnEvent != nil {
			t.Errorf("%s got the options %+v", b.kind, o)
		}
	}
}

// TestManagerEvents lets both sessions emit events concurrently.
func TestManagerEvents(t *testing.T) {
	ext, cdp := pair()
	inside, events := 0, 0 // not locked: the manager must not call OnEvent concurrently, which the race detector checks
	m := manager(t, executor.ManagerOptions{Extension: ext, CDP: cdp, Session: executor.SessionOptions{OnEvent: func(executor.Event) {
		if inside++; inside != 1 {
			t.Error("OnEvent was called while it ran")
		}
		events++
		inside--
	}}})
	for _, connected := range []bool{true, false} {
		ext.connected.Store(connected)
		if err := m.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	for _, b := range []*fakeBackend{ext, cdp} {
		emit := b.opened()[0].opts.OnEvent
		all.Go(func() {
			for range 1000 {
				emit(executor.Event{})
			}
		})
	}
	all.Wait()
	if events != 2000 {
		t.Errorf("%d events arrived, want 2000", events)
	}
}

func TestManagerStatus(t *testing.T) {
	notSetUp := executor.Errorf(executor.ErrNoBackend, "Install it.", "no extension is connected: %w", executor.ErrExtensionNotInstalled)
	launched := executor.Status{Ready: true, Backend: executor.BackendCDP, CDPAttached: true, Detail: "cdp's"}
	for _, c := range []struct {
		name         string
		connected    bool
		answers      bool
		used         bool // after a call
		opts         executor.ManagerOptions
		want         executor.Status
		detail       string // part of Detail
		absent       error
		noCDP, noExt bool
	}{
		{name: "extension", connected: true, answers: true,
			want: executor.Status{Ready: true, Backend: executor.BackendExtension, ExtensionConnected: true, CDPAttached: true, Displaced: true, ActiveTabID: "of the session"}, detail: "ext's"},
		{name: "extension not connected",
			want: executor.Status{Ready: true, Backend: executor.BackendCDP, CDPAttached: true, Displaced: true}, detail: "no extension is connected (Open the Chrome that has it.); cdp's"},
		{name: "extension not installed", absent: notSetUp,
			want: executor.Status{Ready: true, Backend: executor.BackendCDP, CDPAttached: true, Displaced: true}, detail: "no extension is connected: none was set up; cdp's"},
		{name: "extension not installed, no fallback", absent: notSetUp, opts: executor.ManagerOptions{NoCDPFallback: true},
			want: executor.Status{CDPAttached: true, Displaced: true}, detail: "Install it."},
		{name: "extension not connected, after a call", used: true,
			want: executor.Status{Ready: true, Backend: executor.BackendCDP, CDPAttached: true, Displaced: true, ActiveTabID: "of the session"}, detail: "cdp's"},
		{name: "extension does not respond", connected: true,
			want: executor.Status{Ready: true, Backend: executor.BackendCDP, ExtensionConnected: true, CDPAttached: true, Displaced: true}, detail: "does not respond; cdp's"},
		{name: "extension does not respond, prefer cdp", connected: true, opts: executor.ManagerOptions{Prefer: executor.BackendCDP},
			want: executor.Status{Ready: true, Backend: executor.BackendCDP, ExtensionConnected: true, CDPAttached: true, Displaced: true}, detail: "cdp's"},
		{name: "no fallback", opts: executor.ManagerOptions{NoCDPFallback: true},
			want: executor.Status{CDPAttached: true, Displaced: true}, detail: "no extension is connected"},
		{name: "no backends", noCDP: true, noExt: true, detail: "no extension"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ext, cdp := pair()
				ext.connected.Store(c.connected)
				ext.status.Displaced = true
				ext.absent = c.absent
				cdp.status = launched
				ext.do = func(ctx context.Context, method string) error {
					if method == "Ping" && !c.answers {
						<-ctx.Done()
						return ctx.Err()
					}
					return nil
				}
				opts := c.opts
				if !c.noExt {
					opts.Extension = ext
				}
				if !c.noCDP {
					opts.CDP = cdp
				}
				m := manager(t, opts)
				if c.used {
					if err := m.Ready(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				got := m.Status(t.Context())
				detail := got.Detail
				if got.Detail = ""; !reflect.DeepEqual(got, c.want) {
					t.Errorf("Status is\n%+v, want\n%+v", got, c.want)
				}
				if !strings.Contains(detail, c.detail) || (c.name == "extension does not respond, prefer cdp" && detail != c.detail) {
					t.Errorf("the detail is %q, want %q", detail, c.detail)
				}
				if slices.Contains(cdp.calls(), "Ping") {
					t.Errorf("Status called %q of cdp", cdp.calls())
				}
			})
		})
	}
}

func TestManagerClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ext, cdp := pair()
		ended := make(chan struct{})
		cdp.do = func(_ context.Context, method string) error {
			switch method {
			case "Navigate": // runs until its session closes
				<-ended
				return executor.ErrTargetGone
			case "Close":
				time.Sleep(time.Second)
				close(ended)
				return errors.New("close of cdp failed")
			}
			return nil
		}
		m := executor.NewManager(&executor.ManagerOptions{Extension: ext, CDP: cdp})
		if err := m.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		ext.connected.Store(false)
		call := make(chan error, 1)
		go func() {
			_, err := m.Navigate(t.Context(), "https://example.com", nil)
			call <- err
		}()
		synctest.Wait()

		start := time.Now()
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if err := m.Close(); err == nil || !strings.Contains(err.Error(), "close of cdp failed") {
					t.Errorf("Close: %v, want the session's error", err)
				}
				if time.Since(start) != time.Second {
					t.Errorf("Close returned after %v, before the sessions had ended", time.Since(start))
				}
			})
		}
		all.Wait()
		if err := <-call; !errors.Is(err, executor.ErrTargetGone) {
			t.Errorf("the call that ran: %v, want the session's error", err)
		}
		if ext.count("Close") != 1 || cdp.count("Close") != 1 {
			t.Errorf("calls to the extension %q, to cdp %q, want each closed once", ext.calls(), cdp.calls())
		}
		for _, method := range methods(t) {
			if _, _, err := invoke(t, m, method); executor.CodeOf(err) != executor.ErrNoBackend {
				t.Errorf("%s after Close: %v, want NO_BACKEND", method, err)
			}
		}
		if s := m.Status(t.Context()); s.Ready || !strings.Contains(s.Detail, "closed") {
			t.Errorf("Status after Close: %+v", s)
		}
	})
}

// TestManagerCloseWhilePinging closes a manager during a ping of its extension. No session is
// opened afterwards.
func TestManagerCloseWhilePinging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ext, cdp := pair()
		ext.do = func(ctx context.Context, method string) error {
			if method == "Ping" {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		m := executor.NewManager(&executor.ManagerOptions{Extension: ext, CDP: cdp})
		call := make(chan error, 1)
		go func() { call <- m.Ready(t.Context()) }()
		synctest.Wait()
		start := time.Now()
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("Close took %v", took)
		}
		if err := <-call; !errors.Is(err, executor.ErrNoBackend) {
			t.Errorf("the pending call: %v, want NO_BACKEND", err)
		}
		if len(cdp.opened()) > 0 || ext.count("Close") != 1 {
			t.Errorf("%d sessions on cdp, calls to the extension %q", len(cdp.opened()), ext.calls())
		}
	})
}
