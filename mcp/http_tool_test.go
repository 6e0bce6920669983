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

// callWithoutMCP calls a tool of a session without MCP.
func callWithoutMCP(t *testing.T, h *HTTPSession, client, tool, args string) *sdk.CallToolResult {
	t.Helper()
	call, err := h.Tool(tool)
	if err != nil {
		t.Fatal(err)
	}
	return call(t.Context(), client, []byte(args))
}

// openSession opens a session of s, without a web server.
func openSession(t *testing.T, s *Server) *HTTPSession {
	t.Helper()
	h, err := s.OpenHTTP(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// TestToolSharesLimits checks that a call without MCP is counted with those of the MCP clients of the
// session.
func TestToolSharesLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{listTabs: func(context.Context) ([]executor.Tab, error) { return nil, nil }}
		h := openSession(t, NewServer(f, &Options{CallsPerMinute: 6}))
		ses := h.ses
		for range 3 {
			for _, res := range []*sdk.CallToolResult{
				callWithoutMCP(t, h, "http", "tabs_list", ""),
				ses.call(t.Context(), ses.tool("tabs_list"), &sdk.CallToolRequest{Params: &sdk.CallToolParamsRaw{}}),
			} {
				if res.IsError {
					t.Error(textOf(res))
				}
			}
		}
		res := callWithoutMCP(t, h, "http", "tabs_list", "")
		if e := metaOf(t, res); e.Code != executor.ErrBackpressure || !e.Retryable {
			t.Error(textOf(res))
		}
	})
}

// TestToolCanceled cancels a call without MCP, with its context and with the end of the session.
func TestToolCanceled(t *testing.T) {
	for _, how := range []string{"context", "session"} {
		f, started, ended := hangingNavigation()
		h := openSession(t, NewServer(f, nil))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		end, want := cancel, executor.ErrTimeout
		if how == "session" {
			end, want = func() { h.Close() }, executor.ErrSessionEnded
		}
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			<-started
			end()
		}()
		call, err := h.Tool("navigate")
		if err != nil {
			t.Fatal(err)
		}
		if res := call(ctx, "http", []byte(shopCall)); metaOf(t, res).Code != want {
			t.Errorf("%s: %s", how, textOf(res))
		}
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: the executor's context ended with %v", how, err)
		}
		<-stopped
	}
}

// TestToolAuditClient checks that an entry names the client of its call, also within a batch, and
// that the first client begins the session.
func TestToolAuditClient(t *testing.T) {
	var log memoryRecorder
	names := make(chan string, 2)
	f := &fake{listTabs: func(context.Context) ([]executor.Tab, error) { return nil, nil }}
	h, url := openHTTP(t, NewServer(f, &Options{Tools: Toolsets(), Audit: &log, OnClient: func(name string) { names <- name }}))
	callWithoutMCP(t, h, "curl/8.1 "+strings.Repeat("x", maxClient), "batch", `{"calls":[{"tool":"tabs_list"}]}`)
	begun := "curl/8.1 " + strings.Repeat("x", maxClient-len("curl/8.1 ")) + "…"
	callWithoutMCP(t, h, "http", "tabs_list", "")
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
	session := openSession(t, h.server)
	revoke, err := h.guard.Grant(h.guard.WithCall(t.Context(), ""), executor.Permission{Kind: executor.PermitSite, Origin: "https://shop.example.com"}, true)
	if err != nil {
		t.Fatal(err)
	}
	defer revoke()
	if res := callWithoutMCP(t, session, "http", "navigate", shopCall); metaOf(t, res).Code != executor.ErrPolicyDenied || h.navigations.Load() != 0 {
		t.Errorf("with the grant of another call: %s, %d navigations", textOf(res), h.navigations.Load())
	}
	popup.connected = true
	if res := callWithoutMCP(t, session, "http", "navigate", shopCall); res.IsError || h.navigations.Load() != 1 {
		t.Errorf("after the user's answer: %s, %d navigations", textOf(res), h.navigations.Load())
	}
}
