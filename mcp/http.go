package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// An HTTPSession is one session of a [Server] whose clients connect over MCP's streamable HTTP
// transport, or call tools by plain HTTP requests. All its clients share the active tab, the refs,
// the limits and what the user granted for the session. Its methods are safe for concurrent use.
type HTTPSession struct {
	stateful, stateless http.Handler
	protocol            *sdk.Server
	rest                *restCalls
	cancel              context.CancelFunc
	closeSession        func() error
}

// OpenHTTP opens a session that any number of clients use, one after another or at the same time.
// The caller closes it. It returns an error if Options.Tools has an unknown toolset.
//
// Clients with protocol versions up to 2025-11-25 get an MCP session with an Mcp-Session-Id. From
// 2026-07-28 on, there are no MCP sessions. A call continues if its client disconnects.
func (s *Server) OpenHTTP(ctx context.Context) (*HTTPSession, error) {
	ses, closeSession, err := s.openSession(ctx)
	if err != nil {
		return nil, err
	}
	calls, cancel := context.WithCancel(context.WithoutCancel(ctx))
	srv := s.protocol(calls, ses)
	handler := func(stateless bool) http.Handler {
		return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return srv }, &sdk.StreamableHTTPOptions{
			Stateless: stateless, Logger: s.opts.Logger, MaxRequestBodyBytes: maxLine,
		})
	}
	return &HTTPSession{handler(false), handler(true), srv, &restCalls{ses: ses, life: calls}, cancel, closeSession}, nil
}

// firstStateless is the first protocol version without MCP sessions.
const firstStateless = "2026-07-28"

// ServeHTTP implements http.Handler. The caller has authenticated the request and checked its Host
// and Origin.
func (h *HTTPSession) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Mcp-Protocol-Version") >= firstStateless {
		h.stateless.ServeHTTP(w, r)
		return
	}
	h.stateful.ServeHTTP(w, r)
}

// Close cancels the running calls, disconnects all clients and ends the session.
func (h *HTTPSession) Close() error {
	h.cancel()
	var err error
	for conn := range h.protocol.Sessions() {
		err = errors.Join(err, conn.Close())
	}
	h.rest.end()
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
		ses.prompter.close()
		if s.owns {
			return ex.Close()
		}
		return nil
	}, nil
}
