package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	gopsprocess "github.com/shirou/gopsutil/v4/process"

	"github.com/chrome-mcp/chrome-mcp/internal/child"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/leakcheck"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/testlog"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

func TestMain(m *testing.M) { os.Exit(leakcheck.Run(m)) }

// coded is an error with a code in addition to its message.
type coded struct{ Code, Message string }

func (e *coded) Error() string { return e.Message }
func (e *coded) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{"code": e.Code, "message": e.Message})
}

// echo returns its name and arguments, or an error with the code in the argument fail.
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
		want   string // value, output and uncaught exception
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
		{"throw {toJSON() { throw 1 }}", "thrown the value cannot be converted to text"},
		{"await new Promise(() => {})", "thrown the script awaits a promise that never settles"},
		{"return [typeof require, typeof fetch, typeof process, typeof std, typeof os, typeof setTimeout, typeof __call, typeof __end].join()", strings.Repeat("undefined,", 7) + "undefined"},
		{"try { await import('std') } catch (e) { return 'no modules' }", "no modules"},
		{"'use strict'; try { undeclared = 1 } catch (e) { return e.name }", "ReferenceError"},
		{"// a comment\n/* another * / */ \"use strict\"\nreturn String((() => this)())", "undefined"},
		{"return 'use strict', undeclared = 1", "1"},
		{"globalThis.JSON = null; Object.prototype.toJSON = () => 1; return echo({a: 1}).name", "echo"},
		{"let n = 0; for (;;) { try { n++; echo({n}) } catch (e) { return [n, e.message] } }", `[501,"the script exceeded its limit of 500 calls"]`},
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

// TestBounds checks that scripts end and that their memory is limited.
func TestBounds(t *testing.T) {
	for source, want := range map[string]string{
		"for (;;);": "computed for more than 300ms",
		"try { for (;;); } catch { return 'continued' } finally { for (;;); }":                           "computed for more than 300ms",
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
		limits := Limits{Compute: 300 * time.Millisecond, Memory: 32 << 20}
		if want == "memory" {
			limits.Compute = await.HangLimit
		}
		res, err := Run(t.Context(), source, nil, echo, limits)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if !strings.Contains(res.Thrown, want) || res.Thrown == "" && want != "" {
			t.Errorf("%s: thrown %q, want %q", source, res.Thrown, want)
		}
	}

	res, err := Run(t.Context(), "for (let i = 0; i < 1e4; i++) print('é'.repeat(99)); return 'é'.repeat(1e5)", nil, echo, Limits{Output: 1001, Compute: await.HangLimit})
	if err != nil || !res.Truncated || len(res.Output) > 1001 || len(res.Value) != 1000 || !strings.HasSuffix(res.Value, "é") {
		t.Errorf("long output: %v, %d and %d bytes, truncated %t", err, len(res.Output), len(res.Value), res.Truncated)
	}
}

// A fakeEngine is the process of a script that calls wait three times. It computes for almost a second
// before, between and after the calls.
type fakeEngine struct{ messages, sent chan *child.Message }

func (e *fakeEngine) Messages() <-chan *child.Message { return e.messages }
func (e *fakeEngine) Send(m *child.Message) error     { e.sent <- m; return nil }
func (e *fakeEngine) Kill()                           {}

// run runs the script in the fake time of synctest.
func (e *fakeEngine) run() {
	send := func(kind string, data any) { e.messages <- child.NewMessage(kind, data) }
	send("ready", nil)
	for i := range 3 {
		<-e.sent // start, answer
		if i == 0 {
			send("running", nil)
		}
		time.Sleep(time.Second - 1)
		send("call", callData{Name: "wait", Args: "{}"})
	}
	<-e.sent
	time.Sleep(time.Second - 1)
	send("end", endData{textData: textData{Text: "3"}, Outcome: "value"})
	send("ended", "")
}

// TestTimeInCalls checks that the time of calls does not count as computing time, and that the time
// between them does.
func TestTimeInCalls(t *testing.T) {
	for limit, want := range map[time.Duration]string{time.Second: "3", time.Second - 2: ""} {
		synctest.Test(t, func(t *testing.T) {
			e := &fakeEngine{make(chan *child.Message, 8), make(chan *child.Message, 8)}
			var running sync.WaitGroup
			running.Go(e.run)
			slow := func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
				time.Sleep(time.Minute)
				return json.RawMessage("1"), nil
			}
			r := &execution{limits: Limits{Compute: limit}.withDefaults(), process: e}
			err := r.serve(t.Context(), slow, child.NewMessage("start", startData{}))
			if err != nil || r.res.Value != want || r.timedOut != (want == "") {
				t.Errorf("limit %v: %+v, timed out %t, %v", limit, r.res, r.timedOut, err)
			}
			close(e.sent)
			running.Wait()
		})
	}
}

func TestCanceled(t *testing.T) {
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

// TestTimeZone checks that a script has the time zone of the program.
func TestTimeZone(t *testing.T) {
	t.Setenv("TZ", "America/New_York")
	res, err := Run(t.Context(), "return new Date(0).getTimezoneOffset()", nil, echo, Limits{})
	if err != nil || res.Value != "300" {
		t.Errorf("%+v, %v", res, err)
	}
}

// endless is one step of the engine that never ends.
const endless = "[].indexOf.call({length: 2 ** 53 - 1}, 1)"

// TestEndlessSteps checks that endless steps in all concurrent scripts end with
// their processes, and that the next script works.
func TestEndlessSteps(t *testing.T) {
	var calls atomic.Int32
	call := func(context.Context, string, json.RawMessage) (json.RawMessage, error) { calls.Add(1); return nil, nil }
	source := "print('here'); try { " + endless + " } finally { call() }"
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var started, all sync.WaitGroup
	started.Add(maxComputing)
	for range maxComputing {
		all.Go(func() {
			once := sync.OnceFunc(started.Done)
			res, err := Run(ctx, "start();"+source, []string{"call", "start"}, func(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
				if name == "start" {
					once()
					started.Wait() // all of them run
					return nil, nil
				}
				return call(ctx, name, args)
			}, Limits{Compute: 10 * await.HangLimit})
			if !errors.Is(err, context.Canceled) || res.Output != "here" {
				t.Errorf("%+v, %v", res, err)
			}
		})
	}
	started.Wait()
	awaitComputing(t, maxComputing)
	if _, err := Run(t.Context(), "return 1", nil, call, Limits{}); !errors.Is(err, ErrBusy) {
		t.Errorf("Run beyond maxComputing: %v", err)
	}
	cancel()
	all.Wait()
	noProcess(t)
	res, err := Run(t.Context(), source, []string{"call"}, call, Limits{Compute: 300 * time.Millisecond})
	if err != nil || !strings.Contains(res.Thrown, "computed for more than 300ms") {
		t.Errorf("an endless step: %+v, %v", res, err)
	}
	noProcess(t)
	if res, err := Run(t.Context(), "return 1", nil, call, Limits{}); err != nil || res.Value != "1" {
		t.Errorf("afterwards: %+v, %v", res, err)
	}
	if n := calls.Load(); n != 0 {
		t.Errorf("%d calls", n)
	}
}

// TestCanceledStep checks that cancellation ends a script during a step.
func TestCanceledStep(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	started, ended := make(chan struct{}), make(chan error, 1)
	start := func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		close(started)
		return nil, nil
	}
	go func() {
		_, err := Run(ctx, "start(); "+endless, []string{"start"}, start, Limits{Compute: 10 * await.HangLimit})
		ended <- err
	}()
	await.Receive(t, "the call of a script", started)
	awaitComputing(t, 1)
	cancel()
	if err := await.Receive(t, "the end of a script", ended); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	noProcess(t)
}

// children returns the child processes of this one.
func children(t *testing.T) []*gopsprocess.Process {
	t.Helper()
	self, err := gopsprocess.NewProcess(int32(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	list, err := self.Children()
	if err != nil && !errors.Is(err, gopsprocess.ErrorNoChildren) {
		t.Fatal(err)
	}
	return list
}

// awaitComputing waits until the scripts of n engine processes, which have begun, have computed for
// some time.
func awaitComputing(t *testing.T, n int) {
	t.Helper()
	used := func(p *gopsprocess.Process) float64 {
		times, err := p.Times()
		if err != nil {
			t.Fatal(err)
		}
		return times.User
	}
	list := children(t)
	if len(list) != n {
		t.Fatalf("%d engine processes, want %d", len(list), n)
	}
	for _, p := range list {
		before := used(p)
		await.Until(t, "a script that computes", func() bool { return used(p) > before+0.05 })
	}
}

// noProcess fails the test if a child process still runs.
func noProcess(t *testing.T) {
	t.Helper()
	for _, c := range children(t) {
		t.Errorf("process %d is still running", c.Pid)
	}
}

// TestEngineEndsWithItsParent checks that an engine process exits at the end of its
// input. A killed parent cannot stop it otherwise.
func TestEngineEndsWithItsParent(t *testing.T) {
	p, err := child.Start(engineName)
	if err != nil {
		t.Fatal(err)
	}
	defer p.End()
	receive := func(want string) {
		if m := <-p.Messages(); m == nil || m.Kind != want {
			t.Fatalf("message %+v, want %s", m, want)
		}
	}
	receive("ready")
	if err := p.Send(child.NewMessage("start", startData{"start(); " + endless, []string{"start"}, DefaultMemory, 10})); err != nil {
		t.Fatal(err)
	}
	receive("running") // the computing time starts, after the engine was created
	receive("call")
	if err := p.Send(child.NewMessage("answer", "{}")); err != nil {
		t.Fatal(err)
	}
	p.CloseInput()
	limit := await.Context(t).Done()
	for {
		select {
		case m, ok := <-p.Messages():
			if !ok {
				return
			}
			t.Errorf("after the end of input: message %+v", m)
		case <-limit:
			p.Kill()
			t.Fatal("the engine runs after the end of its input")
		}
	}
}

// TestLongMessages checks that values that are too long for a message cause errors
// in the script.
func TestLongMessages(t *testing.T) {
	tier.Deep(t)
	long := func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		return json.Marshal(strings.Repeat("x", child.MaxMessage))
	}
	const catch = "try { %s; return 'done' } catch (e) { return e.message }"
	limits := Limits{Memory: 2 << 30, Compute: 10 * await.HangLimit} // the race detector makes the engine slow and large
	for call, want := range map[string]string{
		"long()":                     "the result of long: it is larger than 24 MiB",
		"long({a: '€'.repeat(9e6)})": "the argument: it is larger than 24 MiB",
	} {
		res, err := Run(t.Context(), fmt.Sprintf(catch, call), []string{"long"}, long, limits)
		if err != nil || res.Value != want {
			t.Errorf("%s: %+v, %v", call, res, err)
		}
	}
	res, err := Run(t.Context(), "//"+strings.Repeat("x", child.MaxMessage), nil, long, limits)
	if err != nil || res.Thrown != "the script: it is larger than 24 MiB" {
		t.Errorf("a long script: %+v, %v", res, err)
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

func TestHugeResults(t *testing.T) {
	tier.Slow(t)
	for _, form := range []string{"return 'x'.repeat(%d)", "await 0; return 'x'.repeat(%d)", "throw 'x'.repeat(%d)", "print('x'.repeat(%d))"} {
		large := 10_000_000
		if testlog.RaceEnabled && !tier.DeepEnabled() {
			large = 1_000_000 // the race detector makes the engine slow
		}
		for _, size := range []int{large, 50e6} {
			if size == 50e6 && strings.HasPrefix(form, "throw") {
				continue // not enough memory is left to describe it
			}
			if size == 50e6 && testlog.RaceEnabled {
				continue // takes half a minute
			}
			source := fmt.Sprintf(form, size)
			res, err := Run(t.Context(), source, nil, nil, Limits{Compute: await.HangLimit}) // the race detector makes the engine slow
			if err != nil {
				t.Fatalf("%s: %v", source, err)
			}
			text := res.Value + res.Output + res.Thrown
			if truncated := res.Truncated && text == strings.Repeat("x", DefaultOutput); !truncated && (size == large || text != "the script exceeded its memory limit of 64 MiB") {
				t.Errorf("%s: truncated %v, %d bytes, beginning with %.80q", source, res.Truncated, len(text), text)
			}
		}
	}
}
