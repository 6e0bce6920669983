// Package server serves named workspaces to the programs of one operating-system user, over HTTP on
// a Unix socket. Users, paths and messages call a workspace a session; it outlives the programs
// that use it, so the pages of a command line stay open between calls. An [HTTPListener] also
// serves workspaces over TCP, to clients with a token.
//
// The routes are
//
//	GET    /v1/server                         the server's version and process
//	POST   /v1/server/stop                    stop the server
//	GET    /v1/sessions                       the open workspaces; on the Unix socket with ?all=true, also
//	                                          those of tokens
//	PUT    /v1/sessions/{name}                open a workspace, or check its settings; with ?keep=true,
//	                                          without an idle timeout
//	DELETE /v1/sessions/{name}                close a workspace; on the Unix socket, SESSION@TOKEN closes one
//	                                          of a token
//	POST   /v1/sessions/{name}/stream         upgrade to MCP's stdio transport
//	POST   /v1/sessions/{name}/tools/{tool}   call a tool
//	GET    /v1/tools                          the tools of all workspaces
//	GET    /v1/openapi.json                   the OpenAPI document of the server
//	*      /mcp                               MCP's streamable HTTP transport; SessionHeader names the workspace
//	*      /json/..., /devtools/...           the workspace's endpoint for CDP clients; SessionHeader names the workspace
//	*      /json/clients...                   the CDP clients of an open workspace; on the Unix socket, SESSION@TOKEN
//	                                          names one of a token
//
// TCP also has /healthz, /readyz and /metrics. Stopping the server and streams are available only
// on the Unix socket. A request sees only the workspaces of its [Principal].
//
// An error of the server has the body {"error": {"code", "message", "hint", "retryable"}}. If the
// request reached /mcp and its workspace cannot be used, the error is a JSON-RPC error with these
// as data. Unknown paths and methods, and unknown MCP sessions, get plain text.
package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// SessionHeader names the workspace of an MCP request.
const SessionHeader = "Chrome-MCP-Session"

// ReplacedHeader is set in the response to a PUT request that replaced a workspace with other
// settings.
const ReplacedHeader = "Chrome-MCP-Replaced"

// DefaultSession is the name of the workspace of clients that name none.
const DefaultSession = "default"

const (
	// defaultMaxSessions is the default of Options.MaxSessions.
	defaultMaxSessions = 64
	// defaultPrincipalSessions is the default of Principal.MaxSessions.
	defaultPrincipalSessions = 16
)

// A Workspace serves one browser session to its clients.
type Workspace interface {
	http.Handler // MCP's streamable HTTP transport
	// ServeTool serves one call of a tool, as one request.
	ServeTool(w http.ResponseWriter, r *http.Request, tool string)
	// ServeStream serves one client over MCP's stdio transport, until the client disconnects or the
	// workspace is closed. It closes the stream.
	ServeStream(stream io.ReadWriteCloser) error
	// ServeDevTools serves a request to the workspace's endpoint for CDP clients. It returns
	// ErrBadArgs, and writes nothing, if the workspace has none.
	ServeDevTools(w http.ResponseWriter, r *http.Request) error
	// HasState reports whether the workspace has a running browser, an open tab or a permission of the
	// user, or a call in it, other than one that reports the status, has succeeded.
	HasState() bool
	// HandedOver reports whether a page is handed over to the user, who may need longer than
	// SessionIdle. The workspace stays open until then.
	HandedOver() bool
	// Close ends the workspace and disconnects its clients. The errors of running calls give the
	// reason.
	Close(reason string) error
}

// Options configure a [Server].
type Options struct {
	// Version is the version of the program. Clients of another version report an error.
	Version string
	// Open opens a workspace. The workspace's browser starts with its first call.
	Open func(OpenRequest) (Workspace, error)
	// CheckSettings checks the names and values of the settings in a request. Nil means no check.
	CheckSettings func(Settings) error
	// Tools and OpenAPI return the tools of all workspaces and the OpenAPI document of the server,
	// which are encoded as JSON. A nil function has no route.
	Tools, OpenAPI func() any
	// IdleTimeout is the time without requests after which the server exits. 0 means never.
	IdleTimeout time.Duration
	// SessionIdle is the time without requests after which the server closes a workspace. A running
	// call and an open stream count as requests. 0 means never.
	SessionIdle time.Duration
	// SessionTTL is the time after which the server closes a workspace, also while it is in use. 0
	// means never.
	SessionTTL time.Duration
	// MaxSessions limits the open workspaces of all principals. 0 means 64.
	MaxSessions int
	// MaxCalls limits the calls that run at the same time. Others wait up to 30 s; principals take
	// turns. One call of each principal never waits. 0 means 4 for each CPU, but at
	// least 8.
	MaxCalls int
	// Logger logs the start and end of workspaces. Nil discards.
	Logger *slog.Logger
	// HTTP also serves the workspaces to principals with tokens. Nil means only the Unix socket.
	HTTP *HTTPListener
	// SocketTokens are the tokens of the requests on the Unix socket. Nil means that these requests
	// need no token and come from the operating-system user.
	SocketTokens *Tokens
}

// An OpenRequest says which workspace to open.
type OpenRequest struct {
	Principal string // name of the owner; empty for the operating-system user
	Name      string
	Settings  Settings
	// Limit must be called before each call of a tool, and release when the call has ended. It
	// waits while too many calls are running, and returns ErrBackpressure if that takes too long.
	Limit func(ctx context.Context) (release func(), err error)
	// Close closes the workspace, but no later workspace with its name. The errors of running
	// calls, and of the next ones of its clients, give the reason.
	Close func(reason string) error
}

// A Server serves workspaces. Its methods are safe for concurrent use.
type Server struct {
	opts    Options
	log     *slog.Logger
	started time.Time
	stop    context.CancelFunc
	stopped context.Context
	calls   *callQueue
	limits  timing.ProgramLimits // never changes

	mu         sync.Mutex // guards the fields below
	workspaces map[workspaceKey]*workspace
	ended      endedWorkspaces
	openings   openings
	requests   int         // in progress, and running calls
	idle       *time.Timer // nil without an IdleTimeout
	closed     bool
}

// Status describes a running server.
type Status struct {
	Version  string    `json:"version"`
	PID      int       `json:"pid,omitempty"` // 0 for clients with a token
	Started  time.Time `json:"started"`
	Sessions int       `json:"sessions"`      // open workspaces of the caller's principal
	URL      string    `json:"url,omitempty"` // of Options.HTTP
}

// New returns a server that does not serve yet.
func New(opts Options) *Server {
	opts.MaxSessions = cmp.Or(opts.MaxSessions, defaultMaxSessions)
	s := &Server{
		opts: opts, log: cmp.Or(opts.Logger, slog.New(slog.DiscardHandler)), started: time.Now(),
		workspaces: map[workspaceKey]*workspace{}, calls: newCallQueue(cmp.Or(opts.MaxCalls, defaultMaxCalls())),
		limits: timing.Current().ProgramLimits,
	}
	s.stopped, s.stop = context.WithCancel(context.Background())
	return s
}

// Serve serves l until ctx is done, a client stops the server, or it has been idle for IdleTimeout.
// Then it gives running calls two seconds to finish, and closes all workspaces, which may take 15
// s. It closes l.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if s.opts.IdleTimeout > 0 {
		s.mu.Lock()
		s.idle = time.AfterFunc(s.opts.IdleTimeout, s.stop)
		s.mu.Unlock()
	}
	handler := s.handler()
	if s.opts.SocketTokens != nil {
		handler = s.opts.SocketTokens.authenticate(handler)
	}
	web := &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	served := make(chan error, 2)
	var listening sync.WaitGroup // done when the listeners are closed
	listening.Go(func() { served <- web.Serve(l) })
	if s.opts.HTTP != nil {
		serve := s.opts.HTTP.start(s)
		listening.Go(func() { served <- serve() })
	}
	var err error
	select {
	case err = <-served:
	case <-ctx.Done():
	case <-s.stopped.Done():
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.limits.ServerDrain+s.limits.CloseConnections)
	defer cancel()
	var shutdowns sync.WaitGroup // done when no connection has a request in progress
	if s.opts.HTTP != nil {
		s.opts.HTTP.stop()
		shutdowns.Go(func() { s.opts.HTTP.shutdown(ctx) })
	}
	shutdowns.Go(func() { shutdown(ctx, web) })
	select {
	case <-s.calls.stop():
	case <-time.After(s.limits.ServerDrain):
	}
	// This ends the streams of clients that wait for messages. Clients that read no response, or
	// send no complete request, stay connected for Timing.CloseConnections.
	limit, stop := context.WithTimeout(context.Background(), s.limits.CloseSessions)
	defer stop()
	err = errors.Join(err, s.closeAll(limit))
	late := time.AfterFunc(s.limits.CloseConnections, cancel)
	defer late.Stop()
	shutdowns.Wait()
	listening.Wait()
	return err
}

// shutdown waits until no connection has a request, or ctx is done, and closes all connections.
func shutdown(ctx context.Context, web *http.Server) {
	if web.Shutdown(ctx) != nil {
		web.Close()
	}
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/server", func(w http.ResponseWriter, r *http.Request) {
		reply(w, http.StatusOK, s.status(principalOf(r.Context())))
	})
	mux.HandleFunc("POST /v1/server/stop", osUserOnly(func(w http.ResponseWriter, _ *http.Request) {
		s.log.Info("stop requested by a client")
		w.WriteHeader(http.StatusAccepted)
		http.NewResponseController(w).Flush() // before the connection may be closed
		s.stop()
	}))
	mux.HandleFunc("GET /v1/sessions", func(w http.ResponseWriter, r *http.Request) {
		query, err := boolParameters(r.URL.RawQuery, "all")
		if err != nil {
			fail(w, err)
			return
		}
		p := principalOf(r.Context())
		reply(w, http.StatusOK, s.list(p, query["all"] && p == osUser))
	})
	mux.HandleFunc("PUT /v1/sessions/{name}", s.putWorkspace)
	mux.HandleFunc("DELETE /v1/sessions/{name}", func(w http.ResponseWriter, r *http.Request) {
		if err := s.Close(principalOf(r.Context()), r.PathValue("name"), "a client closed it"); err != nil {
			fail(w, err)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST /v1/sessions/{name}/stream", socketOnly(s.withWorkspace(alwaysOpens, s.serveStream)))
	mux.HandleFunc("/v1/sessions/{name}/tools/{tool}", s.withWorkspace(opensUnlessEnded, serveTool))
	for path, document := range map[string]func() any{"/v1/tools": s.opts.Tools, "/v1/openapi.json": s.opts.OpenAPI} {
		if document != nil {
			document := sync.OnceValue(document) // it is large
			mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, document()) })
		}
	}
	mux.HandleFunc(mcpPath, s.serveMCP)
	for _, path := range devToolsPaths {
		mux.HandleFunc(path, s.withWorkspace(opensUnlessEnded, (*workspace).ServeDevTools)) // a connected client uses the workspace
	}
	for _, path := range []string{"/json/clients", "/json/clients/"} {
		mux.HandleFunc(path, s.serveCDPClients)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.begin()
		s.mu.Unlock()
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.finish()
		}()
		mux.ServeHTTP(w, r)
	})
}

// begin and finish count what is in progress, so that a long call keeps the server running. s.mu
// must be held.
func (s *Server) begin() {
	if s.requests++; s.idle != nil {
		s.idle.Stop()
	}
}

func (s *Server) finish() {
	if s.requests--; s.requests == 0 && s.idle != nil && !s.closed {
		s.idle.Reset(s.opts.IdleTimeout)
	}
}

// status returns the state of the server, with the number of workspaces of p.
func (s *Server) status(p *Principal) Status {
	st := Status{Version: s.opts.Version, Started: s.started, Sessions: len(s.list(p, false))}
	if p == osUser {
		st.PID = os.Getpid()
	}
	if s.opts.HTTP != nil {
		st.URL = s.opts.HTTP.URL()
	}
	return st
}

// openWorkspaces returns the number of workspaces of all principals.
func (s *Server) openWorkspaces() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, ws := range s.workspaces {
		if !ws.closing {
			n++
		}
	}
	return n
}

// list returns the workspaces of p or, with all, of all principals, sorted by principal and name.
func (s *Server) list(p *Principal, all bool) []Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	infos := []Info{}
	for key, ws := range s.workspaces {
		if (all || key.principal == p.Name) && !ws.closing {
			info := ws.info
			info.Ends = s.ends(ws)
			infos = append(infos, info)
		}
	}
	slices.SortFunc(infos, func(a, b Info) int {
		return cmp.Or(strings.Compare(a.Principal, b.Principal), strings.Compare(a.Name, b.Name))
	})
	return infos
}

// serveMCP serves MCP's streamable HTTP transport.
func (s *Server) serveMCP(w http.ResponseWriter, r *http.Request) {
	use := workspaceUseOf(r)
	if use != mustBeOpen && principalOf(r.Context()).hasToken() && !isMessage(r) { // it would open a workspace
		failMCP(w, r, errs.Errorf(errs.ErrBadArgs, "Send a JSON-RPC request.", "the body is not a JSON-RPC request"))
		return
	}
	ws, release, err := s.use(r.Context(), clientOf(r), workspaceOf(r), use)
	if err != nil {
		failMCP(w, r, err)
		return
	}
	defer release()
	ws.ServeHTTP(w, r)
}

// withWorkspace returns a handler that uses the workspace of a request and serves the request, or
// writes the error of one of them.
func (s *Server) withWorkspace(
	use workspaceUse, serve func(*workspace, http.ResponseWriter, *http.Request) error,
) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ws, release, err := s.use(r.Context(), clientOf(r), workspaceOf(r), use)
		if err == nil {
			defer release()
			err = serve(ws, w, r)
		}
		if err != nil {
			fail(w, err)
		}
	}
}

// serveTool serves one call of a tool, without MCP.
func serveTool(ws *workspace, w http.ResponseWriter, r *http.Request) error {
	ws.ServeTool(w, r, r.PathValue("tool"))
	return nil
}

// serveCDPClients lists or disconnects the CDP clients of an open workspace, which it does not use.
func (s *Server) serveCDPClients(w http.ResponseWriter, r *http.Request) {
	name := cmp.Or(r.Header.Get(SessionHeader), DefaultSession)
	ws, err := s.find(principalOf(r.Context()), name), errUnknown(name)
	if ws != nil {
		select {
		case <-ws.ready:
			err = ws.err
		case <-r.Context().Done():
			err = context.Cause(r.Context())
		}
		if err == nil {
			err = ws.ServeDevTools(w, r)
		}
	}
	if err != nil {
		fail(w, err)
	}
}

// devToolsPaths are the paths of the endpoint for CDP clients, as in Chromium.
var devToolsPaths = []string{"/json", "/json/", "/devtools/"}

// workspaceUseOf returns how an MCP request uses its workspace. A request with Mcp-Session-Id
// continues an MCP session, so it must not open a workspace. From protocol version 2026-07-28 on
// there are no MCP sessions; the headers say whether a request is a call.
func workspaceUseOf(r *http.Request) workspaceUse {
	switch {
	case r.Method != http.MethodPost || r.Header.Get("Mcp-Session-Id") != "":
		return mustBeOpen
	}
	switch r.Header.Get("Mcp-Method") {
	case "tools/call":
		return opensUnlessEnded
	case "", "initialize", "server/discover": // without the header, it is initialize
		return newClient
	}
	return alwaysOpens
}

// isMessage reports whether the body of r is a JSON-RPC request or notification, or a batch of
// them. The size of the body is already limited. The body can be read again.
func isMessage(r *http.Request) bool {
	type message struct {
		Version string `json:"jsonrpc"`
		Method  string `json:"method"`
	}
	data, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(data))
	if err != nil {
		return false
	}
	all := make([]message, 1)
	if data = bytes.TrimSpace(data); bytes.HasPrefix(data, []byte("[")) {
		err = json.Unmarshal(data, &all)
	} else {
		err = json.Unmarshal(data, &all[0])
	}
	return err == nil && len(all) > 0 &&
		!slices.ContainsFunc(all, func(m message) bool { return m.Version != "2.0" || m.Method == "" })
}

func (s *Server) putWorkspace(w http.ResponseWriter, r *http.Request) {
	query, err := boolParameters(r.URL.RawQuery, "keep")
	var settings Settings
	if err == nil {
		settings, err = readSettings(w, r)
	}
	if err == nil && s.opts.CheckSettings != nil {
		err = s.opts.CheckSettings(settings)
	}
	replaced := false
	if err == nil {
		replaced, err = s.open(r.Context(), principalOf(r.Context()), clientOf(r), r.PathValue("name"), settings,
			query["keep"])
	}
	if err != nil {
		fail(w, err)
		return
	}
	if replaced {
		w.Header().Set(ReplacedHeader, "true")
	}
	w.WriteHeader(http.StatusNoContent)
}
