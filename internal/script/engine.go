package script

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"modernc.org/quickjs"

	"github.com/chrome-mcp/chrome-mcp/internal/child"
)

//go:embed run.js
var runJS string

// engineName is the name under which engine processes are registered with package child.
const engineName = "script-engine"

func init() { child.Handle(engineName, serveEngine) }

// The messages between the server and an engine process, by kind. The server sends
// start and answer. The engine sends running, call, print, end and ended.
type (
	startData struct {
		Source string
		Names  []string
		Memory int64
		Output int
	}
	callData struct{ Name, Args string }
	textData struct {
		Text      string
		Truncated bool
	}
	endData struct {
		textData
		Outcome string // value, throw or syntax
		Stack   string
	}
)

// serveEngine runs one script.
func serveEngine(parent *child.Parent) error {
	var start startData
	if err := json.Unmarshal(parent.Receive().Data, &start); err != nil {
		return err
	}
	e := &engine{parent: parent, output: start.Output}
	ended := ""
	if err := e.evaluate(&start); err != nil {
		ended = err.Error()
	}
	return parent.Send(child.NewMessage("ended", ended))
}

// An engine evaluates one script in a dedicated process.
type engine struct {
	parent  *child.Parent
	vm      *quickjs.VM
	output  int // limit of what is printed and returned, in bytes each
	printed int
}

func (e *engine) evaluate(start *startData) (err error) {
	names, err := json.Marshal(append([]string{}, start.Names...)) // never null
	if err != nil {
		return err
	}
	source, err := json.Marshal(start.Source)
	if err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("script engine: %v", p)
		}
	}()
	if e.vm, err = quickjs.NewVM(); err != nil {
		return err
	}
	// Load the time zone file before Confine prevents it.
	if _, err = e.vm.Eval("new Date().getTimezoneOffset()", quickjs.EvalGlobal); err != nil {
		return err
	}
	if err = e.parent.Confine(start.Memory); err != nil {
		return err
	}
	e.vm.SetMemoryLimit(uintptr(start.Memory))
	for name, f := range map[string]quickjs.HostFunc{"__call": e.call, "__print": e.print, "__end": e.end} {
		if err = e.vm.RegisterHostFunc(name, f); err != nil {
			return err
		}
	}
	if err = e.parent.Send(child.NewMessage("running", nil)); err != nil { // the computing time starts
		return err
	}
	if _, err = e.vm.Eval("("+runJS+")("+string(names)+", "+string(source)+")", quickjs.EvalGlobal); err == nil {
		_, err = e.vm.ExecutePendingJobs()
	}
	return err
}

// call implements __call(name, args). It returns {value} or {error} as JSON.
func (e *engine) call(args []any) (any, error) {
	name, _ := args[0].(string)
	raw, _ := args[1].(string)
	if err := e.parent.Send(child.NewMessage("call", callData{name, raw})); errors.Is(err, child.ErrTooLong) {
		return failure(fmt.Errorf("the argument: %w", err)), nil
	} else if err != nil {
		return nil, err
	}
	var answer string
	err := json.Unmarshal(e.parent.Receive().Data, &answer)
	return answer, err
}

// print implements __print(text).
func (e *engine) print(args []any) (any, error) {
	text, _ := args[0].(string)
	if e.printed > 0 {
		text = "\n" + text
	}
	var p textData
	p.Text, p.Truncated = truncate(text, e.output-e.printed)
	if e.printed += len(p.Text); p.Text == "" && (!p.Truncated || e.output == 0) {
		return nil, nil
	}
	if p.Truncated {
		e.output = 0 // nothing more is sent
	}
	return nil, e.parent.Send(child.NewMessage("print", p))
}

// maxStack is the maximum length of a stack that is searched for a line number.
const maxStack = 4 << 10

// end implements __end(kind, text, stack). kind is value, throw or syntax.
func (e *engine) end(args []any) (any, error) {
	var d endData
	d.Outcome, _ = args[0].(string)
	text, _ := args[1].(string)
	stack, _ := args[2].(string)
	d.Text, d.Truncated = truncate(text, maxEnd)
	d.Stack, _ = truncate(stack, maxStack)
	return nil, e.parent.Send(child.NewMessage("end", d))
}

// maxEnd is the maximum size of a return value that leaves the engine process.
const maxEnd = 4 << 20

// truncate truncates text to n bytes, without splitting characters, and reports whether it was
// longer.
func truncate(text string, n int) (string, bool) {
	if len(text) <= n {
		return text, false
	}
	return strings.ToValidUTF8(text[:max(n, 0)], ""), true
}
