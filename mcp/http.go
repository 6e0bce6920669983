package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// An HTTPSession is one session of a [Server] whose clients connect over MCP's streamable HTTP
// transport, or call tools by plain HTTP requests. All its clients share the active tab, the refs,
// the limits and what the user granted for the session. Its methods are safe for concurrent use.
type HTTPSession struct {
	stateful, stateless http.Handler
	clients             *httpClients
	ses                 *toolSession
	rest                *restCalls
	cancel              context.CancelCauseFunc
	closeSession        func() error

	mu       sync.Mutex    // guards the fields below
	requests int           // POST requests in progress
	idle     chan struct{} // closed when requests is 0; nil unless Close waits for that
}

// OpenHTTP opens a session that any number of clients use, one after another or at the same time.
// The caller closes it. It returns an error if Options.Tools has an unknown toolset.
//
// A call continues if its client disconnects. Clients with protocol versions up to 2025-11-25 get an
// MCP session with an Mcp-Session-Id; they reconnect with Last-Event-ID and receive the result. From
// 2026-07-28 on there are no MCP sessions; the next result of the session has a note about a result
// that did not reach its client. The same applies to [HTTPSession.ServeTool].
func (s *Server) OpenHTTP(ctx context.Context) (*HTTPSession, error) {
	ses, closeSession, err := s.openSession(ctx)
	if err != nil {
		return nil, err
	}
	calls, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	srv := s.protocol(calls, ses)
	events := newEventStore()
	handler := func(stateless bool) http.Handler {
		return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return srv }, &sdk.StreamableHTTPOptions{
			Stateless: stateless, Logger: s.opts.Logger, MaxRequestBodyBytes: maxLine, EventStore: events,
			DisableLocalhostProtection: true, // the caller checks Host, which a reverse proxy may have set
		})
	}
	clients := &httpClients{protocol: srv, clients: map[string]*httpClient{}}
	return &HTTPSession{
		stateful: handler(false), stateless: handler(true),
		clients: clients, ses: ses, rest: &restCalls{life: calls}, cancel: cancel, closeSession: closeSession,
	}, nil
}

// firstStateless is the first protocol version without MCP sessions.
const firstStateless = "2026-07-28"

// ServeHTTP implements http.Handler. The caller has authenticated the request and checked its Host
// and Origin.
func (h *HTTPSession) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		h.begin()
		defer h.finish()
	}
	if r.Header.Get("Mcp-Protocol-Version") >= firstStateless {
		h.ses.lost.deliver(h.stateless, w, r)
		return
	}
	h.clients.serve(h.stateful, w, r)
}

// errSessionEnded is the error of a call that was running when its session was closed.
var errSessionEnded = executor.Errorf(executor.ErrSessionEnded, "Open the session again, and start over.", "the session was closed before the call finished")

// Close cancels the running calls, which return ErrSessionEnded, disconnects all clients and ends
// the session.
func (h *HTTPSession) Close() error {
	h.cancel(errSessionEnded)
	h.waitForResponses() // the SDK drops those that are not sent when it is closed
	err := h.clients.close()
	h.rest.end()
	return errors.Join(err, h.closeSession())
}

// begin and finish count the POST requests in progress.
func (h *HTTPSession) begin() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests++
}

func (h *HTTPSession) finish() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.requests--; h.requests == 0 && h.idle != nil {
		close(h.idle)
		h.idle = nil
	}
}

// responseTimeout is the time that the canceled calls of a session have to send their results.
const responseTimeout = 500 * time.Millisecond

// waitForResponses waits until the responses to all POST requests are sent, or responseTimeout has
// passed.
func (h *HTTPSession) waitForResponses() {
	h.mu.Lock()
	if h.requests == 0 {
		h.mu.Unlock()
		return
	}
	if h.idle == nil {
		h.idle = make(chan struct{})
	}
	idle := h.idle
	h.mu.Unlock()
	select {
	case <-idle:
	case <-time.After(responseTimeout):
	}
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
		ses.prompter.close()
		ses.output.close()
		if s.owns {
			return ex.Close()
		}
		return nil
	}, nil
}
