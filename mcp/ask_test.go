package mcp

import (
	"context"
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
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// A household is a server over a Guard that allows nothing, and its user.
type household struct {
	asked  atomic.Int32
	went   atomic.Int32 // navigations that were carried out
	guard  *policy.Guard
	server *Server
}

func newHousehold(t *testing.T) *household {
	rules, err := policy.New(policy.Config{})
	if err != nil {
		t.Fatal(err)
	}
	h := &household{guard: policy.NewGuard(rules, nil)}
	h.server = NewServer(h.guard.Wrap(&fake{
		navigate: func(_ context.Context, _ executor.TabID, url string, _ *executor.NavigateOptions) (*executor.Navigation, error) {
			h.went.Add(1)
			return &executor.Navigation{TabID: tab1, URL: url}, nil
		},
		status: func(context.Context) executor.Status { return executor.Status{} },
	}), &Options{Ask: true})
	return h
}

// user returns the options of a client whose user answers like this.
func (h *household) user(answer func(context.Context) (*sdk.ElicitResult, error)) *sdk.ClientOptions {
	return &sdk.ClientOptions{ElicitationHandler: func(ctx context.Context, _ *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		h.asked.Add(1)
		return answer(ctx)
	}}
}

// legacy is a version of the protocol in which servers ask by themselves.
const legacy = "2025-11-25"

const shopCall = `{"url":"https://shop.example.com/"}`

// errorText returns the text of a result that must be an error.
func errorText(t *testing.T, res *sdk.CallToolResult) string {
	t.Helper()
	if !res.IsError {
		t.Fatalf("it was done: %v", res.Content[0].(*sdk.TextContent).Text)
	}
	return res.Content[0].(*sdk.TextContent).Text
}

// TestOddAnswers: whatever a client makes of a question, nothing is done, and
// the next call works.
func TestOddAnswers(t *testing.T) {
	accept := func(content map[string]any) func(context.Context) (*sdk.ElicitResult, error) {
		return func(context.Context) (*sdk.ElicitResult, error) {
			return &sdk.ElicitResult{Action: "accept", Content: content}, nil
		}
	}
	for name, c := range map[string]struct {
		answer func(context.Context) (*sdk.ElicitResult, error)
		want   string
	}{
		"another word":  {accept(map[string]any{"answer": "always"}), "none of once, session and no"},
		"nothing":       {accept(nil), "none of once, session and no"},
		"a number":      {accept(map[string]any{"answer": 1}), "none of once, session and no"},
		"another field": {accept(map[string]any{"ok": true}), "none of once, session and no"},
		"no action":     {func(context.Context) (*sdk.ElicitResult, error) { return &sdk.ElicitResult{Action: "maybe"}, nil }, "none of once, session and no"},
		"an error":      {func(context.Context) (*sdk.ElicitResult, error) { return nil, errors.New("no window") }, "none of once, session and no"},
		"closed":        {func(context.Context) (*sdk.ElicitResult, error) { return &sdk.ElicitResult{Action: "cancel"}, nil }, "closed the question"},
		"declined":      {func(context.Context) (*sdk.ElicitResult, error) { return &sdk.ElicitResult{Action: "decline"}, nil }, "said no"},
		"never": {func(ctx context.Context) (*sdk.ElicitResult, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, "has not answered within 55 seconds"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHousehold(t)
				cs := connectAs(t, h.server, h.user(c.answer), legacy)
				begin := time.Now()
				text := errorText(t, callTool(t, cs, "navigate", shopCall))
				if !strings.HasPrefix(text, "POLICY_DENIED: ") || !strings.Contains(text, c.want) {
					t.Errorf("the call answers %s", text)
				}
				if took := time.Since(begin); took > askTimeout+time.Second {
					t.Errorf("it took %v", took)
				}
				again := errorText(t, callTool(t, cs, "navigate", shopCall))
				if n, want := h.asked.Load(), map[bool]int32{true: 2, false: 1}[name == "closed"]; n != want || !strings.Contains(again, c.want) {
					t.Errorf("the user was asked %d times; then: %s", n, again)
				}
				if text := callTool(t, cs, "chrome_status", "{}").Content[0].(*sdk.TextContent).Text; !strings.Contains(text, "allowed domains: none") {
					t.Errorf("the status is %s", text)
				}
				if h.went.Load() != 0 {
					t.Error("it went there")
				}
			})
		})
	}
}

// TestOneQuestion: calls that need the same at the same time are one question,
// and its answer is for each of them; one that is cancelled leaves the others'.
func TestOneQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHousehold(t)
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
		if h.asked.Load() != 1 || h.went.Load() != 4 {
			t.Errorf("%d questions, %d navigations", h.asked.Load(), h.went.Load())
		}
		if n := len(h.guard.Policy().Config().AllowDomains); n != 0 {
			t.Errorf("%d sites are allowed still", n)
		}
	})
}

// TestOnceIsForWhatWasAsked: a call that waits for the answer to another's
// question, of which the user was shown something else, is asked about itself.
func TestOnceIsForWhatWasAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHousehold(t)
		cs := connectAs(t, h.server, h.user(func(context.Context) (*sdk.ElicitResult, error) {
			time.Sleep(time.Second)
			said := "once"
			if h.asked.Load() > 1 {
				said = "no"
			}
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer": said}}, nil
		}), legacy)
		var calls sync.WaitGroup
		for i := range 4 {
			calls.Go(func() {
				callTool(t, cs, "navigate", fmt.Sprintf(`{"url":"https://shop.example.com/%d"}`, i))
			})
		}
		calls.Wait()
		if h.asked.Load() != 2 || h.went.Load() != 1 {
			t.Errorf("%d questions, %d navigations", h.asked.Load(), h.went.Load())
		}
	})
}

// TestOnceIsNotForABatch: a batch whose client cannot be asked about it has
// nothing of what another call at the same time is permitted.
func TestOnceIsNotForABatch(t *testing.T) {
	h := newHousehold(t)
	h.server.tools = allTools()
	revoke, err := h.guard.Permit(h.guard.Call(t.Context()), executor.Permission{Kind: executor.PermitSite, Origin: "https://shop.example.com"}, true)
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
		if h.went.Load() != 0 {
			t.Errorf("%s went there", tool)
		}
	}
}

// TestCancelledQuestion: when nobody waits any more, the client is told.
func TestCancelledQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHousehold(t)
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

// TestPermissionEndsWithItsSession: another session of the same server is not
// permitted what one was, once that is over.
func TestPermissionEndsWithItsSession(t *testing.T) {
	h := newHousehold(t)
	yes := func(context.Context) (*sdk.ElicitResult, error) {
		return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer": "session"}}, nil
	}
	t.Run("first", func(t *testing.T) {
		cs := connectAs(t, h.server, h.user(yes), legacy)
		for range 2 {
			if res := callTool(t, cs, "navigate", shopCall); res.IsError {
				t.Error(errorText(t, res))
			}
		}
	})
	t.Run("second", func(t *testing.T) {
		cs := connectAs(t, h.server, nil, legacy)
		errorText(t, callTool(t, cs, "navigate", shopCall))
	})
	if h.asked.Load() != 1 || h.went.Load() != 2 {
		t.Errorf("%d questions, %d navigations", h.asked.Load(), h.went.Load())
	}
}

// TestReturnedQuestions: where the protocol has questions returned, an answer
// is taken once, for the very call that was asked about, and of nobody who was
// not asked.
func TestReturnedQuestions(t *testing.T) {
	h := newHousehold(t)
	opts := h.user(func(context.Context) (*sdk.ElicitResult, error) { return nil, errors.New("not by the library") })
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
			t.Fatalf("%d questions", len(answers))
		}
		return answers
	}
	forged := sdk.InputResponseMap{"x": &sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer": "session"}}}
	asked := call(shopCall, forged)
	if !asked.NeedsInput() {
		t.Fatal("an answer to no question was taken")
	}
	answers := once(asked)
	if other := call(`{"url":"https://shop.example.com/other"}`, answers); !other.NeedsInput() {
		t.Error("the answer was taken for another call")
	} else if res := call(`{"url":"https://shop.example.com/other"}`, once(other)); res.IsError || res.NeedsInput() {
		t.Error("the answer was not taken")
	} else if res := call(`{"url":"https://shop.example.com/other"}`, once(other)); !res.NeedsInput() {
		t.Error("the answer was taken twice")
	}
	if h.went.Load() != 1 {
		t.Errorf("%d navigations", h.went.Load())
	}
}

// TestManyQuestions: a user who says no very often is asked nothing else, and a
// client that does not answer is asked again after a while.
func TestManyQuestions(t *testing.T) {
	for name, tt := range map[string]struct {
		answer *sdk.ElicitResult
		limit  int32
		ends   bool
	}{
		"refused":      {&sdk.ElicitResult{Action: "decline"}, maxRefused, false},
		"not answered": {&sdk.ElicitResult{Action: "maybe"}, maxQuiet, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHousehold(t)
				cs := connectAs(t, h.server, h.user(func(context.Context) (*sdk.ElicitResult, error) { return tt.answer, nil }), legacy)
				visit := func(n int32) string {
					return errorText(t, callTool(t, cs, "navigate", fmt.Sprintf(`{"url":"https://shop%d.example.com/"}`, n)))
				}
				for n := range tt.limit {
					visit(n)
				}
				if text := visit(tt.limit); !strings.Contains(text, "too many questions") || h.asked.Load() != tt.limit {
					t.Errorf("the user was asked %d times, want %d; then: %s", h.asked.Load(), tt.limit, text)
				}
				time.Sleep(quietFor)
				visit(tt.limit)
				if again := h.asked.Load() > tt.limit; again != tt.ends {
					t.Errorf("asked again after a while: %t", again)
				}
			})
		})
	}
}

// TestUnansweredQuestions: a client that never makes its calls again leaves
// nothing behind.
func TestUnansweredQuestions(t *testing.T) {
	a := newAsking(nil, nil, nil)
	defer a.close()
	for i := range 10 * maxOpen {
		p := executor.Permission{Kind: executor.PermitSite, Origin: fmt.Sprintf("https://shop%d.example.com", i)}
		if _, _, err := a.askOnce(t.Context(), &asker{returns: true}, &question{id: fmt.Sprint(i), missing: p}); !errors.Is(err, executor.ErrConsentRequired) {
			t.Fatal(err)
		}
	}
	if len(a.open) > maxOpen || len(a.asked) > maxOpen {
		t.Errorf("%d questions are open and %d are kept, want at most %d", len(a.open), len(a.asked), maxOpen)
	}
}

// TestNobodyToAsk: without a client that asks, without the option and in
// batches of a client that would have to make them again, calls are denied.
func TestNobodyToAsk(t *testing.T) {
	h := newHousehold(t)
	yes := h.user(func(context.Context) (*sdk.ElicitResult, error) {
		return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer": "session"}}, nil
	})
	silent := *h.server
	silent.opts.Ask = false
	h.server.tools = allTools()
	urlOnly := *yes
	urlOnly.Capabilities = &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{URL: &sdk.URLElicitationCapabilities{}}}
	batch := fmt.Sprintf(`{"calls":[{"tool":"navigate","args":%s}]}`, shopCall)
	for _, version := range []string{legacy, "2026-07-28"} {
		errorText(t, callTool(t, connectAs(t, h.server, nil, version), "navigate", shopCall))
		errorText(t, callTool(t, connectAs(t, h.server, &urlOnly, version), "navigate", shopCall))
		errorText(t, callTool(t, connectAs(t, &silent, yes, version), "navigate", shopCall))
	}
	if h.asked.Load() != 0 || h.went.Load() != 0 {
		t.Errorf("%d questions, %d navigations", h.asked.Load(), h.went.Load())
	}
	if text := callTool(t, connectAs(t, h.server, yes, "2026-07-28"), "batch", batch).Content[0].(*sdk.TextContent).Text; !strings.Contains(text, "0 of 1 call") {
		t.Error(text)
	}
	if text := callTool(t, connectAs(t, h.server, yes, legacy), "batch", batch).Content[0].(*sdk.TextContent).Text; !strings.Contains(text, "1 of 1 call") {
		t.Error(text)
	}
	if h.asked.Load() != 1 {
		t.Errorf("%d questions", h.asked.Load())
	}
}

// A popup is the extension's, as far as it asks.
type popup struct {
	connected bool
	answer    func(executor.Question) (executor.Answer, error)
}

func (p *popup) Connected() bool { return p.connected }

func (p *popup) AskUser(_ context.Context, q executor.Question) (executor.Answer, error) {
	return p.answer(q)
}

// TestPopupAsks: while the extension is connected it asks, whatever the client
// can; a call that the user does not answer ends with CONSENT_REQUIRED, and
// the same call later finds the answer.
func TestPopupAsks(t *testing.T) {
	for _, version := range []string{legacy, "2026-07-28"} {
		h := newHousehold(t)
		var asked []executor.Question
		answer, failure := executor.Answer(""), error(executor.ErrConsentRequired)
		p := &popup{connected: true, answer: func(q executor.Question) (executor.Answer, error) {
			asked = append(asked, q)
			return answer, failure
		}}
		h.server.opts.AskUser = p
		h.server.tools = allTools()
		cs := connectAs(t, h.server, h.user(func(context.Context) (*sdk.ElicitResult, error) {
			return &sdk.ElicitResult{Action: "decline"}, nil
		}), version)
		if text := errorText(t, callTool(t, cs, "navigate", shopCall)); !strings.HasPrefix(text, "CONSENT_REQUIRED: ") || !strings.Contains(text, "popup") {
			t.Errorf("while nobody answers: %s", text)
		}
		failure = executor.ErrExtensionDisconnected
		if text := errorText(t, callTool(t, cs, "navigate", shopCall)); !strings.HasPrefix(text, "POLICY_DENIED: ") {
			t.Errorf("when it is gone: %s", text)
		}
		answer, failure = executor.AnswerOnce, nil
		batch := fmt.Sprintf(`{"calls":[{"tool":"navigate","args":%s}]}`, shopCall)
		if text := callTool(t, cs, "batch", batch).Content[0].(*sdk.TextContent).Text; !strings.Contains(text, "1 of 1 call") {
			t.Error(text)
		}
		want := executor.Question{Permission: executor.Permission{Kind: executor.PermitSite, Origin: "https://shop.example.com"}, Site: "https://shop.example.com", Tool: "navigate"}
		if len(asked) != 3 || asked[2] != want || h.asked.Load() != 0 {
			t.Errorf("the popup was asked %+v, the client %d times", asked, h.asked.Load())
		}
		p.connected = false
		if text := errorText(t, callTool(t, cs, "navigate", shopCall)); !strings.Contains(text, "said no") || h.asked.Load() != 1 {
			t.Errorf("without it: %s, the client was asked %d times", text, h.asked.Load())
		}
	}
}

// TestCallKey checks that calls have equal keys only if client, tool and arguments
// are equal.
func TestCallKey(t *testing.T) {
	type args struct {
		Ref  string `json:"ref"`
		Text string `json:"text"`
	}
	click, fill := &tool{name: "click"}, &tool{name: "fill_form"}
	one, two := &session{client: "one"}, &session{client: "two"}
	key := one.callKey(click, args{"e1", "x"})
	if key.Client != "one" || key.Hash == "" || key != one.callKey(click, args{"e1", "x"}) {
		t.Errorf("the same call has the keys %+v and %+v", key, one.callKey(click, args{"e1", "x"}))
	}
	for what, other := range map[string]executor.CallKey{
		"arguments": one.callKey(click, args{"e2", "x"}),
		"tool":      one.callKey(fill, args{"e1", "x"}),
		"client":    two.callKey(click, args{"e1", "x"}),
	} {
		if other.Hash == key.Hash {
			t.Errorf("a call with another %s has the same key", what)
		}
	}
	if key := one.callKey(click, func() {}); key.Hash != "" {
		t.Errorf("a call with unknown arguments has the key %+v", key)
	}
}
