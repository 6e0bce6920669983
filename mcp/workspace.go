package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptransport"
	"github.com/chrome-mcp/chrome-mcp/internal/prompting"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Workspace is an executor, with its tools and limits, for any number of clients, which connect over
// MCP's streamable HTTP transport or call tools without MCP. They share the active tab, the refs and
// the limits. What a user granted or denied applies to one MCP session. All MCP clients without a
// session count as one client, and all calls without MCP as another. Errors and notes call a workspace a
// session. Its methods are safe for concurrent use.
type Workspace struct {
	stateful, stateless http.Handler
	sessions            *mcptransport.MCPSessions
	runner              *toolRunner
	stopSwitch          *callSwitch // of runner and of the runners of Run
	server              *Server
	life                context.Context // done when the workspace is being closed; its cause is the error of the calls
	cancel              context.CancelCauseFunc
	closeRunner         func() error
	running             sync.WaitGroup        // calls without MCP; grows only while closed is false
	posts               mcptransport.InFlight // POST requests
	limits              timing.ProgramLimits

	mu     sync.Mutex // guards closed
	closed bool       // no call without MCP begins
}

// OpenWorkspace opens a workspace. Its clients use it one after another or at the same time. The caller
// closes it. It returns an error if Options.Tools has an unknown toolset.
//
// A call continues if its client disconnects. Clients with protocol versions up to 2025-11-25 get
// an MCP session with an Mcp-Session-Id; they reconnect with Last-Event-ID and receive the result.
// From 2026-07-28 on there are no MCP sessions; the next result of the workspace has a note about a
// result that did not reach its client. [Workspace.Deliver] does the same for calls without MCP.
func (s *Server) OpenWorkspace(ctx context.Context) (*Workspace, error) {
	runner, closeRunner, err := s.openRunner(ctx)
	if err != nil {
		return nil, err
	}
	runner.stopSwitch = new(callSwitch)
	life, cancel := context.WithCancelCause(context.WithoutCancel(ctx)) // canceled with ErrSessionEnded
	srv := s.protocol(life, runner)
	events := new(mcptransport.EventStore)
	handler := func(stateless bool) http.Handler {
		return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return srv }, &sdk.StreamableHTTPOptions{
			Stateless: stateless, Logger: s.opts.Logger, MaxRequestBodyBytes: mcptransport.MaxMessage, EventStore: events,
			DisableLocalhostProtection: true, // the caller checks Host, which a reverse proxy may have set
		})
	}
	sessions := mcptransport.NewMCPSessions(srv, runner.prompter.Forget)
	return &Workspace{
		stateful: handler(false), stateless: handler(true),
		sessions: sessions, runner: runner, stopSwitch: runner.stopSwitch, server: s, life: life, cancel: cancel, closeRunner: closeRunner, limits: timing.Current().ProgramLimits,
	}, nil
}

// Run serves one more client over transport, like [Server.Run], with its own MCP session. The calls
// that are running when ws is closed return ErrSessionEnded. The caller ends the input of the
// transport before it closes ws.
func (ws *Workspace) Run(ctx context.Context, transport sdk.Transport) error {
	return ws.server.run(ctx, ws.life, ws.stopSwitch, transport)
}

// Succeeded reports whether a call, other than of chrome_status, has succeeded in any workspace of the
// Server.
func (ws *Workspace) Succeeded() bool { return ws.server.succeeded.Load() }

// firstStateless is the first protocol version without MCP sessions.
const firstStateless = "2026-07-28"

// ServeHTTP implements http.Handler. The caller has authenticated the request and checked its Host
// and Origin.
func (ws *Workspace) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		ws.posts.Begin()
		defer ws.posts.End()
	}
	if r.Header.Get("Mcp-Protocol-Version") >= firstStateless {
		ws.runner.lost.Deliver(ws.stateless, w, r)
		return
	}
	ws.sessions.Serve(ws.stateful, w, r)
}

// A ToolFunc runs one call of a tool without MCP, until ctx is done or the workspace is closed. client is the
// name of the client, and args the JSON object of the tool's arguments; empty means none. The result
// is structured, and its Meta has the error of a call that failed, and a note.
type ToolFunc func(ctx context.Context, client string, args json.RawMessage) *sdk.CallToolResult

// Tool returns the function that calls a tool without MCP, or an error if ws does not offer a tool of
// this name. Only Options.Prompter prompts for permissions that the calls lack.
func (ws *Workspace) Tool(name string) (ToolFunc, error) {
	t := ws.runner.tool(name)
	if t == nil {
		return nil, ws.runner.unknown(name)
	}
	return func(ctx context.Context, client string, args json.RawMessage) *sdk.CallToolResult {
		if !ws.beginCall() {
			return ws.runner.renderError(ctx, t, context.Cause(ws.life))
		}
		defer ws.running.Done()
		ctx, cancel := withLife(ctx, ws.life)
		defer cancel()
		ws.runner.reportClient(client)
		ctx = ws.runner.audit.begin(ctx, client)
		ctx = ws.runner.prompter.Begin(ctx, t.name, prompting.Elicitation{}, nil, nil)
		return ws.runner.runTool(ctx, t, args, true, nil)
	}, nil
}

// beginCall reports whether a call without MCP can begin. The caller must then call running.Done.
func (ws *Workspace) beginCall() bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if !ws.closed {
		ws.running.Add(1)
	}
	return !ws.closed
}

// Deliver serves a request with handler, which calls a tool of [Workspace.Tool] with a context of the
// request, and then writes the result and flushes it. If that does not reach the client, the next
// result of the workspace reports the call. Close waits for the response.
func (ws *Workspace) Deliver(handler http.Handler, w http.ResponseWriter, r *http.Request) {
	ws.posts.Begin()
	defer ws.posts.End()
	ws.runner.lost.Deliver(handler, w, r)
}

// Close cancels the running calls, which return ErrSessionEnded, disconnects all clients and closes
// the workspace.
func (ws *Workspace) Close() error { return ws.End("") }

// End is Close with a reason, which the errors of the running calls repeat. Empty means none.
func (ws *Workspace) End(reason string) error {
	what := "the session was closed before the call finished"
	if reason != "" {
		what += ": " + reason
	}
	ws.cancel(executor.Errorf(executor.ErrSessionEnded, "Open the session again, and start over.", "%s", what))
	ws.posts.Wait(ws.limits.LastResults, nil) // the SDK drops those that are not sent when it is closed
	err := ws.sessions.Close()
	ws.mu.Lock()
	ws.closed = true
	ws.mu.Unlock()
	ws.running.Wait()
	return errors.Join(err, ws.closeRunner())
}

// openRunner opens an executor, and returns a runner for it and the function that closes both.
func (s *Server) openRunner(ctx context.Context) (*toolRunner, func() error, error) {
	for _, set := range s.opts.Tools {
		if err := set.check(); err != nil {
			return nil, nil, err
		}
	}
	ex, err := s.open(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("open a session: %w", err)
	}
	runner := s.newRunner(ex)
	return runner, func() error {
		runner.prompter.Close()
		runner.handovers.close()
		runner.output.close()
		if s.owns {
			return ex.Close()
		}
		return nil
	}, nil
}
