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

// An HTTPSession is one session of a [Server] whose clients connect over MCP's streamable HTTP
// transport, or call tools without MCP. All its clients share the active tab, the refs and the
// limits. What a user granted or denied applies to one MCP session; clients without one count as one
// client, and all calls without MCP as those of another. Its methods are safe for concurrent use.
type HTTPSession struct {
	stateful, stateless http.Handler
	sessions            *mcptransport.MCPSessions
	ses                 *toolSession
	gate                *callGate // of ses and of the sessions of Run
	server              *Server
	life                context.Context // done when the session is being closed; its cause is the error of the calls
	cancel              context.CancelCauseFunc
	closeSession        func() error
	running             sync.WaitGroup        // calls without MCP; grows only while closed is false
	posts               mcptransport.InFlight // POST requests
	limits              timing.ProgramLimits

	mu     sync.Mutex // guards closed
	closed bool       // no call without MCP begins
}

// OpenHTTP opens a session that any number of clients use, one after another or at the same time.
// The caller closes it. It returns an error if Options.Tools has an unknown toolset.
//
// A call continues if its client disconnects. Clients with protocol versions up to 2025-11-25 get
// an MCP session with an Mcp-Session-Id; they reconnect with Last-Event-ID and receive the result.
// From 2026-07-28 on there are no MCP sessions; the next result of the session has a note about a
// result that did not reach its client. [HTTPSession.Deliver] does the same for calls without MCP.
func (s *Server) OpenHTTP(ctx context.Context) (*HTTPSession, error) {
	ses, closeSession, err := s.openSession(ctx)
	if err != nil {
		return nil, err
	}
	ses.gate = new(callGate)
	life, cancel := context.WithCancelCause(context.WithoutCancel(ctx)) // canceled with ErrSessionEnded
	srv := s.protocol(life, ses)
	events := new(mcptransport.EventStore)
	handler := func(stateless bool) http.Handler {
		return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return srv }, &sdk.StreamableHTTPOptions{
			Stateless: stateless, Logger: s.opts.Logger, MaxRequestBodyBytes: mcptransport.MaxMessage, EventStore: events,
			DisableLocalhostProtection: true, // the caller checks Host, which a reverse proxy may have set
		})
	}
	sessions := mcptransport.NewMCPSessions(srv, ses.prompter.Forget)
	return &HTTPSession{
		stateful: handler(false), stateless: handler(true),
		sessions: sessions, ses: ses, gate: ses.gate, server: s, life: life, cancel: cancel, closeSession: closeSession, limits: timing.Current().ProgramLimits,
	}, nil
}

// Run serves one more client over transport, like [Server.Run], with its own MCP session. The calls
// that are running when h is closed return ErrSessionEnded. The caller ends the input of the
// transport before it closes h.
func (h *HTTPSession) Run(ctx context.Context, transport sdk.Transport) error {
	return h.server.run(ctx, h.life, h.gate, transport)
}

// Succeeded reports whether a call of a client, other than chrome_status, has succeeded.
func (h *HTTPSession) Succeeded() bool { return h.server.succeeded.Load() }

// firstStateless is the first protocol version without MCP sessions.
const firstStateless = "2026-07-28"

// ServeHTTP implements http.Handler. The caller has authenticated the request and checked its Host
// and Origin.
func (h *HTTPSession) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		h.posts.Begin()
		defer h.posts.End()
	}
	if r.Header.Get("Mcp-Protocol-Version") >= firstStateless {
		h.ses.lost.Deliver(h.stateless, w, r)
		return
	}
	h.sessions.Serve(h.stateful, w, r)
}

// A ToolFunc runs one call of a tool without MCP, until ctx is done or the session ends. client is the
// name of the client, and args the JSON object of the tool's arguments; empty means none. The result
// is structured, and its Meta has the error of a call that failed, and a note.
type ToolFunc func(ctx context.Context, client string, args json.RawMessage) *sdk.CallToolResult

// Tool returns the function that calls a tool without MCP, or an error if the session does not offer a
// tool of this name. The calls share the session with those of MCP clients. Only Options.Prompter
// prompts for permissions that they lack.
func (h *HTTPSession) Tool(name string) (ToolFunc, error) {
	t := h.ses.tool(name)
	if t == nil {
		return nil, h.ses.unknown(name)
	}
	return func(ctx context.Context, client string, args json.RawMessage) *sdk.CallToolResult {
		if !h.beginCall() {
			return h.ses.failed(ctx, t, context.Cause(h.life))
		}
		defer h.running.Done()
		ctx, cancel := withLife(ctx, h.life)
		defer cancel()
		h.ses.reportClient(client)
		ctx = h.ses.audit.begin(ctx, client)
		ctx = h.ses.prompter.Begin(ctx, t.name, prompting.Elicitation{}, nil, nil)
		return h.ses.runTool(ctx, t, args, true, nil)
	}, nil
}

// beginCall reports whether a call without MCP can begin. The caller must then call running.Done.
func (h *HTTPSession) beginCall() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.running.Add(1)
	}
	return !h.closed
}

// Deliver serves a request with handler, which calls a tool of [HTTPSession.Tool] with a context of the
// request, and then writes the result and flushes it. If that does not reach the client, the next
// result of the session reports the call. Close waits for the response.
func (h *HTTPSession) Deliver(handler http.Handler, w http.ResponseWriter, r *http.Request) {
	h.posts.Begin()
	defer h.posts.End()
	h.ses.lost.Deliver(handler, w, r)
}

// Close cancels the running calls, which return ErrSessionEnded, disconnects all clients and ends
// the session.
func (h *HTTPSession) Close() error { return h.End("") }

// End is Close with a reason, which the errors of the running calls repeat. Empty means none.
func (h *HTTPSession) End(reason string) error {
	what := "the session was closed before the call finished"
	if reason != "" {
		what += ": " + reason
	}
	h.cancel(executor.Errorf(executor.ErrSessionEnded, "Open the session again, and start over.", "%s", what))
	h.posts.Wait(h.limits.LastResults, nil) // the SDK drops those that are not sent when it is closed
	err := h.sessions.Close()
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.running.Wait()
	return errors.Join(err, h.closeSession())
}

// openSession opens a session and returns the function that ends it.
func (s *Server) openSession(ctx context.Context) (*toolSession, func() error, error) {
	for _, set := range s.opts.Tools {
		if err := set.check(); err != nil {
			return nil, nil, err
		}
	}
	ex, err := s.open(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("open a session: %w", err)
	}
	ses := s.session(ex)
	return ses, func() error {
		ses.prompter.Close()
		ses.handovers.close()
		ses.output.close()
		if s.owns {
			return ex.Close()
		}
		return nil
	}, nil
}
