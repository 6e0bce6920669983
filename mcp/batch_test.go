package mcp

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/testlog"
)

func TestBatchTool(t *testing.T) {
	var did recorder
	ex := canned(&did)
	cs := connect(t, NewServer(ex, &Options{Tools: Toolsets()}), nil)
	const fails = `{"tool":"wait_for","args":{"tabId":"cdp:b7:9","text":"x"}}`
	ex.waitFor = func(context.Context, executor.TabID, *executor.WaitCondition) (*executor.WaitResult, error) {
		return nil, executor.Errorf(executor.ErrTabNotFound, "List the tabs.", "tab not found")
	}
	for _, tt := range []struct {
		name, args string
		did        string // names of the called executor methods
		want       []string
	}{
		{"all succeed", `{"calls":[{"tool":"press","args":{"key":"Tab"}},{"tool":"hover","args":{"ref":"e1"}}]}`, "Press Hover", []string{"2 of 2 calls succeeded", "\n1. press: ok", "\n2. hover: ok"}},
		{"stops at the first error", `{"calls":[` + fails + `,{"tool":"press","args":{"key":"Tab"}}]}`, "", []string{"0 of 2 calls", "\n1. wait_for: TAB_NOT_FOUND: Tab not found", "\n1 call not run"}},
		{"continueOnError", `{"continueOnError":true,"calls":[` + fails + `,{"tool":"press","args":{"key":"Tab"}}]}`, "Press", []string{"1 of 2 calls", "TAB_NOT_FOUND", "\n2. press: ok"}},
		{"invalid arguments fail before the first call", `{"calls":[{"tool":"press","args":{"key":"Tab"}},{"tool":"hover","args":{"reff":"e1"}}]}`, "", []string{"BAD_ARGS: ", `call 2, "hover"`, "reff", "nothing was done", "ref"}},
		{"hint about the arguments of the call", `{"calls":[{"tool":"scroll"}]}`, "", []string{"no scroll target", "Give selector or ref, x or y, deltaX or deltaY."}},
		{"unknown tool", `{"calls":[{"tool":"press","args":{"key":"Tab"}},{"tool":"hove"}]}`, "", []string{"BAD_ARGS: ", `call 2, "hove"`, "did you mean hover?"}},
		{"nested batch", `{"calls":[{"tool":"batch","args":{"calls":[{"tool":"tabs_list"}]}}]}`, "", []string{"BAD_ARGS: ", "from within another"}},
		{"no calls", `{"calls":[]}`, "", []string{"BAD_ARGS: calls must have 1 to 50 calls, got 0"}},
		{"too many calls", `{"calls":[` + strings.TrimSuffix(strings.Repeat(`{"tool":"tabs_list"},`, 51), ",") + `]}`, "", []string{"got 51"}},
		{"no tool", `{"calls":[{"args":{}}]}`, "", []string{"call 1 has no tool"}},
		{"duplicate tool", `{"calls":[{"tool":"press","tool":"hover"}]}`, "", []string{`call 1 has "tool" twice`}},
		{"unknown key", `{"calls":[{"tool":"press","name":"x"}]}`, "", []string{`call 1 has an unknown "name"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := textOf(callTool(t, cs, "batch", tt.args))
			for _, want := range tt.want {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in %s", want, text)
				}
			}
			wantCalls(t, &did, tt.did)
		})
	}
}

// wantRecorded checks the tools and codes in a log, given as a list separated by commas.
func wantRecorded(t testing.TB, log *testlog.Recorder, want string) {
	t.Helper()
	var got []string
	for _, e := range log.Entries() {
		if e.Tool != "" {
			got = append(got, e.Tool+" "+e.Code)
		}
	}
	if got := strings.Join(got, ", "); got != want {
		t.Errorf("recorded: %s, want %s", got, want)
	}
}

// wantCalls checks the names of the methods called since the last check, given as a list separated
// by spaces.
func wantCalls(t testing.TB, did *recorder, want string) {
	t.Helper()
	var ops []string
	for line := range strings.Lines(did.take()) {
		ops = append(ops, strings.Fields(line)[0])
	}
	if got := strings.Join(ops, " "); got != want {
		t.Errorf("called %q, want %q", got, want)
	}
}

// TestBatchInParallel checks that calls on different tabs run in parallel, and calls on one tab in
// order.
func TestBatchInParallel(t *testing.T) {
	var mu sync.Mutex
	order := map[executor.TabID][]string{}
	var met sync.WaitGroup
	met.Add(2)
	ex := &fake{press: func(ctx context.Context, tab executor.TabID, key string, _ *executor.PressOptions) (*executor.Action, error) {
		mu.Lock()
		order[tab] = append(order[tab], key)
		mu.Unlock()
		if key == "a" { // returns when it runs in both tabs
			met.Done()
			met.Wait()
		}
		return &executor.Action{OK: true}, nil
	}}
	cs := connect(t, NewServer(ex, &Options{Tools: []Toolset{ToolsCore, ToolsBatch}}), nil)
	var calls []string
	for _, key := range []string{"a", "b", "c"} {
		for _, tab := range []executor.TabID{tab1, tab2} {
			calls = append(calls, fmt.Sprintf(`{"tool":"press","args":{"key":%q,"tabId":%q}}`, key, tab))
		}
	}
	text := textOf(callTool(t, cs, "batch", `{"parallel":true,"calls":[`+strings.Join(calls, ",")+`]}`))
	if !strings.HasPrefix(text, "6 of 6 calls") {
		t.Error(text)
	}
	for _, tab := range []executor.TabID{tab1, tab2} {
		if got := strings.Join(order[tab], ""); got != "abc" {
			t.Errorf("%s got %s", tab, got)
		}
	}
}

// TestBatchEnforcesPolicy checks that each call of a batch is rate-limited, audited and limited in
// size like a separate call.
func TestBatchEnforcesPolicy(t *testing.T) {
	var did recorder
	var log testlog.Recorder
	cs := connect(t, NewServer(canned(&did), &Options{Tools: Toolsets(), CallsPerMinute: 3, Audit: &log, MaxResultBytes: 4000}), nil)
	text := textOf(callTool(t, cs, "batch", `{"continueOnError":true,"calls":[{"tool":"press","args":{"key":"a"}},{"tool":"press","args":{"key":"b"}},{"tool":"press","args":{"key":"c"}}]}`))
	if !strings.HasPrefix(text, "2 of 3 calls") || !strings.Contains(text, "\n3. press: BACKPRESSURE: ") {
		t.Error(text)
	}
	wantRecorded(t, &log, "press OK, press OK, press BACKPRESSURE, batch OK")

	long := &fake{text: func(context.Context, executor.TabID, *executor.TextOptions) (*executor.Text, error) {
		return &executor.Text{Content: strings.Repeat("x", 3000), Origin: "https://a.test"}, nil
	}}
	failing := 200 // length of an error message, in characters
	long.click = func(context.Context, executor.TabID, executor.Target, *executor.ClickOptions) (*executor.Action, error) {
		return nil, executor.Errorf(executor.ErrNotActionable, "", "it is %s", strings.Repeat("y", failing))
	}
	cs = connect(t, NewServer(long, &Options{Tools: Toolsets(), MaxResultBytes: 4000}), nil)
	for _, failing = range []int{200, 1200} {
		text = textOf(callTool(t, cs, "batch", `{"continueOnError":true,"calls":[{"tool":"get_text"},{"tool":"get_text"},{"tool":"click","args":{"selector":"a"}}]}`))
		if !strings.HasPrefix(text, "2 of 3 calls") || !strings.Contains(text, "\n2. get_text: done") || !strings.Contains(text, "NOT_ACTIONABLE") || strings.Contains(text, "\n3. click: done") {
			t.Error(text)
		}
	}
	text = textOf(callTool(t, cs, "batch", `{"calls":[{"tool":"get_text"},{"tool":"get_text"}]}`))
	if !strings.HasPrefix(text, "2 of 2 calls") || !strings.Contains(text, "\n2. get_text: done; result omitted") || len(text) > 4000 {
		t.Errorf("%d bytes: %.200s", len(text), text)
	}
}

func TestToolsets(t *testing.T) {
	for list, want := range map[string]string{
		"core": "[core]", "batch,core": "[batch core]", " core , core": "[core]",
		"": `unknown toolset ""; choose from `, "core,": `unknown toolset ""`, "bacth": `unknown toolset "bacth"; did you mean batch?`, "everything": "choose from core, ",
		"batch": `"batch" alone has no tools to call; use core,batch`,
	} {
		sets, err := ParseToolsets(list)
		if got := fmt.Sprint(sets); err == nil && got != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %s, %v, want %s", list, got, err, want)
		}
	}
	if sets, err := ParseToolsets("all"); err != nil || len(sets) != len(Toolsets()) {
		t.Errorf("all: %v, %v", sets, err)
	}
	if err := NewServer(&fake{}, &Options{Tools: []Toolset{"x"}}).Run(t.Context(), nil); err == nil || !strings.Contains(err.Error(), `unknown toolset "x"`) {
		t.Errorf("a server with an unknown toolset: %v", err)
	}
	cs := connect(t, NewServer(&fake{}, nil), nil)
	_, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "batch", Arguments: rawArgs(`{"calls":[]}`)})
	if err == nil || !strings.Contains(err.Error(), "batch is a tool of the toolset batch, which is not enabled; the user can enable it with --tools") {
		t.Errorf("tool of a disabled toolset: %v", err)
	}
}
