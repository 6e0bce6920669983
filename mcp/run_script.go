package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/script"
)

// The times that a script may take, in milliseconds. What it may compute between
// two calls is bounded apart, see script.Limits.
const (
	defaultScriptMS = 120_000
	maxScriptImages = 10
)

type scriptArgs struct {
	Script   string `json:"script" jsonschema:"body of an async function. Each tool is a function: click({ref: 'e1'}) returns its structured result and throws with code and message when it fails. snapshot().text, tabs_list().tabs; print() and return give the answer"`
	MaxChars int    `json:"maxChars,omitempty" min:"1" max:"1000000" unit:"characters"`
	timeoutArg
}

func (a scriptArgs) waitsFor() string { return "the script" }

// runScript runs a script whose functions are the tools. Each of its calls is
// what it would be if the client made it, except that an action does not tell
// what changed on the page.
func (s *session) runScript(ctx context.Context, a scriptArgs) (scripted, error) {
	limit := a.timeout()
	if limit == 0 {
		limit = defaultScriptMS * time.Millisecond
	}
	whole := ctx
	ctx, cancel := context.WithTimeout(executor.WithAfterAction(ctx, executor.AfterNone), limit)
	defer cancel()

	var names []string
	for _, t := range s.tools {
		if t.kind != batches {
			names = append(names, t.name)
		}
	}
	out := scripted{}
	call := func(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
		res := s.run(ctx, s.tool(name), args, true, nil)
		if m, ok := res.Meta[metaError].(errorMeta); ok {
			return nil, thrownError{&m}
		}
		if note, ok := res.Meta[metaNote].(string); ok {
			out.Notes = append(out.Notes, note)
		}
		out.keep(res)
		raw, _ := res.StructuredContent.(json.RawMessage)
		return raw, nil
	}
	res, err := script.Run(ctx, a.Script, names, call, script.Limits{Output: a.MaxChars})
	switch {
	case errors.Is(err, script.ErrSyntax):
		return scripted{}, badArgs("Nothing was done.", "script: %v", err)
	case errors.Is(err, script.ErrBusy):
		return scripted{}, &executor.Error{Code: executor.ErrBackpressure, Retryable: true, Err: err,
			Hint: "Try again when one of them has ended, or make the calls one by one."}
	case whole.Err() != nil:
		return scripted{}, context.Cause(whole)
	case errors.Is(err, context.DeadlineExceeded):
		res.Thrown = "it took longer than " + limit.String() + "; more can be given with timeoutMs"
	case err != nil:
		return scripted{}, err
	}
	out.OK, out.Value, out.Output, out.Error, out.Line = res.Thrown == "", res.Value, res.Output, res.Thrown, res.Line
	out.Calls, out.Truncated = res.Calls, res.Cut
	if m := undefinedName.FindStringSubmatch(out.Error); m != nil {
		switch name := m[1]; {
		case s.tool(name) != nil:
			out.Error += ": it cannot be called by a script"
		case toolsetOf(name) != "":
			out.Error += ": " + s.unknown(name).Error()
		default:
			out.Error += s.meant(name)
		}
	}
	return out, nil
}

// undefinedName is what the engine says of a name that stands for nothing.
var undefinedName = regexp.MustCompile(`^ReferenceError: '?([A-Za-z_]+)'? is not defined$`)

// A thrownError is what a script catches when a call fails.
type thrownError struct{ *errorMeta }

func (e thrownError) Error() string { return e.Message }

// MarshalJSON returns the code, the message, the hint and so on.
func (e thrownError) MarshalJSON() ([]byte, error) { return json.Marshal(e.errorMeta) }

// scripted is what came of a script.
type scripted struct {
	OK        bool     `json:"ok"`
	Value     string   `json:"value,omitempty"` // as text, or JSON of what is none
	Output    string   `json:"output,omitempty"`
	Error     string   `json:"error,omitempty"` // what it threw, or which limit it met
	Line      int      `json:"line,omitempty"`
	Calls     int      `json:"calls"`
	Truncated bool     `json:"truncated,omitempty"`
	Notes     []string `json:"notes,omitempty"`

	pictures []sdk.Content
}

// keep keeps the pictures that a call of the script took: it cannot see them,
// the client can.
func (r *scripted) keep(res *sdk.CallToolResult) {
	for _, c := range res.Content {
		if _, ok := c.(*sdk.ImageContent); ok && len(r.pictures) < maxScriptImages {
			r.pictures = append(r.pictures, c)
		}
	}
}

func (r scripted) images() []sdk.Content { return r.pictures }

// scriptOrigin stands where other fences have the origin of their page: what a
// script says may have come from any page that it read.
const scriptOrigin = "script"

func (r scripted) render(t *text) {
	after := own(" after ") + plural(r.Calls, "call")
	if r.OK {
		t.line("ok%s", after)
	} else {
		where := own("")
		if r.Line > 0 {
			where = ownf(" in line %d", r.Line)
		}
		t.line("the script ended early%s%s: %s", where, after, quote(r.Error, maxErrorText))
	}
	for _, note := range r.Notes {
		t.note(note)
	}
	if said := strings.TrimSpace(r.Output + "\n" + r.Value); said != "" {
		t.page(scriptOrigin, said)
	}
	if r.Truncated {
		t.line("cut: give a larger maxChars, or print less")
	}
}
