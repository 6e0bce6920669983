package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
)

// A memoryRecorder is an audit.Recorder in memory.
type memoryRecorder struct {
	mu      sync.Mutex // guards the fields below
	entries []audit.Entry
	broken  error
}

func (l *memoryRecorder) Ready() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.broken
}

func (l *memoryRecorder) Record(e audit.Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, e)
}

// take returns the entries since the last call of take or one.
func (l *memoryRecorder) take() []audit.Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.entries
	l.entries = nil
	return out
}

// one returns the only entry since the last call of take or one.
func (l *memoryRecorder) one(t *testing.T) audit.Entry {
	t.Helper()
	list := l.take()
	if len(list) != 1 {
		t.Fatalf("%d entries: %+v", len(list), list)
	}
	return list[0]
}

// reportDecision reports a decision to the observer in ctx.
func reportDecision(ctx context.Context, op executor.Operation, origin, destination, rule string, err error) {
	executor.Decision{Access: executor.Access{Op: op, Tab: "cdp:b7:1", Origin: origin, Destination: destination}, Rule: rule, Err: err}.Report(ctx)
}

func TestAudit(t *testing.T) {
	const secret = "correct horse battery staple"
	const shop, card = "https://shop.example", "https://card.example"
	denied := &executor.Error{Code: executor.ErrPolicyDenied, Rule: "block:evil.example", Err: errors.New(secret)}
	ex := &fake{
		navigate: func(ctx context.Context, _ executor.TabID, url string, _ *executor.NavigateOptions) (*executor.Navigation, error) {
			if strings.Contains(url, "evil") {
				reportDecision(ctx, executor.OpNavigate, shop, url, denied.Rule, denied)
				return nil, denied
			}
			reportDecision(ctx, executor.OpNavigate, shop, url, "allow:shop.example", nil)
			reportDecision(ctx, executor.OpRead, card, "", "allow:card.example", nil)
			return &executor.Navigation{TabID: "cdp:b7:1", URL: url, Title: secret}, nil
		},
		text: func(ctx context.Context, _ executor.TabID, _ *executor.TextOptions) (*executor.Text, error) {
			reportDecision(ctx, executor.OpRead, shop, "", "allow:shop.example", nil)
			reportDecision(ctx, executor.OpRead, card, "", "allow:card.example", nil)
			reportDecision(ctx, executor.OpRead, "https://evil.example", "", denied.Rule, denied)
			return &executor.Text{Content: secret, Origin: shop}, nil
		},
		typeText: func(ctx context.Context, _ executor.TabID, _ executor.Target, text string, _ *executor.TypeOptions) (*executor.Action, error) {
			reportDecision(ctx, executor.OpAct, card, "", "allow:card.example", nil)
			if text == "then denied" {
				reportDecision(ctx, executor.OpAct, shop, "", denied.Rule, denied)
				return nil, denied
			}
			return nil, executor.Errorf(executor.ErrNotActionable, "", "%s is covered", secret)
		},
	}
	var log memoryRecorder
	cs := connect(t, NewServer(ex, &Options{Audit: &log}), nil)
	start := log.one(t)
	if start.Event != audit.EventSession || start.Client != "test 1" || len(start.Session) != 8 {
		t.Errorf("session: %+v", start)
	}
	call := func(tool, args string) audit.Entry {
		t.Helper()
		callTool(t, cs, tool, args)
		e := log.one(t)
		if raw, err := json.Marshal(e); err != nil || strings.Contains(string(raw), "staple") || strings.Contains(string(raw), "token") || strings.Contains(string(raw), "/cart") {
			t.Errorf("%s: %s, %v", tool, raw, err)
		}
		if e.Event != audit.EventCall || e.Client != "test 1" || e.Session != start.Session || e.Tool != tool || len(e.Args) != 32 {
			t.Errorf("%s: %+v", tool, e)
		}
		return e
	}
	want := func(e audit.Entry, origin, decision, rule, code string, deniedParts int) {
		t.Helper()
		if e.Origin != origin || e.Decision != decision || e.Rule != rule || e.Code != code || e.DeniedParts != deniedParts || e.Tab != "cdp:b7:1" {
			t.Errorf("%s: %+v", e.Tool, e)
		}
	}
	want(call("navigate", `{"url":"https://shop.example/cart?token=1","tabId":"cdp:b7:1"}`), shop, audit.Allowed, "allow:shop.example", "OK", 0)
	evil := call("navigate", `{"url":"https://evil.example/cart?token=1","tabId":"cdp:b7:1"}`)
	want(evil, "https://evil.example", audit.Denied, denied.Rule, "POLICY_DENIED", 0)
	if evil.Acted {
		t.Errorf("the denied call has Acted: %+v", evil)
	}
	want(call("get_text", `{}`), shop, audit.Allowed, "allow:shop.example", "OK", 1)
	one := call("type", `{"ref":"e1","text":"`+secret+`"}`)
	want(one, card, audit.Allowed, "allow:card.example", "NOT_ACTIONABLE", 0)
	later := call("type", `{"ref":"e1","text":"then denied","tabId":"cdp:b7:1"}`)
	want(later, shop, audit.Denied, denied.Rule, "POLICY_DENIED", 0)
	if !one.Acted || !later.Acted {
		t.Errorf("calls that acted before they failed do not have Acted: %+v, %+v", one, later)
	}
	want(call("navigate", `{"url":"https://shop.example/cart","tabId":"cdp:b7:1","timeoutMS":"`+secret+`"}`), shop, "", "", "BAD_ARGS", 0)

	// Equal arguments have equal hashes within a session, independent of key order and white space.
	// Hashes differ between sessions.
	if again := call("type", `{ "text":"`+secret+`", "ref":"e1" }`); again.Args != one.Args {
		t.Errorf("equal arguments have the hashes %s and %s", again.Args, one.Args)
	}
	if other := call("type", `{"ref":"e1","text":"another"}`); other.Args == one.Args {
		t.Error("other arguments have the same hash")
	}
	cs = connect(t, NewServer(ex, &Options{Audit: &log}), nil)
	log.take()
	callTool(t, cs, "type", `{"ref":"e1","text":"`+secret+`"}`)
	if other := log.one(t); other.Args == one.Args || other.Session == one.Session {
		t.Errorf("in another session: %+v", other)
	}
	callTool(t, cs, "get_text", `{"tabId":"cdp:`+strings.ReplaceAll(secret, " ", "-")+`:1"}`)
	if e := log.one(t); strings.Contains(e.Tab, "staple") {
		t.Errorf("%+v", e)
	}
}

// TestAuditOutage checks that calls that act are denied while the audit log is not writable, and
// that other calls work.
func TestAuditOutage(t *testing.T) {
	var log memoryRecorder
	var did recorder
	cs := connect(t, NewServer(canned(&did), &Options{Audit: &log}), nil)
	log.broken = errors.New("no space left on device")
	for _, tt := range []struct {
		tool, args string
		denied     bool
	}{
		{"get_text", `{}`, false},
		{"snapshot", `{}`, false},
		{"chrome_status", `{}`, false},
		{"tabs_list", `{}`, false},
		{"wait_for", `{"text":"Done"}`, false},
		{"wait_for", `{"expression":"send()"}`, true},
		{"click", `{"ref":"e6"}`, true},
		{"hover", `{"ref":"e6"}`, true},
		{"navigate", `{"url":"https://shop.example/"}`, true},
		{"tab_new", `{}`, true},
		{"eval", `{"expression":"1"}`, true},
		{"download_file", `{"ref":"e8"}`, true},
		{"handle_dialog", `{"accept":false}`, true},
	} {
		log.take()
		did.take()
		res := callTool(t, cs, tt.tool, tt.args)
		if res.IsError != tt.denied || tt.denied && !strings.Contains(textOf(res), "POLICY_DENIED: The audit log is not writable") {
			t.Errorf("%s %s: %s", tt.tool, tt.args, textOf(res))
		}
		if done := did.take(); tt.denied && done != "" {
			t.Errorf("%s did %s", tt.tool, done)
		}
		if e := log.one(t); tt.denied != (e.Rule == "audit-log" && e.Decision == audit.Denied) {
			t.Errorf("%s: %+v", tt.tool, e)
		}
	}
	log.mu.Lock()
	log.broken = nil
	log.mu.Unlock()
	if res := callTool(t, cs, "click", `{"ref":"e6"}`); res.IsError {
		t.Error(textOf(res))
	}
}

// TestAuditWithoutDecision checks which successful calls count as having acted although the policy
// decided nothing, and that the entry of a batch has the decision about a call in it.
func TestAuditWithoutDecision(t *testing.T) {
	var log memoryRecorder
	var did recorder
	ex := canned(&did)
	click := ex.click
	ex.click = func(ctx context.Context, tab executor.TabID, target executor.Target, o *executor.ClickOptions) (*executor.Action, error) {
		reportDecision(ctx, executor.OpAct, "https://shop.example", "", "allow:shop.example", nil)
		return click(ctx, tab, target, o)
	}
	cs := connect(t, NewServer(ex, &Options{Audit: &log, Tools: Toolsets()}), nil)
	for _, tt := range []struct {
		tool, args string
		acted      bool
		rule       string
	}{
		{"tabs_list", `{}`, false, ""},
		{"get_text", `{}`, false, ""},
		{"tab_select", `{"tabId":"cdp:b7:1"}`, false, ""},
		{"batch", `{"calls":[{"tool":"tabs_list","args":{}}]}`, false, ""},
		{"batch", `{"calls":[{"tool":"click","args":{"ref":"e6"}}]}`, false, "allow:shop.example"},
		{"run_script", `{"script":"click({ref: 'e6'})"}`, false, "allow:shop.example"},
		{"tab_new", `{}`, true, ""},
		{"click", `{"ref":"e6"}`, false, "allow:shop.example"},
	} {
		log.take()
		if res := callTool(t, cs, tt.tool, tt.args); res.IsError {
			t.Errorf("%s: %s", tt.tool, textOf(res))
		}
		all := log.take()
		e := all[len(all)-1]
		if e.Tool != tt.tool || e.Code != "OK" || e.Acted != tt.acted || e.Rule != tt.rule || (e.Decision == audit.Allowed) != (tt.rule != "") {
			t.Errorf("%s: %+v", tt.tool, e)
		}
	}
}

// TestAuditFlood makes 10,000 calls that have no effect. The log grows by a few lines and keeps its
// earlier entries.
func TestAuditFlood(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log, err := audit.Open(path, &audit.Options{MaxBytes: 8 << 10, Keep: 1}) // 10,000 lines would push all others out
	if err != nil {
		t.Fatal(err)
	}
	var did recorder
	ex := canned(&did)
	limited := NewServer(ex, &Options{Audit: log, CallsPerMinute: 5, Tools: Toolsets()}).newRunner(ex)
	s := NewServer(ex, &Options{Audit: log, CallsPerMinute: -1, Tools: Toolsets()}).newRunner(ex)
	call := func(r *toolRunner, tool, args string) {
		r.runTool(t.Context(), r.tool(tool), json.RawMessage(args), false, nil)
	}
	call(limited, "click", `{"ref":"e6"}`)
	const n = 10_000
	for i := range n {
		switch i % 6 {
		case 0:
			call(limited, "chrome_status", `{}`)
		case 1:
			call(limited, "navigate", fmt.Sprintf(`{"url":"https://h%d.example/","none":%d,"tabId":"cdp:b7:%d"}`, i, i, i))
		case 2:
			call(limited, "get_text", fmt.Sprintf(`{"tabId":"cdp:b7:%d"}`, i))
		case 3:
			call(s, "tabs_list", `{}`)
		case 4:
			call(s, "secrets_list", `{}`)
		case 5:
			call(s, "batch", fmt.Sprintf(`{"calls":[{"tool":"chrome_status","args":{}}],"continueOnError":%t}`, i%2 == 0))
		}
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	lines, counted := 0, 0
	clicked := false
	for _, name := range audit.Files(path) {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			var e audit.Entry
			if err := json.Unmarshal(line, &e); err != nil {
				t.Fatal(err)
			}
			lines++
			if e.Event != audit.EventCall {
				continue
			}
			clicked = clicked || e.Tool == "click"
			if e.Count == 0 {
				counted++
			}
			counted += e.Count
		}
	}
	if want := 1 + n + n/6; lines > 40 || counted != want || !clicked { // with the calls in the batches
		t.Errorf("%d lines for %d of %d calls, click included: %t", lines, counted, want, clicked)
	}
}
