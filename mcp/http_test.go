package mcp

import (
	"context"
	"errors"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// openHTTP serves a session of s over HTTP and returns its URL.
func openHTTP(t *testing.T, s *Server) (*Workspace, string) {
	t.Helper()
	h, err := s.OpenWorkspace(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(h)
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		web.Close()
	})
	return h, web.URL
}

// connectHTTP connects a client with a protocol version.
func connectHTTP(t *testing.T, url, version string) *sdk.ClientSession {
	t.Helper()
	transport := &sdk.StreamableClientTransport{Endpoint: url, DisableStandaloneSSE: true, MaxRetries: -1}
	cs, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cs.Close() })
	return cs
}

// TestHTTPClientsShareASession connects clients of both protocol generations to one session.
func TestHTTPClientsShareASession(t *testing.T) {
	opened := 0
	closed := make(chan struct{})
	var navigations atomic.Int32
	f := &fake{
		navigate: func(_ context.Context, _ executor.TabID, url string, _ *executor.NavigateOptions) (*executor.Navigation, error) {
			navigations.Add(1)
			return &executor.Navigation{URL: url}, nil
		},
		close: func() error { close(closed); return nil },
	}
	open := func(context.Context) (executor.Executor, error) { opened++; return f, nil }
	h, url := openHTTP(t, NewSessionServer(open, nil))
	for i, version := range []string{legacy, "2025-11-25", firstStateless} {
		cs := connectHTTP(t, url, version)
		if got := cs.InitializeResult().ProtocolVersion; got != version {
			t.Errorf("negotiated %s, want %s", got, version)
		}
		if (cs.ID() == "") != (version == firstStateless) {
			t.Errorf("%s: MCP session id %q", version, cs.ID())
		}
		list, err := cs.ListTools(t.Context(), nil)
		if err != nil || !slices.ContainsFunc(list.Tools, func(tool *sdk.Tool) bool { return tool.Name == "navigate" }) {
			t.Fatalf("%s: tools %v, %v", version, list, err)
		}
		res, err := cs.CallTool(t.Context(), toShop)
		if err != nil || res.IsError || navigations.Load() != int32(i+1) {
			t.Errorf("%s: result %+v, %v after %d navigations", version, res, err, navigations.Load())
		}
		if err := cs.Close(); err != nil {
			t.Error(err)
		}
	}
	if opened != 1 {
		t.Errorf("3 clients opened %d executors", opened)
	}
	select {
	case <-closed:
		t.Error("a client closed the session")
	default:
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	<-closed
	f.close = func() error { return nil } // openHTTP closes the session again
}

// TestWorkspaceCloseEndsCalls closes a session while a call is running.
func TestWorkspaceCloseEndsCalls(t *testing.T) {
	for _, version := range []string{legacy, firstStateless} {
		t.Run(version, func(t *testing.T) {
			f, started, ended := hangingNavigation()
			h, url := openHTTP(t, NewServer(f, nil))
			cs := connectHTTP(t, url, version)
			called := make(chan struct{})
			go func() {
				defer close(called)
				cs.CallTool(t.Context(), toShop)
			}()
			<-started
			if err := h.Close(); err != nil {
				t.Error(err)
			}
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("the executor's context ended with %v", err)
			}
			<-called
		})
	}
}

func TestErrorCode(t *testing.T) {
	f := &fake{navigate: func(context.Context, executor.TabID, string, *executor.NavigateOptions) (*executor.Navigation, error) {
		return nil, executor.Errorf(executor.ErrPolicyDenied, "", "no")
	}}
	_, url := openHTTP(t, NewServer(f, nil))
	cs := connectHTTP(t, url, legacy)
	res, err := cs.CallTool(t.Context(), toShop)
	if err != nil {
		t.Fatal(err)
	}
	if code, ok := ErrorCode(res); !ok || code != executor.ErrPolicyDenied {
		t.Errorf("code %q, %v", code, ok)
	}
	if code, ok := ErrorCode(&sdk.CallToolResult{}); ok {
		t.Errorf("a success has the code %q", code)
	}
}
