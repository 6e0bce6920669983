package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/prompting"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// A promptFixture is a server whose guard allows no site, and its user.
type promptFixture struct {
	prompts     atomic.Int32 // elicitations that the client received
	navigations atomic.Int32 // completed navigations
	guard       *policy.Guard
	server      *Server
}

func newPromptFixture(t *testing.T) *promptFixture {
	rules, err := policy.New(policy.Config{})
	if err != nil {
		t.Fatal(err)
	}
	h := &promptFixture{guard: policy.NewGuard(rules, nil)}
	h.server = NewServer(h.guard.Wrap(&fake{
		navigate: func(_ context.Context, _ executor.TabID, url string, _ *executor.NavigateOptions) (*executor.Navigation, error) {
			h.navigations.Add(1)
			return &executor.Navigation{TabID: tab1, URL: url}, nil
		},
		status: func(context.Context) executor.Status { return executor.Status{} },
	}), &Options{PromptForPermission: true})
	return h
}

// user returns the options of a client whose user answers prompts with answer.
func (h *promptFixture) user(answer func(context.Context) (*sdk.ElicitResult, error)) *sdk.ClientOptions {
	return &sdk.ClientOptions{ElicitationHandler: func(ctx context.Context, _ *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		h.prompts.Add(1)
		return answer(ctx)
	}}
}

// legacy is a protocol version in which servers send elicitation requests to the client.
const legacy = "2025-11-25"

const shopCall = `{"url":"https://shop.example.com/"}`

// errorText returns the text of a result that must be an error.
func errorText(t *testing.T, res *sdk.CallToolResult) string {
	t.Helper()
	if !res.IsError {
		t.Fatalf("the call succeeded: %v", res.Content[0].(*sdk.TextContent).Text)
	}
	return res.Content[0].(*sdk.TextContent).Text
}

// TestInvalidElicitationResults checks that a call is denied after an invalid or missing answer,
// and that the next calls work.
func TestInvalidElicitationResults(t *testing.T) {
	accept := func(content map[string]any) func(context.Context) (*sdk.ElicitResult, error) {
		return func(context.Context) (*sdk.ElicitResult, error) {
			return &sdk.ElicitResult{Action: "accept", Content: content}, nil
		}
	}
	for name, c := range map[string]struct {
		answer func(context.Context) (*sdk.ElicitResult, error)
		want   string
	}{
		"unknown value":  {accept(map[string]any{"answer": "always"}), "the client's answer to the prompt was an error, or was invalid"},
		"no content":     {accept(nil), "with once, session or no"},
		"number":         {accept(map[string]any{"answer": 1}), "the client's answer to the prompt was an error, or was invalid"},
		"unknown field":  {accept(map[string]any{"ok": true}), "the client's answer to the prompt was an error, or was invalid"},
		"unknown action": {func(context.Context) (*sdk.ElicitResult, error) { return &sdk.ElicitResult{Action: "maybe"}, nil }, "with once, session or no"},
		"error":          {func(context.Context) (*sdk.ElicitResult, error) { return nil, errors.New("no window") }, "the client's answer to the prompt was an error, or was invalid"},
		"dismissed":      {func(context.Context) (*sdk.ElicitResult, error) { return &sdk.ElicitResult{Action: "cancel"}, nil }, "the prompt was dismissed, possibly before the user saw it"},
		"declined":       {func(context.Context) (*sdk.ElicitResult, error) { return &sdk.ElicitResult{Action: "decline"}, nil }, "the client declined the prompt, possibly without showing it"},
		"no":             {accept(map[string]any{"answer": "no"}), "the user denied permission"},
		"timeout": {func(ctx context.Context) (*sdk.ElicitResult, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, "the prompt was not answered within 55 seconds"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newPromptFixture(t)
				cs := connectAs(t, h.server, h.user(c.answer), legacy)
				begin := time.Now()
				text := errorText(t, callTool(t, cs, "navigate", shopCall))
				if !strings.HasPrefix(text, "POLICY_DENIED: ") || !strings.Contains(text, c.want) {
					t.Errorf("result: %s", text)
				}
				if took := time.Since(begin); took > prompting.Timeout+time.Second {
					t.Errorf("it took %v", took)
				}
				again := errorText(t, callTool(t, cs, "navigate", shopCall))
				if n, want := h.prompts.Load(), map[bool]int32{true: 2, false: 1}[name == "dismissed"]; n != want || !strings.Contains(again, c.want) {
					t.Errorf("%d prompts; then: %s", n, again)
				}
				if text := callTool(t, cs, "chrome_status", "{}").Content[0].(*sdk.TextContent).Text; !strings.Contains(text, "allowed domains: none") {
					t.Errorf("status: %s", text)
				}
				if h.navigations.Load() != 0 {
					t.Error("the page was opened")
				}
			})
		})
	}
}

// TestConcurrentCallsShareOnePrompt checks that concurrent calls that lack the same permission
// cause one prompt whose answer applies to all of them, and that canceling one call does not cancel
// the prompt.
func TestConcurrentCallsShareOnePrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newPromptFixture(t)
		shown := make(chan struct{})
		cs := connectAs(t, h.server, h.user(func(ctx context.Context) (*sdk.ElicitResult, error) {
			select {
			case <-shown:
				return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer": "once"}}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}), legacy)
		first, cancel := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		calls.Go(func() {
			cs.CallTool(first, &sdk.CallToolParams{Name: "navigate", Arguments: rawArgs(shopCall)})
		})
		synctest.Wait()
		for range 4 {
			calls.Go(func() {
				if res := callTool(t, cs, "navigate", shopCall); res.IsError {
					t.Error(errorText(t, res))
				}
			})
		}
		synctest.Wait()
		cancel()
		synctest.Wait()
		close(shown)
		calls.Wait()
		if h.prompts.Load() != 1 || h.navigations.Load() != 4 {
			t.Errorf("%d prompts, %d navigations", h.prompts.Load(), h.navigations.Load())
		}
		if n := len(h.guard.Policy().Config().AllowDomains); n != 0 {
			t.Errorf("%d sites are still allowed", n)
		}
	})
}

// TestOnceGrantLimitedToCall checks that a once grant does not apply to a call that waits for the
// prompt of a different call, and that the user is prompted for that call separately.
func TestOnceGrantLimitedToCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newPromptFixture(t)
		cs := connectAs(t, h.server, h.user(func(context.Context) (*sdk.ElicitResult, error) {
			time.Sleep(time.Second)
			answer := "once"
			if h.prompts.Load() > 1 {
				answer = "no"
			}
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer": answer}}, nil
		}), legacy)
		var calls sync.WaitGroup
		for i := range 4 {
			calls.Go(func() {
				callTool(t, cs, "navigate", fmt.Sprintf(`{"url":"https://shop.example.com/%d"}`, i))
			})
		}
		calls.Wait()
		if h.prompts.Load() != 2 || h.navigations.Load() != 1 {
			t.Errorf("%d prompts, %d navigations", h.prompts.Load(), h.navigations.Load())
		}
	})
}

// TestOnceGrantNotUsableInBatch checks that a batch whose client cannot be prompted during the
// batch does not use the once grant of a concurrent call.
func TestOnceGrantNotUsableInBatch(t *testing.T) {
	h := newPromptFixture(t)
	h.server.tools = allTools()
	revoke, err := h.guard.Grant(h.guard.WithCall(t.Context(), ""), executor.Permission{Kind: executor.PermitSite, Origin: "https://shop.example.com"}, true)
	if err != nil {
		t.Fatal(err)
	}
	defer revoke()
	cs := connectAs(t, h.server, h.user(nil), "2026-07-28")
	for tool, args := range map[string]string{
		"batch":      fmt.Sprintf(`{"calls":[{"tool":"navigate","args":%s}]}`, shopCall),
		"run_script": fmt.Sprintf(`{"script":"navigate(%s)"}`, strings.ReplaceAll(shopCall, `"`, `'`)),
	} {
		callTool(t, cs, tool, args)
		if h.navigations.Load() != 0 {
			t.Errorf("%s opened the page", tool)
		}
	}
}

// TestOnceGrantNotUsableWithoutElicitation checks that a client that cannot show prompts does not
// use the once grant of another client's call.
func TestOnceGrantNotUsableWithoutElicitation(t *testing.T) {
	h := newPromptFixture(t)
	revoke, err := h.guard.Grant(h.guard.WithCall(t.Context(), ""), executor.Permission{Kind: executor.PermitSite, Origin: "https://shop.example.com"}, true)
	if err != nil {
		t.Fatal(err)
	}
	defer revoke()
	for _, version := range []string{legacy, "2026-07-28"} {
		errorText(t, callTool(t, connectAs(t, h.server, nil, version), "navigate", shopCall))
	}
	if n := h.navigations.Load(); n != 0 {
		t.Errorf("%d navigations", n)
	}
}

// TestCanceledPrompt checks that the elicitation is canceled when no call waits for its answer.
func TestCanceledPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newPromptFixture(t)
		closed := make(chan struct{})
		cs := connectAs(t, h.server, h.user(func(ctx context.Context) (*sdk.ElicitResult, error) {
			<-ctx.Done()
			close(closed)
			return nil, ctx.Err()
		}), legacy)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		cs.CallTool(ctx, &sdk.CallToolParams{Name: "navigate", Arguments: rawArgs(shopCall)})
		<-closed
	})
}

// TestSessionGrantEndsWithSession checks that a session grant does not apply to a later session of
// the same server.
func TestSessionGrantEndsWithSession(t *testing.T) {
	h := newPromptFixture(t)
	yes := func(context.Context) (*sdk.ElicitResult, error) {
		return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer": "session"}}, nil
	}
	first := connectAs(t, h.server, h.user(yes), legacy)
	for range 2 {
		if res := callTool(t, first, "navigate", shopCall); res.IsError {
			t.Error(errorText(t, res))
		}
	}
	first.Close()
	second := connectAs(t, h.server, nil, legacy)
	errorText(t, callTool(t, second, "navigate", shopCall))
	if h.prompts.Load() != 1 || h.navigations.Load() != 2 {
		t.Errorf("%d prompts, %d navigations", h.prompts.Load(), h.navigations.Load())
	}
}

// TestInputRequests checks that, if prompts are returned in results, an answer is accepted once,
// only for the same call, and only if there was a prompt.
func TestInputRequests(t *testing.T) {
	h := newPromptFixture(t)
	opts := h.user(func(context.Context) (*sdk.ElicitResult, error) { return nil, errors.New("unexpected elicitation") })
	opts.MultiRoundTrip = &sdk.MultiRoundTripOptions{Disabled: true}
	cs := connectAs(t, h.server, opts, "2026-07-28")
	call := func(args string, answers sdk.InputResponseMap) *sdk.CallToolResult {
		t.Helper()
		res, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "navigate", Arguments: rawArgs(args), InputResponses: answers})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	once := func(res *sdk.CallToolResult) sdk.InputResponseMap {
		t.Helper()
		answers := sdk.InputResponseMap{}
		for id := range res.InputRequests {
			answers[id] = &sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer": "once"}}
		}
		if len(answers) != 1 {
			t.Fatalf("%d prompts", len(answers))
		}
		return answers
	}
	forged := sdk.InputResponseMap{"x": &sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer": "session"}}}
	asked := call(shopCall, forged)
	if !asked.NeedsInput() {
		t.Fatal("an answer without a prompt was accepted")
	}
	answers := once(asked)
	if other := call(`{"url":"https://shop.example.com/other"}`, answers); !other.NeedsInput() {
		t.Error("the answer was accepted for another call")
	} else if res := call(`{"url":"https://shop.example.com/other"}`, once(other)); res.IsError || res.NeedsInput() {
		t.Error("the answer was not accepted")
	} else if res := call(`{"url":"https://shop.example.com/other"}`, once(other)); !res.NeedsInput() {
		t.Error("the answer was accepted twice")
	}
	if h.navigations.Load() != 1 {
		t.Errorf("%d navigations", h.navigations.Load())
	}
}

// TestTooManyPrompts checks that a user who has denied too many prompts is not prompted again, and
// that a client with too many unanswered prompts is prompted again after prompting.RepromptDelay.
func TestTooManyPrompts(t *testing.T) {
	for name, tt := range map[string]struct {
		answer *sdk.ElicitResult
		limit  int32
		ends   bool
	}{
		"denied":       {&sdk.ElicitResult{Action: "decline"}, prompting.MaxDenied, false},
		"not answered": {&sdk.ElicitResult{Action: "maybe"}, prompting.MaxUnanswered, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newPromptFixture(t)
				cs := connectAs(t, h.server, h.user(func(context.Context) (*sdk.ElicitResult, error) { return tt.answer, nil }), legacy)
				visit := func(n int32) string {
					return errorText(t, callTool(t, cs, "navigate", fmt.Sprintf(`{"url":"https://shop%d.example.com/"}`, n)))
				}
				for n := range tt.limit {
					visit(n)
				}
				if text := visit(tt.limit); !strings.Contains(text, "too many prompts") || h.prompts.Load() != tt.limit {
					t.Errorf("%d prompts, want %d; then: %s", h.prompts.Load(), tt.limit, text)
				}
				time.Sleep(prompting.RepromptDelay)
				visit(tt.limit)
				if again := h.prompts.Load() > tt.limit; again != tt.ends {
					t.Errorf("prompted again after repromptDelay: %t", again)
				}
			})
		})
	}
}

// TestDeniedWithoutPrompt checks that calls are denied without a prompt if the client does not
// support form elicitation, if the option is not set, and in batches that the client would have to
// repeat.
func TestDeniedWithoutPrompt(t *testing.T) {
	h := newPromptFixture(t)
	yes := h.user(func(context.Context) (*sdk.ElicitResult, error) {
		return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer": "session"}}, nil
	})
	silent := *h.server
	silent.opts.PromptForPermission = false
	h.server.tools = allTools()
	urlOnly := *yes
	urlOnly.Capabilities = &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{URL: &sdk.URLElicitationCapabilities{}}}
	batch := fmt.Sprintf(`{"calls":[{"tool":"navigate","args":%s}]}`, shopCall)
	for _, version := range []string{legacy, "2026-07-28"} {
		errorText(t, callTool(t, connectAs(t, h.server, nil, version), "navigate", shopCall))
		errorText(t, callTool(t, connectAs(t, h.server, &urlOnly, version), "navigate", shopCall))
		errorText(t, callTool(t, connectAs(t, &silent, yes, version), "navigate", shopCall))
	}
	if h.prompts.Load() != 0 || h.navigations.Load() != 0 {
		t.Errorf("%d prompts, %d navigations", h.prompts.Load(), h.navigations.Load())
	}
	if text := callTool(t, connectAs(t, h.server, yes, "2026-07-28"), "batch", batch).Content[0].(*sdk.TextContent).Text; !strings.Contains(text, "0 of 1 call") {
		t.Error(text)
	}
	if text := callTool(t, connectAs(t, h.server, yes, legacy), "batch", batch).Content[0].(*sdk.TextContent).Text; !strings.Contains(text, "1 of 1 call") {
		t.Error(text)
	}
	if h.prompts.Load() != 1 {
		t.Errorf("%d prompts", h.prompts.Load())
	}
}

// A fakePopup is a fake of the extension popup's prompts.
type fakePopup struct {
	connected bool
	answer    func(executor.PermissionPrompt) (executor.PromptAnswer, error)
}

func (p *fakePopup) Connected() bool { return p.connected }

func (p *fakePopup) Prompt(_ context.Context, q executor.PermissionPrompt) (executor.PromptAnswer, error) {
	return p.answer(q)
}

// TestPopupPrompts checks that the extension popup shows the prompts while the extension is
// connected, even if the client supports elicitation. A call that the user does not answer fails
// with CONSENT_REQUIRED; a repeated call succeeds after the answer.
func TestPopupPrompts(t *testing.T) {
	for _, version := range []string{legacy, "2026-07-28"} {
		h := newPromptFixture(t)
		var shown []executor.PermissionPrompt
		answer, failure := executor.PromptAnswer(""), error(executor.ErrConsentRequired)
		p := &fakePopup{connected: true, answer: func(q executor.PermissionPrompt) (executor.PromptAnswer, error) {
			shown = append(shown, q)
			return answer, failure
		}}
		h.server.opts.Prompter = p
		h.server.tools = allTools()
		cs := connectAs(t, h.server, h.user(func(context.Context) (*sdk.ElicitResult, error) {
			return &sdk.ElicitResult{Action: "decline"}, nil
		}), version)
		if text := errorText(t, callTool(t, cs, "navigate", shopCall)); !strings.HasPrefix(text, "CONSENT_REQUIRED: ") || !strings.Contains(text, "popup") {
			t.Errorf("without an answer: %s", text)
		}
		failure = executor.ErrExtensionDisconnected
		if text := errorText(t, callTool(t, cs, "navigate", shopCall)); !strings.HasPrefix(text, "POLICY_DENIED: ") || !strings.Contains(text, "the prompt was not answered in the popup") {
			t.Errorf("after the extension disconnected: %s", text)
		}
		answer, failure = executor.AnswerOnce, nil
		batch := fmt.Sprintf(`{"calls":[{"tool":"navigate","args":%s}]}`, shopCall)
		if text := callTool(t, cs, "batch", batch).Content[0].(*sdk.TextContent).Text; !strings.Contains(text, "1 of 1 call") {
			t.Error(text)
		}
		want := executor.PermissionPrompt{Permission: executor.Permission{Kind: executor.PermitSite, Origin: "https://shop.example.com"}, Site: "https://shop.example.com", Tool: "navigate"}
		if len(shown) != 3 || shown[2] != want || h.prompts.Load() != 0 {
			t.Errorf("popup prompts %+v, %d client prompts", shown, h.prompts.Load())
		}
		p.connected = false
		if text := errorText(t, callTool(t, cs, "navigate", shopCall)); !strings.Contains(text, "the client declined the prompt") || h.prompts.Load() != 1 {
			t.Errorf("without the popup: %s, %d client prompts", text, h.prompts.Load())
		}
	}
}

// TestCallHash checks that calls have equal hashes only if client, tool and arguments are equal.
func TestCallHash(t *testing.T) {
	type args struct {
		Ref  string `json:"ref"`
		Text string `json:"text"`
	}
	click, fill := &tool{name: "click"}, &tool{name: "fill_form"}
	one, two := &toolRunner{sessionID: "one"}, &toolRunner{sessionID: "two"}
	hash := one.callHash(click, args{"e1", "x"})
	if again := one.callHash(click, args{"e1", "x"}); hash == "" || hash != again {
		t.Errorf("equal calls have the hashes %q and %q", hash, again)
	}
	for what, other := range map[string]string{
		"arguments": one.callHash(click, args{"e2", "x"}),
		"tool":      one.callHash(fill, args{"e1", "x"}),
		"client":    two.callHash(click, args{"e1", "x"}),
	} {
		if other == hash {
			t.Errorf("a call with another %s has the same hash", what)
		}
	}
	for name, calls := range map[string][2]string{
		"emulate":  {`{"headers":{"https://a.test":{"X-Lamp":"1"}}}`, `{"headers":{"https://a.test":{"X-Lamp":"2"}}}`},
		"wait_for": {`{"gone":"#a"}`, `{"gone":"#b"}`},
	} {
		tool := toolNamed(t, name)
		var hashes [2]string
		for i, raw := range calls {
			args, err := tool.decode(json.RawMessage(raw))
			if err != nil {
				t.Fatal(err)
			}
			hashes[i] = one.callHash(tool, args)
		}
		if hashes[0] == hashes[1] {
			t.Errorf("%s: calls with different arguments have the same hash", name)
		}
	}
	if hash := one.callHash(click, func() {}); hash == one.callHash(click, func() {}) {
		t.Errorf("calls with unknown arguments have the same hash %q", hash)
	}
}
