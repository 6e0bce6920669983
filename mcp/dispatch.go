package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"
)

// A session is one MCP session: the receiver of all handlers. It is safe for
// concurrent use.
type session struct {
	ex         executor.Executor
	tools      []*tool
	log        *slog.Logger
	version    string
	structured bool
	fence      fence
	warm       atomic.Bool   // a call has succeeded, so the browser runs
	audit      *auditor      // nil is none
	calls      *rate.Limiter // nil is none
	asking     *asking       // nil is never
	client     string        // id of the session for permission prompts
	maxResult  int64
}

// handler returns the SDK's handler for t. Calls are cancelled by their
// client and when life ends.
func (s *session) handler(life context.Context, t *tool) sdk.ToolHandler {
	return func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(life, cancel)()
		return s.call(ctx, t, req), nil
	}
}

// tool returns the tool of a name, nil when the session has none.
func (s *session) tool(name string) *tool {
	if i := slices.IndexFunc(s.tools, func(t *tool) bool { return t.name == name }); i >= 0 {
		return s.tools[i]
	}
	return nil
}

// call runs one call that a client makes.
func (s *session) call(ctx context.Context, t *tool, req *sdk.CallToolRequest) *sdk.CallToolResult {
	s.audit.begin(req.Session)
	ctx = s.asking.begin(ctx, t, req)
	return s.run(ctx, t, req.Params.Arguments, s.structured, func(args any) (stop func()) {
		return s.startProgress(ctx, req, t.name, args)
	})
}

// run runs one call of t. Whatever goes wrong, a panic included, is a result
// with isError. Before it begins, begin is called, and when it has ended, what
// that returned; it may be nil.
func (s *session) run(ctx context.Context, t *tool, raw json.RawMessage, structured bool, begin func(args any) (end func())) (res *sdk.CallToolResult) {
	start := time.Now()
	var err error
	var out result
	ctx, record := s.audit.record(ctx, t, raw)
	var notes []string
	ctx = executor.WithSwitch(ctx, func(sw executor.Switch) { notes = append(notes, sw.String()) })
	ctx = executor.WithSharedTabObserver(ctx, func(sh executor.SharedTab) { notes = append(notes, sharedNote(sh.Tab)) })
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{value: p, stack: debug.Stack()}
		}
		if err != nil {
			err = s.blame(ctx, t, err)
			if res = inputFor(err); res == nil {
				res = s.failed(t, err)
			}
		}
		record.end(out, err)
		if len(notes) > 0 && len(res.Content) > 0 {
			remark(res, oneLine(strings.Join(notes, "; ")))
		}
		s.log.Debug("tool call", "tool", t.name, "code", string(executor.CodeOf(err)), "took", time.Since(start))
	}()
	args, err := t.decode(raw)
	if err != nil {
		return nil
	}
	if err = s.mayCall(t); err != nil {
		return nil
	}
	if err = s.audit.ready(t, args); err != nil {
		return nil
	}
	if begin != nil {
		defer begin(args)()
	}
	if out, err = s.carryOut(executor.WithCallKey(ctx, s.callKey(t, args)), t, raw, args); err != nil {
		return nil
	}
	if t.name != "chrome_status" { // the only one that needs no browser
		s.warm.Store(true)
	}
	if res, err = s.succeeded(out, structured); err == nil {
		if err = s.fits(res); err != nil && !t.kind.hints.readOnly {
			res, err = shortened(res), nil // the action is completed
		}
	}
	return res
}

// sharedNote returns the note on a tab that the user shared since the last call.
func sharedNote(t executor.Tab) string {
	what := ownf("the user has shared tab %s", t.ID)
	if t.Title != "" {
		what += " " + quote(t.Title, maxTitle)
	}
	if t.Active {
		return string(what + ", so calls without a tabId go to it from now on")
	}
	return string(what + ", which is not the active tab: give its tabId or choose it with tab_select to work in it")
}

// metaNote is the key of a remark in a result's _meta, for programs that do
// not read the text.
const metaNote = "chrome-mcp/note"

// remark adds a line of ours to a result, after what the call itself says.
func remark(res *sdk.CallToolResult, note string) {
	text := res.Content[0].(*sdk.TextContent) // the first block of every result
	text.Text += "\nnote: " + note
	if res.Meta == nil {
		res.Meta = sdk.Meta{}
	}
	res.Meta[metaNote] = note
}

// A panicError is a panic in a handler. Its stack goes to the log only.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// An imager is a result that has pictures as well.
type imager interface{ images() []sdk.Content }

// succeeded renders what a handler returned.
func (s *session) succeeded(out result, structured bool) (*sdk.CallToolResult, error) {
	t := &text{fence: s.fence}
	out.render(t)
	res := &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: t.String()}}}
	if img, ok := out.(imager); ok {
		res.Content = append(res.Content, img.images()...)
	}
	if structured {
		raw, err := json.Marshal(out)
		if err != nil {
			return nil, fmt.Errorf("marshal the result: %w", err)
		}
		res.StructuredContent = json.RawMessage(boundJSON(cleanJSON(raw)))
	}
	return res, nil
}
