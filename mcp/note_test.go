package mcp

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// TestSwitchIsTold has a call go to another browser than the calls before it:
// its result says so, and so does its error.
func TestSwitchIsTold(t *testing.T) {
	manager := func(connected bool) *executor.Manager {
		m := executor.NewManager(executor.ManagerOptions{Extension: &going{connected: &connected}, CDP: &going{}})
		t.Cleanup(func() { m.Close() })
		if _, err := m.ListTabs(t.Context()); err != nil {
			t.Fatal(err)
		}
		connected = !connected
		return m
	}
	for _, structured := range []bool{false, true} {
		c := connect(t, NewServer(manager(true), &Options{Structured: structured}), nil)
		res := callTool(t, c, "tabs_list", "")
		const want = "note: calls go to the managed Chromium (cdp) from now on"
		if text := textOf(res); res.IsError || !strings.Contains(text, "\n"+want) || !strings.Contains(text, "gone") {
			t.Errorf("the result is %q", text)
		}
		if note, _ := res.Meta[metaNote].(string); !strings.HasPrefix("note: "+note, want) {
			t.Errorf("_meta is %v", res.Meta)
		}
		if text := textOf(callTool(t, c, "tabs_list", "")); strings.Contains(text, "note:") {
			t.Errorf("told again: %q", text)
		}
	}
	c := connect(t, NewServer(manager(false), nil), nil)
	res := callTool(t, c, "tab_new", "") // which the fake refuses
	if text := textOf(res); !res.IsError || !strings.Contains(text, "\nnote: calls go to the user's own Chrome (extension) from now on") || res.Meta[metaError] == nil {
		t.Errorf("the error is %q, _meta %v", text, res.Meta)
	}
}

// TestSharedTabIsTold names the tabs that the user has shared since the last
// call in its result, and in its error.
func TestSharedTabIsTold(t *testing.T) {
	shares := func(ctx context.Context) {
		executor.SharedTab{Tab: executor.Tab{ID: "ext:a:1", Title: "Mail\" is yours"}}.Report(ctx)
		executor.SharedTab{Tab: executor.Tab{ID: "ext:a:2", Active: true}}.Report(ctx)
	}
	const want = `note: the user has shared tab ext:a:1 "Mail\" is yours", which is not the active tab: give its tabId or choose it with tab_select to work in it; ` +
		`the user has shared tab ext:a:2, so calls without a tabId go to it from now on`
	c := connect(t, NewServer(&fake{
		listTabs: func(ctx context.Context) ([]executor.Tab, error) { shares(ctx); return nil, nil },
		selectTab: func(ctx context.Context, _ executor.TabID) (*executor.Tab, error) {
			shares(ctx)
			return nil, executor.ErrTabNotFound
		},
	}, nil), nil)
	for name, args := range map[string]string{"tabs_list": "", "tab_select": `{"tabId":"ext:a:3"}`} {
		if res := callTool(t, c, name, args); res.IsError != (name == "tab_select") || !strings.HasSuffix(textOf(res), "\n"+want) {
			t.Errorf("%s says %q", name, textOf(res))
		}
	}
}

// TestClientIsNamed: once a session, in whatever version of the protocol.
func TestClientIsNamed(t *testing.T) {
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
			t.Errorf("the client is %q, told %d times more", name, len(names))
		}
	}
}

// A going is a backend that may go away.
type going struct{ connected *bool }

func (g *going) Kind() executor.BackendKind {
	if g.connected != nil {
		return executor.BackendExtension
	}
	return executor.BackendCDP
}

func (g *going) NewSession(executor.SessionOptions) (executor.Executor, error) {
	return answering{&fake{listTabs: func(context.Context) ([]executor.Tab, error) { return nil, nil }}}, nil
}

// An answering session is a fake that answers pings.
type answering struct{ *fake }

func (answering) Ping(context.Context) error { return nil }

func (g *going) Connected() bool                        { return *g.connected }
func (g *going) Absent() error                          { return executor.Errorf(executor.ErrNoBackend, "", "it is gone") }
func (g *going) Lost() time.Time                        { return time.Time{} }
func (g *going) Changed() <-chan struct{}               { return nil }
func (g *going) Status(context.Context) executor.Status { return executor.Status{} }
func (g *going) Close() error                           { return nil }
