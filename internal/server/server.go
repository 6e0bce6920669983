// Package server serves named browser sessions to the programs of one operating-system user, over
// HTTP on a Unix socket. A session lasts from one program to the next: that is how a command line
// keeps its pages between calls.
//
// The routes are
//
//	GET    /v1/server                         the server's version and process
//	POST   /v1/server/stop                    end the server
//	GET    /v1/sessions                       the open sessions
//	PUT    /v1/sessions/{name}                open a session, or check its settings
//	DELETE /v1/sessions/{name}                close a session
//	POST   /v1/sessions/{name}/stream         upgrade to MCP's stdio transport
//	POST   /v1/sessions/{name}/tools/{tool}   call a tool
//	GET    /v1/tools                          the tools of all sessions
//	GET    /v1/openapi.json                   the OpenAPI document of the server
//	*      /mcp                               MCP's streamable HTTP transport; SessionHeader names the session
//
// An error is {"error": {"code", "message", "hint", "retryable"}}.
package server

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
)

// SessionHeader names the session of an MCP request.
const SessionHeader = "Chrome-MCP-Session"

// DefaultSession is the name of the session of clients that name none.
const DefaultSession = "default"

const (
	// maxSettings bounds the body of a request that opens a session, in bytes.
	maxSettings = 1 << 20
	// maxSessions bounds the number of open sessions.
	maxSessions = 64
	// drainTimeout is the time that running requests have to finish when the server stops.
	drainTimeout = 2 * time.Second
)

// A Session serves one browser session to its clients.
type Session interface {
	http.Handler // MCP's streamable HTTP transport
	// ServeTool serves one call of a tool, as one request.
	ServeTool(w http.ResponseWriter, r *http.Request, tool string)
	// ServeStream serves one client over MCP's stdio transport, until the client disconnects or the
	// session is closed. It closes the stream.
	ServeStream(stream io.ReadWriteCloser) error
	// Close ends the session and disconnects its clients.
	Close() error
}

// Options configure a [Server].
type Options struct {
	// Version is the version of the program. Clients of another version report an error.
	Version string
	// Open opens a session. The session's browser starts with its first call.
	Open func(name string, s Settings) (Session, error)
	// Tools and OpenAPI return the tools of all sessions and the OpenAPI document of the server,
	// which are encoded as JSON. A nil function has no route.
	Tools, OpenAPI func() any
	// IdleTimeout is the time without requests after which the server ends. 0 means never.
	IdleTimeout time.Duration
	// Logger logs the start and end of sessions. Nil discards.
	Logger *slog.Logger
}

// A Server serves sessions. Its methods are safe for concurrent use.
type Server struct {
	opts    Options
	log     *slog.Logger
	started time.Time
	stop    context.CancelFunc
	stopped context.Context

	mu       sync.Mutex // guards the fields below
	sessions map[string]*session
	requests int         // in progress
	idle     *time.Timer // nil without an IdleTimeout
	closed   bool
}

// Status describes a running server.
type Status struct {
	Version  string    `json:"version"`
	PID      int       `json:"pid"`
	Started  time.Time `json:"started"`
	Sessions int       `json:"sessions"`
}

// New returns a server that does not serve yet.
func New(opts Options) *Server {
	s := &Server{opts: opts, log: cmp.Or(opts.Logger, slog.New(slog.DiscardHandler)), started: time.Now(), sessions: map[string]*session{}}
	s.stopped, s.stop = context.WithCancel(context.Background())
	return s
}

// Serve serves l until ctx is done, a client stops the server, or it has been idle for IdleTimeout.
// Then it closes all sessions. It closes l.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if s.opts.IdleTimeout > 0 {
		s.mu.Lock()
		s.idle = time.AfterFunc(s.opts.IdleTimeout, s.stop)
		s.mu.Unlock()
	}
	web := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn)}
	served := make(chan error, 1)
	go func() { served <- web.Serve(l) }()
	var err error
	select {
	case err = <-served:
	case <-ctx.Done():
	case <-s.stopped.Done():
	}
	drain, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	if web.Shutdown(drain) != nil {
		web.Close() // streams of clients that wait for messages never finish
	}
	return errors.Join(err, s.closeAll())
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/server", func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, s.status()) })
	mux.HandleFunc("POST /v1/server/stop", func(w http.ResponseWriter, _ *http.Request) {
		s.log.Info("a client stops the server")
		w.WriteHeader(http.StatusAccepted)
		s.stop()
	})
	mux.HandleFunc("GET /v1/sessions", func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, s.list()) })
	mux.HandleFunc("PUT /v1/sessions/{name}", s.putSession)
	mux.HandleFunc("DELETE /v1/sessions/{name}", func(w http.ResponseWriter, r *http.Request) {
		if err := s.close(r.PathValue("name")); err != nil {
			fail(w, err)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST /v1/sessions/{name}/stream", s.serveStream)
	mux.HandleFunc("/v1/sessions/{name}/tools/{tool}", func(w http.ResponseWriter, r *http.Request) {
		one, err := s.use(r.PathValue("name"))
		if err != nil {
			fail(w, err)
			return
		}
		one.ServeTool(w, r, r.PathValue("tool"))
	})
	for path, document := range map[string]func() any{"/v1/tools": s.opts.Tools, "/v1/openapi.json": s.opts.OpenAPI} {
		if document != nil {
			mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, document()) })
		}
	}
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		one, err := s.use(cmp.Or(r.Header.Get(SessionHeader), DefaultSession))
		if err != nil {
			fail(w, err)
			return
		}
		one.ServeHTTP(w, r)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.begin()
		defer s.end()
		mux.ServeHTTP(w, r)
	})
}

// begin and end count the requests in progress, so that a long call keeps the server running.
func (s *Server) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requests++; s.idle != nil {
		s.idle.Stop()
	}
}

func (s *Server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requests--; s.requests == 0 && s.idle != nil {
		s.idle.Reset(s.opts.IdleTimeout)
	}
}

func (s *Server) status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Status{Version: s.opts.Version, PID: os.Getpid(), Started: s.started, Sessions: len(s.sessions)}
}

// list returns the sessions, sorted by name.
func (s *Server) list() []Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	infos := []Info{}
	for _, name := range slices.Sorted(maps.Keys(s.sessions)) {
		infos = append(infos, s.sessions[name].info)
	}
	return infos
}

func (s *Server) putSession(w http.ResponseWriter, r *http.Request) {
	var settings Settings
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxSettings))
	if err := dec.Decode(&settings); err != nil {
		fail(w, errs.Errorf(errs.ErrBadArgs, "Send a JSON object that maps each flag to a list of values.", "settings of the session: %w", err))
		return
	}
	if err := s.open(r.PathValue("name"), settings); err != nil {
		fail(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// streamProtocol is the name of MCP's stdio transport in the header Upgrade.
const streamProtocol = "mcp-stdio"

// serveStream serves MCP's stdio transport on the connection of a request.
func (s *Server) serveStream(w http.ResponseWriter, r *http.Request) {
	one, err := s.use(r.PathValue("name"))
	if err != nil {
		fail(w, err)
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		fail(w, err)
		return
	}
	_, err = fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", streamProtocol)
	if err == nil {
		err = one.ServeStream(&stream{conn, buffered.Reader})
	}
	if err != nil {
		conn.Close()
		s.log.Warn("client disconnected", "session", one.info.Name, "error", err)
	}
}

// A stream is a connection after its upgrade. Its reader may have read more than the headers.
type stream struct {
	net.Conn
	in *bufio.Reader
}

func (s *stream) Read(p []byte) (int, error) { return s.in.Read(p) }

// CloseWrite ends the output, but not the input.
func (s *stream) CloseWrite() error { return s.Conn.(*net.UnixConn).CloseWrite() }
