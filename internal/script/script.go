// Package script runs JavaScript that an agent wrote, outside of any page. It
// has the language and nothing else: no files, no network, no timers, no
// modules. What it can do are the functions that it is given.
//
// The engine is QuickJS. Its time, its memory and its stack are bounded, see
// [Limits]. There are steps in which nothing can stop it; what they can cost is
// bounded by how many engines there are.
package script

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"modernc.org/quickjs"
)

//go:embed run.js
var runJS string

// Limits bound one run. Zero fields have the defaults.
type Limits struct {
	// Compute bounds the time between two calls. Default 5 s.
	Compute time.Duration
	// Memory bounds what the engine allocates, in bytes. Default 64 MiB.
	Memory int64
	// Calls bounds the calls of functions. Default 500.
	Calls int
	// Output bounds what the script prints and returns, in characters each.
	// Default 20000.
	Output int
}

// The defaults of [Limits].
const (
	DefaultCompute = 5 * time.Second
	DefaultMemory  = 64 << 20
	DefaultCalls   = 500
	DefaultOutput  = 20_000
)

func (l Limits) withDefaults() Limits {
	if l.Compute <= 0 {
		l.Compute = DefaultCompute
	}
	if l.Memory <= 0 {
		l.Memory = DefaultMemory
	}
	if l.Calls <= 0 {
		l.Calls = DefaultCalls
	}
	if l.Output <= 0 {
		l.Output = DefaultOutput
	}
	return l
}

// A Call performs what a script calls by name. It gets the one argument, and
// returns the result, as JSON. An error that is a json.Marshaler is thrown with
// the properties that it marshals to, any other with its message.
//
// ctx is that of the run. Calls come one after the other.
type Call func(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error)

// A Result is what a run came to.
type Result struct {
	// Value is what the script returned; empty for undefined, and cut when Cut.
	Value string
	// Output is what it printed, a line each.
	Output string
	// Cut is set when Value or Output were longer than the limit.
	Cut bool
	// Calls is how many calls it made.
	Calls int
	// Thrown says why it ended early: what it threw and did not catch, or the
	// limit that it ran into. Line is where that was, 0 when it is not known.
	Thrown string
	Line   int
}

// What [Run] returns, wrapped, for a script of which nothing ran.
var (
	// ErrSyntax is for a text that is no script.
	ErrSyntax = errors.New("it is no valid JavaScript")
	// ErrBusy is for one script more than may run at a time.
	ErrBusy = fmt.Errorf("%d scripts are running already", maxEngines)
)

const (
	// maxEngines is how many scripts run at a time in this process. Each may
	// take its memory, and each that cannot be stopped a processor.
	maxEngines = 4
	// nudge is how long an interrupt may go unheard: the engine forgets one that
	// comes just before it begins.
	nudge = 50 * time.Millisecond
)

// patience is how long an engine that was interrupted may take to end. It looks
// for that between the steps of a script; what is one step of its own, such as
// a search in an array of 2^32 elements, nothing can stop.
var patience = time.Second // changed by tests

// engines has an element for each engine that runs.
var engines = make(chan struct{}, maxEngines)

// Run runs source, the body of an async function, to its end. names are the
// functions that it has besides print; each calls call.
//
// A script that throws, or that runs into a limit, is a Result with Thrown.
// When ctx is done Run returns its error and what was done till then. It does
// not wait for an engine that cannot be stopped; that calls nothing any more.
func Run(ctx context.Context, source string, names []string, call Call, limits Limits) (*Result, error) {
	limits = limits.withDefaults()
	begin, err := json.Marshal(append([]string{}, names...)) // never null
	if err != nil {
		return nil, fmt.Errorf("script engine: %w", err)
	}
	text, err := json.Marshal(source)
	if err != nil {
		return nil, fmt.Errorf("script: %w", err)
	}
	if ctx.Err() != nil {
		return &Result{}, context.Cause(ctx)
	}
	select {
	case engines <- struct{}{}:
	default:
		return nil, ErrBusy
	}
	life, stop := context.WithCancel(context.Background())
	defer stop()
	r := &run{limits: limits, begun: make(chan struct{}), calls: make(chan hostCall), over: life.Done(), stop: stop, ended: make(chan error, 1)}
	if r.vm, err = quickjs.NewVM(); err != nil {
		<-engines
		return nil, fmt.Errorf("script engine: %w", err)
	}
	go r.engine("(" + runJS + ")(" + string(begin) + ", " + string(text) + ")")
	return r.result(ctx, r.serve(ctx, call))
}

// A run is the state of one script, which has a goroutine of its own.
type run struct {
	vm     *quickjs.VM
	limits Limits
	begun  chan struct{} // closed when the evaluation begins
	calls  chan hostCall
	over   <-chan struct{} // closed by stop, when it may go on no longer
	stop   func()
	ended  chan error // what the evaluation ended with

	made int  // calls
	late bool // it computed for too long

	mu     sync.Mutex // guards what follows
	res    Result
	output strings.Builder
	done   bool // __end was called
	syntax string
}

// A hostCall is a call that the script waits for.
type hostCall struct {
	name   string
	args   json.RawMessage
	answer chan string
}

// engine evaluates program, in a goroutine of its own.
func (r *run) engine(program string) {
	var err error
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("script engine: %v", p)
		}
		r.vm.Close()
		<-engines
		r.ended <- err
	}()
	r.vm.SetMemoryLimit(uintptr(r.limits.Memory))
	for name, f := range map[string]quickjs.HostFunc{"__call": r.perform, "__print": r.print, "__end": r.end} {
		if err = r.vm.RegisterHostFunc(name, f); err != nil {
			return
		}
	}
	close(r.begun)
	if _, err = r.vm.Eval(program, quickjs.EvalGlobal); err == nil {
		_, err = r.vm.ExecutePendingJobs()
	}
}

// errStuck is for an engine that did not end in time.
var errStuck = errors.New("the engine cannot be stopped")

// serve makes the calls of the script until it has ended, or may go on no
// longer. It returns what the evaluation ended with.
func (r *run) serve(ctx context.Context, call Call) error {
	select {
	case <-r.begun:
	case err := <-r.ended:
		return err
	}
	compute := time.NewTimer(r.limits.Compute)
	defer compute.Stop()
	for {
		select {
		case c := <-r.calls:
			compute.Stop()
			c.answer <- r.answer(ctx, call, c)
			compute.Reset(r.limits.Compute)
			continue
		case err := <-r.ended:
			return err
		case <-compute.C:
			r.late = true
		case <-ctx.Done():
		}
		r.stop()
		return r.interrupt()
	}
}

// interrupt interrupts the engine until it has ended.
func (r *run) interrupt() error {
	enough := time.NewTimer(patience)
	defer enough.Stop()
	for {
		r.vm.Interrupt()
		select {
		case err := <-r.ended:
			return err
		case <-enough.C:
			return errStuck
		case <-time.After(nudge):
		}
	}
}

// answer makes one call. The answer is {value} or {error}, as JSON.
func (r *run) answer(ctx context.Context, call Call, c hostCall) string {
	if r.made == r.limits.Calls {
		return failure(fmt.Errorf("the script has made its %d calls", r.limits.Calls))
	}
	r.made++
	value, err := call(ctx, c.name, c.args)
	if err != nil {
		return failure(err)
	}
	if len(value) == 0 {
		value = json.RawMessage("null")
	}
	return `{"value":` + string(value) + `}`
}

// failure is the answer to a call that ended with err.
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

// perform is __call(name, args).
func (r *run) perform(args []any) (any, error) {
	name, _ := args[0].(string)
	raw, _ := args[1].(string)
	c := hostCall{name, json.RawMessage(raw), make(chan string, 1)}
	select {
	case r.calls <- c:
		select {
		case answer := <-c.answer:
			return answer, nil
		case <-r.over:
		}
	case <-r.over:
	}
	r.vm.Interrupt()
	return nil, errors.New("the script is over")
}

// print is __print(text).
func (r *run) print(args []any) (any, error) {
	text, _ := args[0].(string)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.output.Len() > 0 {
		text = "\n" + text
	}
	r.output.WriteString(r.cut(text, r.limits.Output-r.output.Len()))
	return nil, nil
}

// end is __end(kind, text, stack): value, throw or syntax.
func (r *run) end(args []any) (any, error) {
	kind, _ := args[0].(string)
	text, _ := args[1].(string)
	stack, _ := args[2].(string)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done = true
	switch kind {
	case "value":
		r.res.Value = r.cut(text, r.limits.Output)
	case "syntax":
		r.syntax = text
		r.res.Line = lineOf(stack)
	default:
		r.res.Thrown, r.res.Line = r.cut(text, r.limits.Output), lineOf(stack)
	}
	return nil, nil
}

// cut returns no more than n bytes of text, in whole characters. r.mu is held.
func (r *run) cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	r.res.Cut = true
	return strings.ToValidUTF8(text[:max(n, 0)], "")
}

// result says what the run came to, whose evaluation ended with err.
func (r *run) result(ctx context.Context, err error) (*Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	res := r.res
	res.Output, res.Calls = r.output.String(), r.made
	switch {
	case ctx.Err() != nil:
		return &res, context.Cause(ctx)
	case r.syntax != "":
		where := ""
		if res.Line > 0 {
			where = " in line " + strconv.Itoa(res.Line)
		}
		return nil, fmt.Errorf("%w: %s%s", ErrSyntax, r.syntax, where)
	case r.late && (!r.done || res.Thrown != ""):
		res.Thrown = fmt.Sprintf("it computed for more than %v without a call", r.limits.Compute)
	case r.done && (res.Thrown == "null" || strings.HasSuffix(res.Thrown, "out of memory")):
		// There may be no memory left for the error itself.
		res.Thrown = fmt.Sprintf("it needed more than %d MiB of memory", r.limits.Memory>>20)
	case r.done:
	case err != nil:
		res.Thrown = err.Error()
	default:
		res.Thrown = "it awaits a promise that nothing will ever settle"
	}
	return &res, nil
}

// scriptLine finds a place in the script, which the engine evaluates as the
// body of a function that begins two lines before it.
var scriptLine = regexp.MustCompile(`<input>:(\d+)`)

const linesBefore = 2

func lineOf(stack string) int {
	if m := scriptLine.FindStringSubmatch(stack); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil && n > linesBefore {
			return n - linesBefore
		}
	}
	return 0
}
