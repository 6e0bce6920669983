package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/browsertools"
	"github.com/chrome-mcp/chrome-mcp/internal/hint"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptransport"
	"github.com/chrome-mcp/chrome-mcp/internal/prompting"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A toolRunner runs the tools on one executor, with the state and the limits of their calls, for the
// client of [Server.Run] or for those of a [Workspace]. The handlers that need more than an executor,
// such as those of screenshot and batch, are its methods. It is safe for concurrent use.
type toolRunner struct {
	ex             executor.Executor
	opts           *Options // of the server
	tools          []*tool
	fence          mcptext.Fence
	browserStarted atomic.Bool  // a call has succeeded, so the browser is running
	hasSucceeded   *atomic.Bool // Server.succeeded
	audit          *auditor     // nil means no audit log
	calls          *CallRate
	prompter       *prompting.Prompter // nil means no permission prompts
	sessionID      string              // random id of the MCP session: the client of its calls, unless runWithConsent replaces it by Channel.Client
	lost           *mcptransport.LostResults
	handovers      *handovers
	output         *outputDir
	stopSwitch     *callSwitch // may be nil
	notified       sync.Once   // calls Options.OnClient
}

// handler returns the SDK's handler for t. A call is canceled by its client or when life is done,
// with the cause of life.
func (r *toolRunner) handler(life context.Context, t *tool) sdk.ToolHandler {
	return func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		ctx, cancel := withLife(ctx, life)
		defer cancel()
		return r.call(ctx, t, req), nil
	}
}

// reportClient calls Options.OnClient for the first client.
func (r *toolRunner) reportClient(name string) {
	if r.opts.OnClient != nil {
		r.notified.Do(func() { r.opts.OnClient(mcptext.OneLine(name)) })
	}
}

// tool returns the tool with a name, or nil if the session does not offer it.
func (r *toolRunner) tool(name string) *tool { return findTool(r.tools, name) }

// call handles one tools/call request.
func (r *toolRunner) call(ctx context.Context, t *tool, req *sdk.CallToolRequest) *sdk.CallToolResult {
	ctx = r.audit.begin(ctx, nameOf(req.Session))
	support := elicitationSupportOf(t, req)
	ctx = r.prompter.Begin(ctx, t.name, support, req.Params, t.decode)
	ctx = r.handovers.beginCall(ctx, support, req)
	return r.runTool(ctx, t, req.Params.Arguments, r.opts.Structured, func(args any) (stop func()) {
		return r.startProgress(ctx, req, t.name, args)
	})
}

// runTool runs one call of t. Every failure, including a panic, becomes a result with isError. First it
// checks whether the user stopped calls, then in runChecked the limit of the rate, and last it acquires
// the slot of the call. Then startProgress is called, and stop when the handler has returned.
// startProgress may be nil.
func (r *toolRunner) runTool(ctx context.Context, t *tool, raw json.RawMessage, structured bool, startProgress func(args any) (stop func())) (res *sdk.CallToolResult) {
	start := time.Now()
	ctx, leave, stopped := r.stopSwitch.enter(ctx)
	defer leave()
	var err error
	var out mcptext.Result
	named := namedArgsOf(raw)
	ctx, record := r.audit.record(ctx, t, raw, named)
	ctx, slot := withCallSlot(ctx, r.opts.Limit)
	ended := r.observe(ctx, t, named, slot.nested)
	var notes []string
	translate := func(note string) string { return r.translateNote(ctx, note) }
	options := executor.CallOptions{
		Client:        r.sessionID,
		OnSwitch:      func(sw executor.BackendSwitch) { notes = append(notes, hint.Translate(sw.String())) },
		OnSharedTab:   func(sh executor.SharedTab) { notes = append(notes, sharedNote(sh.Tab)) },
		OnSentElement: func(e executor.SentElement) { notes = append(notes, sentNote(e)) },
		OnDownload: func(d executor.Download) {
			d.Reason = translate(d.Reason)
			notes = append(notes, string(mcptext.DownloadText("download", d)))
		},
		OnMoreDownloads: func(n int) { notes = append(notes, moreDownloadsNote(n)) },
		OnIdleClose:     func(c executor.IdleClose) { notes = append(notes, idleCloseNotes(c, translate)...) },
	}
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{value: p, stack: debug.Stack()}
		}
		if c, ok := out.(composite); ok && err != nil {
			notes = append(notes, c.completed()...)
		}
		if err != nil {
			err = r.classifyError(ctx, t, slot.acquired, err)
			if res = prompting.InputFor(err); res == nil {
				res = r.renderError(ctx, t, err)
			}
		}
		record.end(out, err)
		if !slot.nested && len(res.Content) > 0 { // without content it is a prompt, and the call is repeated; the outer call takes them for a nested one
			notes = r.lost.Take(ctx, t.name, res, notes)
		}
		if len(notes) > 0 && len(res.Content) > 0 {
			appendNote(res, mcptext.OneLine(strings.Join(notes, "; ")))
		}
		r.maskResult(res)
		ended(res, err) // with the masked result
		r.opts.Logger.Debug("tool call", "tool", t.name, "code", string(executor.CodeOf(err)), "took", time.Since(start))
	}()
	if err = stopped; err == nil {
		res, out, err = r.runChecked(ctx, t, raw, structured, slot, options, startProgress)
	}
	return res
}

// A composite is the result of a call that contains other calls.
type composite interface {
	// completed returns notes about the calls in it that have run, and the notes of those calls. They
	// are reported even if the result is not returned.
	completed() []string
}

// completedCalls returns the notes of [composite] for a call of tool.
func completedCalls(tool string, run, succeeded int, notes []string) []string {
	if run == 0 {
		return nil
	}
	verb := "have"
	if run == 1 {
		verb = "has"
	}
	return append([]string{fmt.Sprintf("%s within %s %s run, %d with success", mcptext.Plural(run, "call"), tool, verb, succeeded)}, notes...)
}

// runChecked checks whether a call may run now, decodes its arguments, and runs it. out is the
// result of the tool, even if it could not be returned.
func (r *toolRunner) runChecked(ctx context.Context, t *tool, raw json.RawMessage, structured bool, slot *callSlot, options executor.CallOptions, startProgress func(args any) (stop func())) (res *sdk.CallToolResult, out mcptext.Result, err error) {
	if err := r.mayCall(t); err != nil { // first, because arguments can be large
		return nil, nil, err
	}
	args, file, err := r.decode(t, raw)
	if err != nil {
		return nil, nil, err
	}
	if err := r.audit.checkWritable(t, args); err != nil {
		return nil, nil, err
	}
	if file != "" {
		if err := r.output.open(); err != nil {
			return nil, nil, err
		}
	}
	if t.name != "chrome_status" { // which is for finding out why calls fail
		if err := slot.acquire(ctx); err != nil {
			return nil, nil, err
		}
		defer slot.leave()
	}
	if startProgress != nil {
		defer startProgress(args)()
	}
	options.Hash = r.callHash(t, args)
	if out, err = r.runWithConsent(executor.WithCallOptions(ctx, options), t, raw, args); err != nil {
		return nil, out, err
	}
	if t.name != "chrome_status" { // the only tool that needs no browser
		r.browserStarted.Store(true)
		r.hasSucceeded.Store(true) // before leave, after which the server may close the session
	}
	r.translateTexts(ctx, reflect.ValueOf(out))
	if out, err = r.saveResult(t, file, out); err != nil {
		return nil, out, err
	}
	if res, err = r.renderResult(out, structured); err == nil {
		if err = r.checkSize(t, res); err != nil && !t.kind.hints.readOnly {
			res, err = t.shortened(res), nil // the action is completed
		}
	}
	return res, out, err
}

// decode returns the arguments of a call of t, and the file in which they save its result, or "".
func (r *toolRunner) decode(t *tool, raw json.RawMessage) (args any, file browsertools.OutputPath, err error) {
	args, err = t.decode(raw)
	if file = browsertools.OutputPathOf(args); file != "" && r.output.path == "" {
		err = errNoOutputDir // even if the file has another fault, whose hint would propose another file
	}
	return args, file, err
}

// sharedNote returns the note about a tab that the user shared since the last call.
func sharedNote(t executor.Tab) string {
	what := mcptext.Ownf("the user has shared tab %s", t.ID)
	if t.Title != "" {
		what += " " + mcptext.Quote(t.Title, mcptext.MaxTitle)
	}
	if t.Active {
		return string(what + "; it is now the active tab")
	}
	return string(what + ", which is not the active tab; pass its tabId or select it with tab_select to use it")
}

// maxSelection is the maximum length of a selected text in a note, in characters.
const maxSelection = 500

// sentNote returns the note about an element that the user sent.
func sentNote(e executor.SentElement) string {
	if e.Ref == "" {
		return string(mcptext.Ownf("the user sent you an element of tab %s, but which one is unknown: no call used its page before the user pointed at it, "+
			"or it was removed; ask the user to send it again", e.Tab))
	}
	what := mcptext.Ownf("the user sent you %s %s [ref=%s] of tab %s", mcptext.RoleOf(e.Role), mcptext.Quote(e.Name, mcptext.MaxName), e.Ref, e.Tab)
	if e.Selection != "" {
		what += ", with the selected text " + mcptext.Quote(e.Selection, maxSelection)
	}
	return string(what)
}

// moreDownloadsNote returns the note about n downloads that are not listed.
func moreDownloadsNote(n int) string {
	if n == 1 {
		return "1 more download has started or ended"
	}
	return fmt.Sprintf("%d more downloads have started or ended", n)
}

// idleCloseNotes returns the notes about the tabs of a browser that was closed because no call used it,
// if their URLs are known, and about their downloads, whose reasons
// translate translates.
func idleCloseNotes(c executor.IdleClose, translate func(string) string) (notes []string) {
	if len(c.URLs) > 0 {
		urls := make([]string, len(c.URLs))
		for i, u := range c.URLs {
			urls[i] = string(mcptext.Quote(u, mcptext.MaxURL))
		}
		notes = append(notes, "the closed tabs showed "+strings.Join(urls, ", "))
	}
	for _, d := range c.Downloads {
		d.Reason = translate(d.Reason)
		notes = append(notes, string(mcptext.DownloadText("download", d)))
	}
	if c.MoreDownloads > 0 {
		notes = append(notes, moreDownloadsNote(c.MoreDownloads))
	}
	return notes
}

// appendNote adds a line with a note to the text of a result.
func appendNote(res *sdk.CallToolResult, note string) {
	text := res.Content[0].(*sdk.TextContent) // the first block of every result
	text.Text += "\nnote: " + note
	if res.Meta == nil {
		res.Meta = sdk.Meta{}
	}
	res.Meta[NoteKey] = note
}

// A panicError is a panic in a handler. Its stack appears only in the log.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// An imager is a result that also has images.
type imager interface{ images() []sdk.Content }

// renderResult renders the result of a handler.
func (r *toolRunner) renderResult(out mcptext.Result, structured bool) (*sdk.CallToolResult, error) {
	t := &mcptext.Text{
		Fence: r.fence, Asks: r.tool("ask_user") != nil, Secrets: r.opts.Secrets != nil && r.tool("secrets_list") != nil,
		Saves: r.output.path != "",
	}
	out.Render(t)
	res := &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: t.String()}}}
	if img, ok := out.(imager); ok {
		res.Content = append(res.Content, img.images()...)
	}
	if structured {
		raw, err := json.Marshal(out)
		if err != nil {
			return nil, fmt.Errorf("marshal the result: %w", err)
		}
		res.StructuredContent = json.RawMessage(mcptext.BoundJSON(mcptext.CleanJSON(raw)))
	}
	return res, nil
}
