package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// coded is an error with more to it than its message.
type coded struct{ Code, Message string }

func (e *coded) Error() string { return e.Message }
func (e *coded) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{"code": e.Code, "message": e.Message})
}

// echo answers with the arguments, and fails when they ask for it.
func echo(_ context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
	var a struct{ Fail string }
	if err := json.Unmarshal(args, &a); err == nil && a.Fail != "" {
		return nil, &coded{a.Fail, "it failed"}
	}
	return json.Marshal(map[string]any{"name": name, "args": args})
}

func TestRun(t *testing.T) {
	for _, tt := range []struct {
		source string
		want   string // value, output, and what was thrown
	}{
		{"", ""},
		{"return 1 + 1", "2"},
		{"return 'text'", "text"},
		{"return {a: [1, null, 'x']}", `{"a":[1,null,"x"]}`},
		{"print('a', 1, {b: 2}); console.log('c'); return 'd'", "d a 1 {\"b\":2}\nc"},
		{"return echo({a: 1})", `{"args":{"a":1},"name":"echo"}`},
		{"return echo().args", "{}"},
		{"const r = await echo({a: 'é👍'}); return r.args.a", "é👍"},
		{"return await Promise.all([1, 2].map(async (n) => (await echo({n})).args.n))", "[1,2]"},
		{"try { echo({fail: 'BAD_ARGS'}) } catch (e) { return [e instanceof Error, e.code, e.message] }", `[true,"BAD_ARGS","it failed"]`},
		{"print('before'); echo({fail: 'TIMEOUT'}); print('after')", "before thrown TIMEOUT: it failed in 1"},
		{"\nthrow new TypeError('no')", "thrown TypeError: no in 2"},
		{"throw 'text'", "thrown text"},
		{"nothing()", "thrown ReferenceError: 'nothing' is not defined in 1"},
		{"const a = {}; a.a = a; return a", "thrown TypeError: circular reference"},
		{"return {toJSON() { throw new Error('mine') }}", "thrown Error: mine in 1"},
		{"throw {toJSON() { throw 1 }}", "thrown what it returned or threw cannot be told"},
		{"await new Promise(() => {})", "thrown it awaits a promise that nothing will ever settle"},
		{"return [typeof require, typeof fetch, typeof process, typeof std, typeof os, typeof setTimeout, typeof __call, typeof __end].join()", strings.Repeat("undefined,", 7) + "undefined"},
		{"try { await import('std') } catch (e) { return 'no modules' }", "no modules"},
		{"globalThis.JSON = null; Object.prototype.toJSON = () => 1; return echo({a: 1}).name", "echo"},
		{"let n = 0; for (;;) { try { n++; echo({n}) } catch (e) { return [n, e.message] } }", `[501,"the script has made its 500 calls"]`},
	} {
		res, err := Run(t.Context(), tt.source, []string{"echo"}, echo, Limits{})
		if err != nil {
			t.Errorf("%s: %v", tt.source, err)
			continue
		}
		got := strings.TrimSpace(res.Value + " " + res.Output)
		if res.Thrown != "" {
			got = strings.TrimSpace(got + " thrown " + res.Thrown)
			if res.Line > 0 {
				got += fmt.Sprint(" in ", res.Line)
			}
		}
		if got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.source, got, tt.want)
		}
	}
}

// TestBounds: whatever a script does, it ends, and its memory is bounded.
func TestBounds(t *testing.T) {
	limits := Limits{Compute: 300 * time.Millisecond, Memory: 32 << 20}
	for source, want := range map[string]string{
		"for (;;);": "computed for more than 300ms",
		"try { for (;;); } catch { return 'went on' } finally { for (;;); }":                             "computed for more than 300ms",
		"const f = async () => { for (;;) await 0 }; await f()":                                          "",
		"return /(a+)+$/.test('a'.repeat(50) + 'b')":                                                     "computed for more than 300ms",
		"const a = []; for (;;) a.push(new ArrayBuffer(1e5))":                                            "memory",
		"return new ArrayBuffer(1 << 30).byteLength":                                                     "memory",
		"let s = 'x'; for (;;) s += s":                                                                   "",
		"const f = () => f(); f()":                                                                       "",
		"return JSON.parse('['.repeat(1e6))":                                                             "",
		"const p = new Proxy({}, {get: () => { for (;;); }}); return p":                                  "computed for more than 300ms",
		"Promise.resolve().then(function again() { return Promise.resolve().then(again) }); return 'ok'": "",
	} {
		res, err := Run(t.Context(), source, nil, echo, limits)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if !strings.Contains(res.Thrown, want) || res.Thrown == "" && want != "" {
			t.Errorf("%s: thrown %q, want %q", source, res.Thrown, want)
		}
	}

	res, err := Run(t.Context(), "for (let i = 0; i < 1e4; i++) print('é'.repeat(99)); return 'é'.repeat(1e5)", nil, echo, Limits{Output: 1001})
	if err != nil || !res.Cut || len(res.Output) > 1001 || len(res.Value) != 1000 || !strings.HasSuffix(res.Value, "é") {
		t.Errorf("long output: %v, %d and %d bytes, cut %t", err, len(res.Output), len(res.Value), res.Cut)
	}
}

// TestTimeInCalls: what a call waits for is no computing.
func TestTimeInCalls(t *testing.T) {
	slow := func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
		select {
		case <-time.After(120 * time.Millisecond):
			return json.RawMessage("1"), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	res, err := Run(t.Context(), "return wait() + wait() + wait()", []string{"wait"}, slow, Limits{Compute: 100 * time.Millisecond})
	if err != nil || res.Value != "3" {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestCancelled(t *testing.T) {
	for _, source := range []string{"block()", "block(); for (;;);", "try { block() } catch { for (;;); }"} {
		ctx, cancel := context.WithCancel(t.Context())
		block := func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
			cancel()
			<-ctx.Done()
			return nil, ctx.Err()
		}
		res, err := Run(ctx, "print('here');"+source, []string{"block"}, block, Limits{})
		if !errors.Is(err, context.Canceled) || res == nil || res.Output != "here" || res.Calls != 1 {
			t.Errorf("%s: %+v, %v", source, res, err)
		}
	}
}

// TestWhatNothingStops: one step of the engine may take for ever. Nobody waits
// for it, it calls nothing any more, and there are not many of its kind.
func TestWhatNothingStops(t *testing.T) {
	defer func(was time.Duration) { patience = was }(patience)
	patience = 20 * time.Millisecond
	calls := 0
	call := func(context.Context, string, json.RawMessage) (json.RawMessage, error) { calls++; return nil, nil }
	for range maxEngines - 1 {
		engines <- struct{}{}
	}
	// The step is made longer until this machine takes too long for it.
	for length := 2_000_000; len(engines) < maxEngines; length *= 4 {
		source := fmt.Sprintf("print('here'); try { [].indexOf.call({length: %d}, 1) } finally { call() }", length)
		res, err := Run(t.Context(), source, []string{"call"}, call, Limits{Compute: 300 * time.Millisecond})
		if len(engines) == maxEngines && (err != nil || res.Output != "here" || !strings.Contains(res.Thrown, "computed for more than 300ms")) {
			t.Errorf("%+v, %v", res, err)
		}
		if len(engines) < maxEngines {
			calls = 0 // it got to the end
		}
	}
	if _, err := Run(t.Context(), "return 1", nil, call, Limits{}); !errors.Is(err, ErrBusy) {
		t.Errorf("one more: %v", err)
	}
	for range maxEngines - 1 {
		<-engines
	}
	for range maxEngines { // wait for the engine to end
		engines <- struct{}{}
	}
	for range maxEngines {
		<-engines
	}
	if calls != 0 {
		t.Errorf("%d calls", calls)
	}
}

func TestSyntax(t *testing.T) {
	for source, line := range map[string]string{"const x = ;": "line 1", "\n\nlet a = 1;\nlet a = 2": "line 4", "}": "", "export const a = 1": "", "*/": ""} {
		called := false
		_, err := Run(t.Context(), "f();\n"+source, []string{"f"}, func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			called = true
			return nil, nil
		}, Limits{})
		if !errors.Is(err, ErrSyntax) || called {
			t.Errorf("%q: %v, called %t", source, err, called)
		}
		_, err = Run(t.Context(), source, nil, echo, Limits{})
		if !errors.Is(err, ErrSyntax) || !strings.Contains(err.Error(), line) {
			t.Errorf("%q: %v, want %q", source, err, line)
		}
	}
}

func BenchmarkRun(b *testing.B) {
	for b.Loop() {
		if _, err := Run(b.Context(), "return echo({a: 1})", []string{"echo"}, echo, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}
