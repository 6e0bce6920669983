package mcp

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// TestBackendSwitchReported checks that the result of the first call after a backend switch has a
// note about it, also if the call fails.
func TestBackendSwitchReported(t *testing.T) {
	manager := func(connected bool) *executor.Manager {
		m := executor.NewManager(executor.ManagerOptions{Extension: &fakeBackend{connected: &connected}, CDP: &fakeBackend{}})
		t.Cleanup(func() { m.Close() })
		if _, err := m.Tabs(t.Context()); err != nil {
			t.Fatal(err)
		}
		connected = !connected
		return m
	}
	for _, structured := range []bool{false, true} {
		c := connect(t, NewServer(manager(true), &Options{Structured: structured}), nil)
		res := callTool(t, c, "tabs_list", "")
		const want = "note: calls now use the managed Chromium (cdp)"
		if text := textOf(res); res.IsError || !strings.Contains(text, "\n"+want) || !strings.Contains(text, "disconnected") {
			t.Errorf("the result is %q", text)
		}
		if note, _ := res.Meta[metaNote].(string); !strings.HasPrefix("note: "+note, want) {
			t.Errorf("_meta is %v", res.Meta)
		}
		if text := textOf(callTool(t, c, "tabs_list", "")); strings.Contains(text, "note:") {
			t.Errorf("reported twice: %q", text)
		}
	}
	c := connect(t, NewServer(manager(false), nil), nil)
	res := callTool(t, c, "tab_new", "") // the fake returns an error
	if text := textOf(res); !res.IsError || !strings.Contains(text, "\nnote: calls now use the user's own Chrome (extension)") || res.Meta[metaError] == nil {
		t.Errorf("the error is %q, _meta %v", text, res.Meta)
	}
}

// TestSharedTabReported checks that the result of a call has a note about the tabs that the user
// has shared since the last call, also if the call fails.
func TestSharedTabReported(t *testing.T) {
	shares := func(ctx context.Context) {
		executor.SharedTab{Tab: executor.Tab{ID: "ext:a:1", Title: "Mail\" is yours"}}.Report(ctx)
		executor.SharedTab{Tab: executor.Tab{ID: "ext:a:2", Active: true}}.Report(ctx)
	}
	const want = `note: the user has shared tab ext:a:1 "Mail\" is yours", which is not the active tab; pass its tabId or select it with tab_select to use it; ` +
		`the user has shared tab ext:a:2; it is now the active tab`
	c := connect(t, NewServer(&fake{
		listTabs: func(ctx context.Context) ([]executor.Tab, error) { shares(ctx); return nil, nil },
		selectTab: func(ctx context.Context, _ executor.TabID) (*executor.Tab, error) {
			shares(ctx)
			return nil, executor.ErrTabNotFound
		},
	}, nil), nil)
	for name, args := range map[string]string{"tabs_list": "", "tab_select": `{"tabId":"ext:a:3"}`} {
		if res := callTool(t, c, name, args); res.IsError != (name == "tab_select") || !strings.HasSuffix(textOf(res), "\n"+want) {
			t.Errorf("%s: %q", name, textOf(res))
		}
	}
}

// TestOnClientCalledOnce checks that OnClient is called once per session.
func TestOnClientCalledOnce(t *testing.T) {
	names := make(chan string, 10)
	server := NewServer(&fake{}, &Options{OnClient: func(name string) { names <- name }})
	for range 2 {
		c := connect(t, server, nil)
		for range 2 {
			if _, err := c.ListTools(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
		}
		if name := <-names; name != "test" || len(names) != 0 {
			t.Errorf("client %q, %d more calls of OnClient", name, len(names))
		}
	}
}

// A fakeBackend is a backend that can disconnect if connected is not nil.
type fakeBackend struct{ connected *bool }

func (b *fakeBackend) Kind() executor.BackendKind {
	if b.connected != nil {
		return executor.BackendExtension
	}
	return executor.BackendCDP
}

func (b *fakeBackend) NewSession(executor.SessionOptions) (executor.Executor, error) {
	return pingable{&fake{listTabs: func(context.Context) ([]executor.Tab, error) { return nil, nil }}}, nil
}

// A pingable is a fake that responds to pings.
type pingable struct{ *fake }

func (pingable) Ping(context.Context) error { return nil }

func (b *fakeBackend) Connected() bool { return *b.connected }
func (b *fakeBackend) DisconnectedError() error {
	return executor.Errorf(executor.ErrNoBackend, "", "the extension disconnected")
}
func (b *fakeBackend) LastDisconnect() time.Time              { return time.Time{} }
func (b *fakeBackend) Changed() <-chan struct{}               { return nil }
func (b *fakeBackend) Status(context.Context) executor.Status { return executor.Status{} }
func (b *fakeBackend) Close() error                           { return nil }
