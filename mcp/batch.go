package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
	"github.com/chrome-mcp/chrome-mcp/internal/toolschema"
)

// batchTools are the tools of [ToolsBatch].
var batchTools = []tool{
	def("batch", batches, (*toolRunner).batch, "Run several calls in one, in order, up to the first that fails. All arguments are checked before the first runs."),
	def("run_script", batches, (*toolRunner).runScript, "Run a script of many calls in one: loops, conditions, only the result comes back. It has JavaScript, the tools and print, and no other input or output."),
}

// batches is the kind of a tool that calls other tools. Each of those calls needs the same grants
// as a separate call.
var batches = kind{"as its calls", hints{destructive: true, openWorld: true}}

const (
	maxBatch    = 50 // calls in one batch
	maxParallel = 8  // maximum number of tabs in use at the same time
)

type batchArgs struct {
	Calls           batchCalls `json:"calls" jsonschema:"in order: {tool, args}"`
	ContinueOnError bool       `json:"continueOnError,omitempty"`
	Parallel        bool       `json:"parallel,omitempty" jsonschema:"calls that name different tabs run at the same time, those of one tab in order"`
}

// A batchCall is one call of a batch.
type batchCall struct {
	name string
	args json.RawMessage
}

// batchCalls is the type of batch's argument calls.
type batchCalls []batchCall

func (*batchCalls) ArgSchema() string {
	return `"type":"array","items":{"type":"object","properties":{"tool":{"type":"string"},"args":{"type":"object"}},"required":["tool"],"additionalProperties":false}`
}

func (*batchCalls) Expected() string { return "an array of objects with tool and args" }

func (c *batchCalls) DecodeArg(raw json.RawMessage) error {
	var items []json.RawMessage
	if toolschema.JSONKind(raw) != "an array" || json.Unmarshal(raw, &items) != nil {
		return fmt.Errorf("must be %s, got %s", c.Expected(), toolschema.JSONKind(raw))
	}
	if len(items) == 0 || len(items) > maxBatch {
		return fmt.Errorf("must have 1 to %d calls, got %d", maxBatch, len(items))
	}
	for i, item := range items {
		call, err := decodeBatchCall(item)
		if err != nil {
			return fmt.Errorf("must be %s: call %d %w", c.Expected(), i+1, err)
		}
		*c = append(*c, call)
	}
	return nil
}

func decodeBatchCall(raw json.RawMessage) (batchCall, error) {
	var call batchCall
	members, err := toolschema.Members(raw)
	if err != nil {
		return call, err
	}
	seen := map[string]bool{}
	for _, m := range members {
		switch {
		case seen[m.Key]:
			return call, fmt.Errorf("has %s twice", mcptext.QuoteShort(m.Key))
		case m.Key == "tool":
			var ok bool
			if call.name, ok = toolschema.JSONString(m.Value); !ok {
				return call, fmt.Errorf("has %s as tool", toolschema.JSONKind(m.Value))
			}
		case m.Key == "args":
			call.args = m.Value
		default:
			return call, fmt.Errorf("has an unknown %s", mcptext.QuoteShort(m.Key))
		}
		seen[m.Key] = true
	}
	if call.name == "" {
		return call, errors.New("has no tool")
	}
	return call, nil
}

// batch runs calls, each as if the client had made it separately.
func (r *toolRunner) batch(ctx context.Context, a batchArgs) (batchResults, error) {
	plan := make([]*tool, len(a.Calls))
	for i, call := range a.Calls {
		t, err := r.nestedTool(call.name)
		if err == nil {
			_, _, err = r.decode(t, call.args)
		}
		if err != nil {
			return batchResults{}, errorInCall(i, t, call.name, err)
		}
		plan[i] = t
	}
	var out batchResults
	for _, call := range a.Calls {
		out.Results = append(out.Results, batchResult{Tool: call.name, NotRun: true})
	}
	// The results together must not exceed the size limit either. An eighth is reserved for the
	// text between them.
	var budget atomic.Int64
	budget.Store(r.opts.MaxResultBytes - r.opts.MaxResultBytes/8)
	inOrder := func(calls []int) {
		for _, i := range calls {
			if ctx.Err() != nil {
				return
			}
			res := r.runTool(ctx, plan[i], a.Calls[i].args, r.opts.Structured, nil)
			if n := sizeOf(res); budget.Add(-n) < 0 {
				budget.Add(n) // shorter results may still fit
				res = omittedResult(res)
			}
			out.Results[i].set(res)
			if res.IsError && !a.ContinueOnError {
				return
			}
		}
	}
	var running sync.WaitGroup
	slots := make(chan struct{}, maxParallel)
	for _, calls := range a.lanes() {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			inOrder(calls)
		})
	}
	running.Wait()
	for _, res := range out.Results {
		if res.OK {
			out.Done++
		}
	}
	return out, ctx.Err()
}

// omittedResult returns res for a batch that exceeds the size limit: without its content, but with its
// note, which no other result repeats.
func omittedResult(res *sdk.CallToolResult) *sdk.CallToolResult {
	outcome := "done"
	if m, ok := res.Meta[ErrorKey].(ErrorInfo); ok {
		outcome = "failed with " + string(m.Code)
	}
	short := &sdk.CallToolResult{
		IsError: res.IsError, Meta: res.Meta,
		Content: []sdk.Content{&sdk.TextContent{Text: outcome + "; result omitted: the results of this batch exceed the size limit"}},
	}
	if note, ok := res.Meta[NoteKey].(string); ok {
		appendNote(short, note)
	}
	return short
}

// nestedTool returns the tool with a name, for a call from within another tool.
func (r *toolRunner) nestedTool(name string) (*tool, error) {
	t := r.tool(name)
	switch {
	case t == nil:
		return nil, toolschema.BadArgs("", "%v", r.unknown(name))
	case t.kind == batches:
		return nil, toolschema.BadArgs("Make the calls one after the other.", "%s cannot be called from within another call", name)
	}
	return t, nil
}

// errorInCall returns err, an argument error of call i of a batch, with a message that names the
// call. t is the tool of the call, or nil if it does not exist.
func errorInCall(i int, t *tool, name string, err error) error {
	e, ok := errors.AsType[*executor.Error](err)
	if !ok {
		return err
	}
	err = toolschema.BadArgs(e.Hint, "calls: in call %d, %s: %s; nothing was done", i+1, mcptext.QuoteShort(name), e.Message())
	if t == nil {
		return err
	}
	return &callError{err, t}
}

// A callError is an argument error of a call in a batch. Its hint is about the arguments of the tool
// of that call.
type callError struct {
	error
	tool *tool
}

func (e *callError) Unwrap() error { return e.error }

// lanes returns the indexes of the calls. Lanes run in parallel; the calls of one lane run in
// order.
func (a batchArgs) lanes() [][]int {
	index := map[string]int{}
	var lanes [][]int
	for i, call := range a.Calls {
		tab := ""
		if a.Parallel {
			tab = namedArgsOf(call.args).Tab
		}
		lane, ok := index[tab]
		if !ok {
			lane = len(lanes)
			index[tab] = lane
			lanes = append(lanes, nil)
		}
		lanes[lane] = append(lanes[lane], i)
	}
	return lanes
}

// batchResults is the result of a batch.
type batchResults struct {
	Done    int           `json:"done"`
	Results []batchResult `json:"results"`
}

// A batchResult is the result of one call of a batch.
type batchResult struct {
	Tool   string           `json:"tool"`
	OK     bool             `json:"ok"`
	Result executor.RawJSON `json:"result,omitempty"` // structured content
	Error  *ErrorInfo       `json:"error,omitempty"`
	Note   string           `json:"note,omitempty"`
	NotRun bool             `json:"notRun,omitempty"`

	text   string
	images []sdk.Content
}

// set stores the result of the call.
func (r *batchResult) set(res *sdk.CallToolResult) {
	r.NotRun, r.OK = false, !res.IsError
	for _, c := range res.Content {
		if text, ok := c.(*sdk.TextContent); ok {
			r.text += text.Text
		} else {
			r.images = append(r.images, c)
		}
	}
	if m, ok := res.Meta[ErrorKey].(ErrorInfo); ok {
		r.Error = &m
	}
	r.Note, _ = res.Meta[NoteKey].(string)
	if raw, ok := res.StructuredContent.(json.RawMessage); ok {
		r.Result = executor.RawJSON(raw)
	}
}

func (r batchResults) completed() []string {
	run, succeeded := 0, 0
	var notes []string
	for _, res := range r.Results {
		if res.NotRun {
			continue
		}
		run++
		if res.OK {
			succeeded++
		}
		if res.Note != "" {
			notes = append(notes, res.Note)
		}
	}
	return completedCalls("batch", run, succeeded, notes)
}

func (r batchResults) Render(t *mcptext.Text) {
	t.Line("%d of %s succeeded", r.Done, mcptext.Plural(len(r.Results), "call"))
	notRun := 0
	for i, res := range r.Results {
		if res.NotRun {
			notRun++
			continue
		}
		t.Line("%d. %s: %s", i+1, mcptext.Own(res.Tool), mcptext.Own(res.text))
	}
	if notRun > 0 {
		t.Line("%s not run", mcptext.Plural(notRun, "call"))
	}
}

func (r batchResults) images() []sdk.Content {
	var all []sdk.Content
	for _, res := range r.Results {
		all = append(all, res.images...)
	}
	return all
}
