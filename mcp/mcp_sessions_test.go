package mcp

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptransport"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/rawmcp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestMCPSessionOfAnotherSession uses the id of an MCP session with another session.
func TestMCPSessionOfAnotherSession(t *testing.T) {
	_, a := openHTTP(t, NewServer(&fake{}, nil))
	_, b := openHTTP(t, NewServer(&fake{}, nil))
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	id, status := rawmcp.Post(t, http.DefaultClient, a, "", rawmcp.Initialize)
	if id == "" || status != http.StatusOK {
		t.Fatalf("initialize: %q, %d", id, status)
	}
	for url, want := range map[string]int{a: http.StatusOK, b: http.StatusNotFound} {
		if _, status := rawmcp.Post(t, http.DefaultClient, url, id, rawmcp.Ping); status != want {
			t.Errorf("status %d, want %d", status, want)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, a, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(mcptransport.SessionIDHeader, id)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if _, status := rawmcp.Post(t, http.DefaultClient, a, id, rawmcp.Ping); status != http.StatusNotFound {
		t.Errorf("after its end: status %d", status)
	}
}

// TestCallLimit checks that a call has a slot while it runs, also for the calls of a batch, and
// not while its user is prompted.
func TestCallLimit(t *testing.T) {
	running, calls := 0, 0
	limit := func(context.Context) (func(), error) {
		running++
		calls++
		return func() { running-- }, nil
	}
	s := NewServer(&fake{listTabs: func(context.Context) ([]executor.Tab, error) {
		if running != 1 {
			t.Errorf("%d slots during a call", running)
		}
		return nil, nil
	}}, &Options{Limit: limit, Tools: Toolsets()})
	cs := connect(t, s, nil)
	callTool(t, cs, "tabs_list", "")
	callTool(t, cs, "batch", `{"calls":[{"tool":"tabs_list"},{"tool":"tabs_list"}]}`)
	callTool(t, cs, "run_script", `{"script":"tabs_list()"}`)
	callTool(t, cs, "tabs_list", `{"x":1}`) // invalid
	if running != 0 || calls != 3 {
		t.Errorf("%d slots after %d calls", running, calls)
	}

	h := newPromptFixture(t)
	h.server.opts.Limit = limit
	cs = connectAs(t, h.server, h.user(func(context.Context) (*sdk.ElicitResult, error) {
		if running != 0 {
			t.Errorf("%d slots during a prompt", running)
		}
		return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer": "once"}}, nil
	}), legacy)
	if res := callTool(t, cs, "navigate", shopCall); res.IsError || h.prompts.Load() != 1 || running != 0 || calls != 5 {
		t.Errorf("%s; %d prompts, %d slots after %d calls", textOf(res), h.prompts.Load(), running, calls)
	}

	s = NewServer(&fake{}, &Options{Limit: func(context.Context) (func(), error) {
		return nil, executor.Errorf(executor.ErrBackpressure, "Try again.", "busy")
	}})
	cs = connect(t, s, nil)
	if text := textOf(callTool(t, cs, "tabs_list", "")); text != "BACKPRESSURE: Busy. Try again." {
		t.Errorf("a rejected call: %s", text)
	}
	if res := callTool(t, cs, "chrome_status", ""); res.IsError { // it never fails
		t.Errorf("the status without a slot: %s", textOf(res))
	}
}

// TestHTTPPrompts prompts the user of clients of both protocol generations over HTTP.
func TestHTTPPrompts(t *testing.T) {
	for _, version := range []string{legacy, firstStateless} {
		t.Run(version, func(t *testing.T) {
			h := newPromptFixture(t)
			_, url := openHTTP(t, h.server)
			answers := []string{"no answer", "once", "session"}
			opts := h.user(func(context.Context) (*sdk.ElicitResult, error) {
				answer := answers[0]
				answers = answers[1:]
				if answer == "no answer" {
					return &sdk.ElicitResult{Action: "cancel"}, nil
				}
				return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer": answer}}, nil
			})
			transport := &sdk.StreamableClientTransport{Endpoint: url, DisableStandaloneSSE: true, MaxRetries: -1}
			cs, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, opts).Connect(t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			defer cs.Close()
			if text := errorText(t, callTool(t, cs, "navigate", shopCall)); !strings.HasPrefix(text, "POLICY_DENIED") {
				t.Error(text)
			}
			for range 4 { // once, for the session, and twice without a prompt
				if res := callTool(t, cs, "navigate", shopCall); res.IsError {
					t.Error(textOf(res))
				}
			}
			if h.prompts.Load() != 3 || h.navigations.Load() != 4 {
				t.Errorf("%d prompts, %d navigations", h.prompts.Load(), h.navigations.Load())
			}
		})
	}
}

// TestCallOfClosedSession checks the result of a call whose session is closed.
func TestCallOfClosedSession(t *testing.T) {
	for _, version := range []string{legacy, firstStateless} {
		f, started, _ := hangingNavigation()
		h, url := openHTTP(t, NewServer(f, nil))
		cs := connectHTTP(t, url, version)
		result := make(chan string, 1)
		go func() {
			res, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "navigate", Arguments: rawArgs(shopCall)})
			if err != nil {
				result <- fmt.Sprint(err)
				return
			}
			result <- textOf(res)
		}()
		<-started
		if err := h.End("a client closed it"); err != nil {
			t.Error(err)
		}
		if text := <-result; !strings.HasPrefix(text, "SESSION_ENDED: The session was closed before the call finished: a client closed it. Open the session again") {
			t.Errorf("%s: %s", version, text)
		}
	}
}

// TestPromptsOfTwoClients checks that what a user allows or denies for one MCP session has no effect
// on another one of the session, or on calls without MCP, and ends with the MCP session.
func TestPromptsOfTwoClients(t *testing.T) {
	for _, answer := range []string{"once", "session", "no"} {
		t.Run(answer, func(t *testing.T) {
			h := newPromptFixture(t)
			session, url := openHTTP(t, h.server)
			hosts := make([]*sdk.ClientSession, 2)
			prompted := make(chan int, 4)
			replies := []chan string{make(chan string, 1), make(chan string, 1)}
			for i := range hosts {
				opts := h.user(func(context.Context) (*sdk.ElicitResult, error) {
					prompted <- i
					select {
					case reply := <-replies[i]:
						return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer": reply}}, nil
					case <-t.Context().Done():
						return nil, t.Context().Err()
					}
				})
				transport := &sdk.StreamableClientTransport{Endpoint: url, DisableStandaloneSSE: true, MaxRetries: -1}
				var err error
				hosts[i], err = sdk.NewClient(&sdk.Implementation{Name: "test"}, opts).Connect(t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: legacy})
				if err != nil {
					t.Fatal(err)
				}
				defer hosts[i].Close()
			}
			// Identical calls wait at the same time, each for its own user.
			var calls sync.WaitGroup
			failed := make([]bool, 2)
			for i := range hosts {
				calls.Go(func() { failed[i] = callTool(t, hosts[i], "navigate", shopCall).IsError })
			}
			if first, second := await.Receive(t, "a prompt", prompted), await.Receive(t, "another prompt", prompted); first == second {
				t.Fatalf("both prompts were shown by client %d", first)
			}
			replies[0] <- answer
			replies[1] <- "no"
			calls.Wait()
			if failed[0] != (answer == "no") || !failed[1] {
				t.Errorf("the calls failed: %v", failed)
			}
			if res := callWithoutMCP(t, session, "http", "navigate", shopCall); metaOf(t, res).Code != executor.ErrPolicyDenied {
				t.Errorf("without MCP: %s", textOf(res))
			}
			if text := errorText(t, callTool(t, hosts[1], "navigate", shopCall)); !strings.Contains(text, "not prompted again") {
				t.Error(text)
			}
			if answer != "session" {
				return
			}
			if res := callTool(t, hosts[0], "navigate", shopCall); res.IsError {
				t.Error(textOf(res))
			}
			if n := len(h.guard.Policy().Config().AllowDomains); n != 1 {
				t.Errorf("%d sites are allowed in the network", n)
			}
			if err := hosts[0].Close(); err != nil {
				t.Fatal(err)
			}
			await.Until(t, "the grant to end with the MCP session", func() bool { return len(h.guard.Policy().Config().AllowDomains) == 0 })
		})
	}
}
