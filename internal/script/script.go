// Package script runs JavaScript that an agent wrote, outside of any page. A script has only the
// language itself: no files, network, timers or modules. In addition, it can call the functions
// that are passed to [Run].
//
// The engine is QuickJS in a child process (see package child). Its time, memory and stack are
// limited, see [Limits]. Killing the process stops even a long step of the engine, such as a search
// in an array of 2^53 elements. The process has no environment variable except TZ, opens no files
// or sockets, and exits when its parent exits.
package script

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/child"
	"github.com/chrome-mcp/chrome-mcp/internal/lazyregexp"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// Limits are the limits of one run. Zero fields mean the defaults.
type Limits struct {
	// Compute is the maximum computing time between two calls. Default 5 s.
	Compute time.Duration
	// Memory is the maximum memory of the engine, in bytes. Default 64 MiB.
	Memory int64
	// Output is the maximum size of the printed output and of the returned value, in bytes each.
	// Default 20000.
	Output int
	// Principal is whose scripts count together: the scripts of one do not make those of another
	// wait.
	Principal string
}

// The defaults of [Limits].
const (
	DefaultCompute = 5 * time.Second
	DefaultMemory  = 64 << 20
	DefaultOutput  = 20_000
)

func (l Limits) withDefaults() Limits {
	return Limits{
		Compute:   cmp.Or(l.Compute, DefaultCompute),
		Memory:    cmp.Or(l.Memory, DefaultMemory),
		Output:    cmp.Or(l.Output, DefaultOutput),
		Principal: l.Principal,
	}
}

// A Call runs the function name for a script. args is its only argument; argument and result are
// JSON. If Call returns an error that is a json.Marshaler, the script catches an error with the
// marshaled properties, otherwise an error with the message.
//
// ctx is the context of the run. Run makes one call at a time.
type Call func(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error)

// A Result is the result of a run.
type Result struct {
	// Value is the returned value: a string as text, other values as JSON. Empty means undefined.
	Value string
	// Output is the printed output, with one line per print.
	Output string
	// Truncated is set if Value or Output was truncated.
	Truncated bool
	// Calls is the number of calls that the script made.
	Calls int
	// Thrown is the reason why the script ended early: an uncaught exception or an exceeded limit.
	// Empty means that it returned. Line is the line of the exception, 0 if unknown.
	Thrown string
	Line   int
}

// The errors of [Run] for a script that did not start. They may be wrapped.
var (
	// ErrSyntax means that the source is not valid JavaScript.
	ErrSyntax = errors.New("invalid JavaScript")
	// ErrBusy means that the maximum number of scripts of the principal is running.
	ErrBusy = errors.New("too many scripts are running already")
)

// maxCalls is the maximum number of calls of one script.
const maxCalls = 500

// Run runs source, the body of an async function, to its end. names are the
// functions that source can use in addition to print; each calls call.
//
// The engine runs in a child process, which is killed when the script computes
// for too long or ctx is done. The process has exited when Run returns.
//
// If a script throws or exceeds a limit, Run returns a Result with Thrown. When
// ctx is done, Run returns its error and the results up to that point.
func Run(ctx context.Context, source string, names []string, call Call, limits Limits) (*Result, error) {
	limits = limits.withDefaults()
	if ctx.Err() != nil {
		return &Result{}, context.Cause(ctx)
	}
	slot := newSlot(limits.Principal)
	if slot == nil {
		return nil, ErrBusy
	}
	defer slot.release()
	p, err := child.Start(engineName)
	if err != nil {
		return nil, fmt.Errorf("script engine: %w", err)
	}
	r := &execution{limits: limits, process: p, slot: slot}
	err = r.serve(ctx, call, child.NewMessage("start", startData{source, names, limits.Memory, limits.Output}))
	p.End()
	if !r.ended && err == nil {
		err = fmt.Errorf("the script engine: %w", p.Failure())
	}
	return r.result(ctx, err)
}

// An engineProcess is a process that runs a script. [child.Process] implements it.
type engineProcess interface {
	Messages() <-chan *child.Message
	Send(*child.Message) error
	Kill()
}

// An execution is the state of one script.
type execution struct {
	limits  Limits
	process engineProcess
	slot    *slot

	timedOut bool // it exceeded Limits.Compute
	done     bool // it returned or threw, or is not a script
	ended    bool // the evaluation completed
	syntax   string
	res      Result
	output   strings.Builder
}

// serve starts the script and makes its calls until it ends or must be stopped. It
// returns the error of the evaluation.
func (e *execution) serve(ctx context.Context, call Call, start *child.Message) error {
	// Killing the process also ends a write to a process that does not read.
	defer context.AfterFunc(ctx, e.process.Kill)()
	startup := timing.Current().StartScript
	timer := time.NewTimer(startup)
	defer timer.Stop()
	running := false
	for {
		var m *child.Message
		select {
		case m = <-e.process.Messages():
		case <-timer.C:
			if !running {
				return fmt.Errorf("script engine did not start within %v", startup)
			}
			e.timedOut = true
			return nil
		case <-ctx.Done():
			return nil
		}
		if m == nil { // the process exited
			return nil
		}
		var err error
		switch m.Kind {
		case "ready":
			err = e.process.Send(start)
		case "running":
			running = true
			timer.Reset(e.limits.Compute)
		case "call":
			timer.Stop()
			var c callData
			if err = json.Unmarshal(m.Data, &c); err != nil {
				return err
			}
			e.slot.pause()
			answer := e.answer(ctx, call, c.Name, json.RawMessage(c.Args))
			if e.slot.resume(ctx) != nil {
				return nil
			}
			if err = e.process.Send(child.NewMessage("answer", answer)); errors.Is(err, child.ErrTooLong) {
				err = e.process.Send(child.NewMessage("answer", failure(fmt.Errorf("the result of %s: %w", c.Name, err))))
			}
			timer.Reset(e.limits.Compute)
		case "print":
			var p textData
			if err = json.Unmarshal(m.Data, &p); err != nil {
				return err
			}
			text, truncated := truncate(p.Text, e.limits.Output-e.output.Len())
			e.output.WriteString(text)
			e.res.Truncated = e.res.Truncated || p.Truncated || truncated
		case "end":
			var d endData
			if err = json.Unmarshal(m.Data, &d); err != nil {
				return err
			}
			e.end(&d)
		case "ended":
			e.ended = true
			var why string
			if err = json.Unmarshal(m.Data, &why); err == nil && why != "" {
				err = errors.New(why)
			}
			return err
		}
		if errors.Is(err, child.ErrTooLong) {
			return fmt.Errorf("the script: %w", err)
		}
		// Any other write error means that the process exited; the next receive
		// reports that.
	}
}

// end records the result of the script.
func (e *execution) end(d *endData) {
	e.done = true
	text, truncated := truncate(d.Text, e.limits.Output)
	if d.Outcome == "syntax" {
		e.syntax, e.res.Line = text, lineOf(d.Stack)
		return
	}
	e.res.Truncated = e.res.Truncated || d.Truncated || truncated
	if d.Outcome == "value" {
		e.res.Value = text
	} else {
		e.res.Thrown, e.res.Line = text, lineOf(d.Stack)
	}
}

// answer makes one call. It returns {value} or {error} as JSON.
func (e *execution) answer(ctx context.Context, call Call, name string, args json.RawMessage) string {
	if e.res.Calls == maxCalls {
		return failure(fmt.Errorf("the script exceeded its limit of %d calls", maxCalls))
	}
	e.res.Calls++
	value, err := call(ctx, name, args)
	if err != nil {
		return failure(err)
	}
	if len(value) == 0 {
		value = json.RawMessage("null")
	}
	return `{"value":` + string(value) + `}`
}

// failure returns the {error} JSON for a call that failed with err.
func failure(err error) string {
	var what any = map[string]string{"message": err.Error()}
	var m json.Marshaler
	if errors.As(err, &m) {
		what = m
	}
	raw, err := json.Marshal(map[string]any{"error": what})
	if err != nil {
		return `{"error":{"message":"the call failed"}}`
	}
	return string(raw)
}

// result returns the result of a run. err is the error of the evaluation.
func (e *execution) result(ctx context.Context, err error) (*Result, error) {
	res := e.res
	res.Output = e.output.String()
	switch {
	case ctx.Err() != nil:
		return &res, context.Cause(ctx)
	case e.syntax != "":
		where := ""
		if res.Line > 0 {
			where = " in line " + strconv.Itoa(res.Line)
		}
		return nil, fmt.Errorf("%w: %s%s", ErrSyntax, e.syntax, where)
	case e.timedOut && (!e.done || res.Thrown != ""):
		res.Thrown = fmt.Sprintf("the script computed for more than %v without a call", e.limits.Compute)
	case errors.Is(err, child.ErrMemory), e.done && (res.Thrown == "null" || strings.HasSuffix(res.Thrown, "out of memory")):
		// There may be no memory left for the error itself.
		res.Thrown = fmt.Sprintf("the script exceeded its memory limit of %d MiB", e.limits.Memory>>20)
	case e.done:
	case err != nil:
		res.Thrown = err.Error()
	default:
		res.Thrown = "the script awaits a promise that never settles"
	}
	return &res, nil
}

// scriptLine matches a line number in a stack trace. The engine evaluates the script as the body of
// a function that begins linesBefore lines earlier.
var scriptLine = lazyregexp.New(`<input>:(\d+)`)

const linesBefore = 2

func lineOf(stack string) int {
	if m := scriptLine().FindStringSubmatch(stack); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil && n > linesBefore {
			return n - linesBefore
		}
	}
	return 0
}
