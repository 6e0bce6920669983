package mcp

import (
	"context"
	"net/url"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptransport"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// A CallObserver receives the calls of a session while they run, for example to show them to the
// user. Its methods must not block. They are called concurrently.
type CallObserver interface {
	// CallStarted is called when a call starts. The returned function is called when it has ended.
	CallStarted(Call) (ended func(CallOutcome))
}

// A Call describes a tool call for a [CallObserver]. It contains no text that the call types into a
// page.
type Call struct {
	Client string // name and version that the client reports; may be empty
	Tool   string
	// Target is what the call acts on, on one line: a URL without its query, a selector or a ref.
	Target string
	Tab    executor.TabID // the tab that the arguments name; may be empty
	// Nested means that the call is part of another call, such as a batch.
	Nested bool
}

// A CallOutcome is how a call ended.
type CallOutcome struct {
	Code string // "OK", or the error code of the result
	Line string // the first line of the result, or of the error; without text that is fenced
}

// Limits of the texts of a Call and a CallOutcome, in characters.
const (
	maxCallTarget  = 120
	maxOutcomeLine = 240
)

// observe reports the start of a call. The returned function reports its end.
func (r *toolRunner) observe(ctx context.Context, t *tool, named namedArgs, nested bool) (ended func(res *sdk.CallToolResult, err error)) {
	if r.opts.Observer == nil {
		return func(*sdk.CallToolResult, error) {}
	}
	end := r.opts.Observer.CallStarted(Call{Client: clientOf(ctx), Tool: t.name, Tab: executor.TabID(named.Tab), Target: named.target(), Nested: nested})
	return func(res *sdk.CallToolResult, err error) {
		outcome := CallOutcome{Code: "OK"}
		switch {
		case err != nil && res != nil && res.InputRequests != nil:
			outcome = CallOutcome{Code: string(executor.CodeOf(err)), Line: "the client prompts its user and then repeats the call"}
		case err != nil:
			outcome.Code = string(executor.CodeOf(err))
		}
		if outcome.Line == "" && res != nil && len(res.Content) > 0 {
			line := strings.TrimPrefix(mcptransport.OutcomeOf(res), outcome.Code+": ")
			outcome.Line = pagetext.Truncate(line, maxOutcomeLine)
		}
		end(outcome)
	}
}

// target returns the Target of a call.
func (named namedArgs) target() string {
	var parts []string
	if u, err := url.Parse(named.URL); err == nil && u.Host != "" {
		parts = append(parts, u.Scheme+"://"+u.Host+u.EscapedPath())
	}
	for _, part := range []string{named.Selector, named.Ref} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return pagetext.Truncate(mcptext.OneLine(strings.Join(parts, " ")), maxCallTarget)
}
