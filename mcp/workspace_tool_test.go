package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/chrome-mcp/chrome-mcp/executor"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// callWithoutMCP calls a tool of a workspace without MCP.
func callWithoutMCP(t *testing.T, ws *Workspace, client, tool, args string) *sdk.CallToolResult {
	t.Helper()
	call, err := ws.Tool(tool)
	if err != nil {
		t.Fatal(err)
	}
	return call(t.Context(), client, []byte(args))
}

// openWorkspace opens a workspace of s, without a web server.
func openWorkspace(t *testing.T, s *Server) *Workspace {
	t.Helper()
	ws, err := s.OpenWorkspace(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ws.Close(); err != nil {
			t.Error(err)
		}
	})
	return ws
}

// TestToolSharesLimits checks that a call without MCP is counted with those of the MCP clients of the
// workspace.
func TestToolSharesLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{listTabs: func(context.Context) ([]executor.Tab, error) { return nil, nil }}
		ws := openWorkspace(t, NewServer(f, &Options{CallsPerMinute: 6}))
		runner := ws.runner
		for range 3 {
			for _, res := range []*sdk.CallToolResult{
				callWithoutMCP(t, ws, "http", "tabs_list", ""),
				runner.call(t.Context(), runner.tool("tabs_list"), &sdk.CallToolRequest{Params: &sdk.CallToolParamsRaw{}}),
			} {
				if res.IsError {
					t.Error(textOf(res))
				}
			}
		}
		res := callWithoutMCP(t, ws, "http", "tabs_list", "")
		if e := metaOf(t, res); e.Code != executor.ErrBackpressure || !e.Retryable {
			t.Error(textOf(res))
		}
	})
}

// TestToolCanceled cancels a call without MCP, with its context and with the end of the workspace.
func TestToolCanceled(t *testing.T) {
	for how, want := range map[string]executor.Code{"context": executor.ErrTimeout, "workspace": executor.ErrSessionEnded} {
		t.Run(how, func(t *testing.T) {
			f, started, ended := hangingNavigation()
			ws := openWorkspace(t, NewServer(f, nil))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			stopped := make(chan struct{})
			go func() {
				defer close(stopped)
				<-started
				if how == "context" {
					cancel()
				} else {
					ws.Close()
				}
			}()
			call, err := ws.Tool("navigate")
			if err != nil {
				t.Fatal(err)
			}
			if res := call(ctx, "http", []byte(shopCall)); metaOf(t, res).Code != want {
				t.Error(textOf(res))
			}
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("the executor's context ended with %v", err)
			}
			<-stopped
		})
	}
}

// TestToolAuditClient checks that an entry names the client of its call, also within a batch, and
// that the first client begins the session.
func TestToolAuditClient(t *testing.T) {
	var log memoryRecorder
	names := make(chan string, 2)
	f := &fake{listTabs: func(context.Context) ([]executor.Tab, error) { return nil, nil }}
	ws, url := openHTTP(t, NewServer(f, &Options{Tools: Toolsets(), Audit: &log, OnClient: func(name string) { names <- name }}))
	callWithoutMCP(t, ws, "curl/8.1 "+strings.Repeat("x", maxClient), "batch", `{"calls":[{"tool":"tabs_list"}]}`)
	begun := "curl/8.1 " + strings.Repeat("x", maxClient-len("curl/8.1 ")) + "…"
	callWithoutMCP(t, ws, "http", "tabs_list", "")
	for _, version := range []string{legacy, firstStateless} {
		callTool(t, connectHTTP(t, url, version), "tabs_list", "")
	}
	var got []string
	for _, e := range log.take() {
		got = append(got, fmt.Sprintf("%s %s %s", e.Event, e.Tool, e.Client))
	}
	want := []string{"session  " + begun, "call tabs_list " + begun, "call batch " + begun, "call tabs_list http", "call tabs_list test 1", "call tabs_list test 1"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("entries\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if name := <-names; !strings.HasPrefix(name, "curl/8.1 ") || len(names) != 0 {
		t.Errorf("client %q, %d more calls of OnClient", name, len(names))
	}
}

// TestToolPermissions checks that the extension popup prompts for the calls of a client that can
// show no prompt, and that a call does not use the once grant of another one.
func TestToolPermissions(t *testing.T) {
	h := newPromptFixture(t)
	popup := &fakePopup{answer: func(executor.PermissionPrompt) (executor.PromptAnswer, error) { return executor.AnswerOnce, nil }}
	h.server.opts.Prompter = popup
	ws := openWorkspace(t, h.server)
	revoke, err := h.guard.Grant(h.guard.WithCall(t.Context(), ""), executor.Permission{Kind: executor.PermitSite, Origin: "https://shop.example.com"}, true)
	if err != nil {
		t.Fatal(err)
	}
	defer revoke()
	if res := callWithoutMCP(t, ws, "http", "navigate", shopCall); metaOf(t, res).Code != executor.ErrPolicyDenied || h.navigations.Load() != 0 {
		t.Errorf("with the grant of another call: %s, %d navigations", textOf(res), h.navigations.Load())
	}
	popup.connected = true
	if res := callWithoutMCP(t, ws, "http", "navigate", shopCall); res.IsError || h.navigations.Load() != 1 {
		t.Errorf("after the user's answer: %s, %d navigations", textOf(res), h.navigations.Load())
	}
}
