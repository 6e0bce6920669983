package mcp

import (
	"context"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestStopCallsWithin stops a script and a batch after their first call. The error reports what that call
// did.
func TestStopCallsWithin(t *testing.T) {
	started := make(chan struct{}, 1)
	h, url := openHTTP(t, NewServer(&fake{
		press: func(ctx context.Context, _ executor.TabID, _ string, _ *executor.PressOptions) (*executor.Action, error) {
			executor.CallOptionsOf(ctx).OnDownload(executor.Download{SuggestedName: "a.pdf", State: "completed"})
			return &executor.Action{OK: true}, nil
		},
		waitFor: func(ctx context.Context, _ executor.TabID, _ *executor.WaitCondition) (*executor.WaitResult, error) {
			started <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		},
	}, &Options{Tools: Toolsets()}))
	cs := connectHTTP(t, url, "2025-11-25")
	for tool, args := range map[string]string{
		"run_script": `{"script":"press({key: 'a'}); wait_for({text: 'never'})"}`,
		"batch":      `{"calls":[{"tool":"press","args":{"key":"a"}},{"tool":"wait_for","args":{"text":"never"}},{"tool":"press","args":{"key":"b"}}]}`,
	} {
		result := make(chan string, 1)
		go func() {
			res, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: rawArgs(args)})
			if err != nil {
				res = &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: err.Error()}}}
			}
			result <- textOf(res)
		}()
		<-started
		h.StopCalls("the user stopped it")
		h.AllowCalls()
		text := <-result
		for _, want := range []string{"DETACHED: ", "\nnote: 2 calls within " + tool + " have run, 1 with success; ", `download completed "a.pdf"`} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in %s", tool, want, text)
			}
		}
	}
}

// TestStopCalls stops the calls of a session while one waits: it ends, further ones do not reach the
// executor, and after AllowCalls they do.
func TestStopCalls(t *testing.T) {
	started := make(chan struct{}, 1)
	var navigations atomic.Int32
	f := &fake{
		waitFor: func(ctx context.Context, _ executor.TabID, _ *executor.WaitCondition) (*executor.WaitResult, error) {
			started <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		},
		navigate: func(_ context.Context, _ executor.TabID, url string, _ *executor.NavigateOptions) (*executor.Navigation, error) {
			navigations.Add(1)
			return &executor.Navigation{URL: url}, nil
		},
	}
	h, url := openHTTP(t, NewServer(f, nil))
	stdin, toServer := io.Pipe()
	fromServer, stdout := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- h.Run(context.WithoutCancel(t.Context()), StdioTransport(stdin, stdout)) }()
	stream, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &sdk.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stream.Close()
		toServer.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	for name, cs := range map[string]*sdk.ClientSession{"stream": stream, "HTTP": connectHTTP(t, url, "2025-11-25")} {
		navigations.Store(0)
		result := make(chan string, 1)
		go func() {
			res, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "wait_for", Arguments: rawArgs(`{"text":"never"}`)})
			if err != nil {
				res = &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: err.Error()}}}
			}
			result <- textOf(res)
		}()
		<-started
		h.StopCalls("the user stopped it")
		const want = "DETACHED: The call was canceled before it finished: the user stopped it. Ask the user before you continue."
		if got := <-result; got != want {
			t.Errorf("%s: the running call: %s", name, got)
		}
		const rejected = "DETACHED: Calls are rejected: the user stopped it. Ask the user before you continue."
		if got := textOf(callTool(t, cs, "navigate", `{"url":"https://shop.example/"}`)); got != rejected || navigations.Load() != 0 {
			t.Errorf("%s: a further call: %s, %d navigations", name, got, navigations.Load())
		}
		h.AllowCalls()
		if res := callTool(t, cs, "navigate", `{"url":"https://shop.example/"}`); res.IsError || navigations.Load() != 1 {
			t.Errorf("%s: a call after AllowCalls: %s, %d navigations", name, textOf(res), navigations.Load())
		}
	}
	if res := callWithoutMCP(t, h, "http", "navigate", shopCall); res.IsError {
		t.Errorf("without MCP: %s", textOf(res))
	}
	h.StopCalls("the user stopped it")
	if res := callWithoutMCP(t, h, "http", "navigate", shopCall); !strings.HasPrefix(textOf(res), "DETACHED: Calls are rejected") {
		t.Errorf("without MCP, stopped: %s", textOf(res))
	}
}
