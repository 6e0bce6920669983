package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/browsertools"
	"github.com/chrome-mcp/chrome-mcp/internal/lazyregexp"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
	"github.com/chrome-mcp/chrome-mcp/internal/script"
	"github.com/chrome-mcp/chrome-mcp/internal/toolschema"
)

const (
	// defaultScriptMS is the default time limit of a script, in milliseconds. script.Limits limits
	// the computing time between two calls.
	defaultScriptMS = 120_000
	// maxScriptImages is the maximum number of images that a script returns to the client.
	maxScriptImages = 10
)

type scriptArgs struct {
	Script   string `json:"script" jsonschema:"body of an async function. Each tool is a function: click({ref: 'e1'}) returns its structured result and throws with code and message when it fails. snapshot().text, tabs_list().tabs; print() and return give the answer"`
	MaxChars int    `json:"maxChars,omitempty" min:"1" max:"1000000" unit:"characters"`
	browsertools.TimeoutArg
}

func (a scriptArgs) WaitDescription() string { return "the script" }

// runScript runs a script whose functions are the tools. Each of its calls runs as if the client
// had made it, except that an action does not report page changes.
func (r *toolRunner) runScript(ctx context.Context, a scriptArgs) (scriptResult, error) {
	limit := a.Timeout()
	if limit == 0 {
		limit = defaultScriptMS * time.Millisecond
	}
	callCtx := ctx
	ctx, cancel := context.WithTimeout(executor.WithCallOptions(ctx, executor.CallOptions{AfterAction: executor.AfterNone}), limit)
	defer cancel()

	var names []string
	for _, t := range r.tools {
		if t.kind != batches {
			names = append(names, t.name)
		}
	}
	out := scriptResult{}
	call := func(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
		res := r.runTool(ctx, r.tool(name), args, true, nil)
		out.Calls++
		if note, ok := res.Meta[NoteKey].(string); ok {
			out.Notes = append(out.Notes, note)
		}
		if m, ok := res.Meta[ErrorKey].(ErrorInfo); ok {
			return nil, thrownError{&m}
		}
		out.succeeded++
		out.addImages(res, imageBudget(r.opts))
		raw, _ := res.StructuredContent.(json.RawMessage)
		return raw, nil
	}
	res, err := script.Run(ctx, a.Script, names, call, script.Limits{Output: a.MaxChars, Principal: r.handovers.opts.Principal})
	switch {
	case errors.Is(err, script.ErrSyntax):
		return scriptResult{}, toolschema.BadArgs("Correct the script.", "script: %v; nothing was done", err)
	case errors.Is(err, script.ErrBusy):
		return scriptResult{}, &executor.Error{Code: executor.ErrBackpressure, Retryable: true, Err: err,
			Hint: "Try again when one of them has ended, or make the calls one by one."}
	case callCtx.Err() != nil:
		return out, context.Cause(callCtx)
	case errors.Is(err, context.DeadlineExceeded):
		res.Thrown = string(executor.ErrTimeout) + ": time limit of " + limit.String() + " exceeded; increase it with timeoutMs"
	case err != nil:
		return out, err
	}
	out.OK, out.Value, out.Output, out.Error, out.Line = res.Thrown == "", res.Value, res.Output, res.Thrown, res.Line
	out.Calls, out.Truncated = res.Calls, res.Truncated
	text := int64(len(out.Output) + len(out.Value) + len(out.Error))
	if r.opts.Structured {
		text *= 2
	}
	out.fitImages(imageBudget(r.opts) - text)
	if m := undefinedName().FindStringSubmatch(out.Error); m != nil {
		switch name := m[1]; {
		case r.tool(name) != nil:
			out.Error += ": a script cannot call it"
		case toolsetOf(name) != "":
			out.Error += ": " + r.unknown(name).Error()
		default:
			out.Error += r.suggestTool(name)
		}
	}
	return out, nil
}

// undefinedName matches the engine's error for an undefined name.
var undefinedName = lazyregexp.New(`^ReferenceError: '?([A-Za-z_]+)'? is not defined$`)

// A thrownError is the error that a script catches when a call fails.
type thrownError struct{ *ErrorInfo }

func (e thrownError) Error() string { return e.Message }

// MarshalJSON implements json.Marshaler. It returns the ErrorInfo.
func (e thrownError) MarshalJSON() ([]byte, error) { return json.Marshal(e.ErrorInfo) }

// scriptResult is the result of a script.
type scriptResult struct {
	OK        bool     `json:"ok"`
	Value     string   `json:"value,omitempty"` // a string as text, other values as JSON
	Output    string   `json:"output,omitempty"`
	Error     string   `json:"error,omitempty"` // the uncaught exception, or the limit that it exceeded
	Line      int      `json:"line,omitempty"`
	Calls     int      `json:"calls"`
	Truncated bool     `json:"truncated,omitempty"`
	Notes     []string `json:"notes,omitempty"`

	// OmittedImages is the number of images that the client does not receive.
	OmittedImages int `json:"omittedImages,omitempty"`

	imageBlocks []sdk.Content
	succeeded   int // calls
}

// imageBudget returns the maximum size of the images and the text of a script, in bytes. As in a batch,
// an eighth is reserved for what surrounds them.
func imageBudget(opts *Options) int64 { return opts.MaxResultBytes - opts.MaxResultBytes/8 }

// addImages adds the images in the result of a call that fit into budget, in bytes. The client receives
// them; the script cannot see them.
func (r *scriptResult) addImages(res *sdk.CallToolResult, budget int64) {
	for _, c := range res.Content {
		if _, ok := c.(*sdk.ImageContent); ok {
			r.imageBlocks = append(r.imageBlocks, c)
			r.fitImages(budget) // now, because a script can take any number of them
		}
	}
}

// fitImages omits the last images until the others fit into budget, in bytes.
func (r *scriptResult) fitImages(budget int64) {
	for n := len(r.imageBlocks); n > maxScriptImages || n > 0 && sizeOf(&sdk.CallToolResult{Content: r.imageBlocks}) > budget; n-- {
		r.imageBlocks = r.imageBlocks[:n-1]
		r.OmittedImages++
	}
}

func (r scriptResult) images() []sdk.Content { return r.imageBlocks }

func (r scriptResult) completed() []string {
	return completedCalls("run_script", r.Calls, r.succeeded, r.Notes)
}

// scriptOrigin is the origin in the fence around the output of a script. The output can contain
// text of any page that the script read.
const scriptOrigin = "script"

func (r scriptResult) Render(t *mcptext.Text) {
	after := mcptext.Own(" after ") + mcptext.Plural(r.Calls, "call")
	if r.OK {
		t.Line("ok%s", after)
	} else {
		where := mcptext.Own("")
		if r.Line > 0 {
			where = mcptext.Ownf(" in line %d", r.Line)
		}
		t.Line("the script ended early%s%s: %s", where, after, mcptext.Quote(r.Error, mcptext.MaxErrorText))
	}
	for _, note := range r.Notes {
		t.Note(note)
	}
	if output := strings.TrimSpace(r.Output + "\n" + r.Value); output != "" {
		t.Page(scriptOrigin, output)
	}
	if r.Truncated {
		t.Line("truncated: increase maxChars or print less")
	}
	if r.OmittedImages > 0 {
		save := mcptext.Own("")
		if t.Saves {
			save = ", or save them with file"
		}
		t.Line("%s omitted: a script returns at most %d images, within the size limit of a result; take fewer or smaller ones%s",
			mcptext.Plural(r.OmittedImages, "image"), maxScriptImages, save)
	}
}
