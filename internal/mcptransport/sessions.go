package mcptransport

import (
	"errors"
	"fmt"
	"net/http"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxMCPSessions bounds the MCP sessions of one session of the server. Clients that exit without
// ending theirs would fill the memory.
const maxMCPSessions = 64

// SessionIDHeader is the header with the id of an MCP session.
const SessionIDHeader = "Mcp-Session-Id"

// MCPSessions are the MCP sessions of one session of the server, up to protocol version 2025-11-25.
// At the limit, a new one ends the one that was not used for the longest time.
type MCPSessions struct {
	protocol *sdk.Server
	ended    func(id string)
	ending   sync.WaitGroup // MCP sessions at the limit

	mu       sync.Mutex // guards the fields below
	sessions map[string]*mcpSession
	closed   bool   // no MCP session begins
	opening  int    // requests that may create an MCP session
	clock    uint64 // counts requests
}

// NewMCPSessions returns the MCP sessions that protocol serves. ended is called after the end of one
// that Close does not end.
func NewMCPSessions(protocol *sdk.Server, ended func(id string)) *MCPSessions {
	return &MCPSessions{protocol: protocol, ended: ended, sessions: map[string]*mcpSession{}}
}

type mcpSession struct {
	requests int    // in progress
	used     uint64 // the clock at its last request
}

// Serve serves a request with h. The response to an unknown MCP session is 404. Its client
// then begins a new one.
func (m *MCPSessions) Serve(h http.Handler, w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(SessionIDHeader)
	if id == "" && r.Method == http.MethodPost {
		m.open(h, w, r)
		return
	}
	m.mu.Lock()
	session := m.sessions[id]
	if session != nil {
		m.clock++
		session.used = m.clock
		session.requests++
	}
	m.mu.Unlock()
	if session == nil && id != "" {
		http.Error(w, "session not found", http.StatusNotFound)
		return
	}
	if session != nil {
		defer func() {
			m.mu.Lock()
			if session.requests--; r.Method == http.MethodDelete {
				delete(m.sessions, id)
			}
			m.mu.Unlock()
			if r.Method == http.MethodDelete {
				m.ended(id)
			}
		}()
	}
	h.ServeHTTP(w, r)
}

// open serves a request that may create an MCP session.
func (m *MCPSessions) open(h http.Handler, w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		http.Error(w, "session not found", http.StatusNotFound)
		return
	}
	if len(m.sessions)+m.opening >= maxMCPSessions {
		oldest := m.oldest()
		if oldest == "" {
			m.mu.Unlock()
			w.Header().Set("Retry-After", "5")
			http.Error(w, fmt.Sprintf("the session already has %d MCP sessions with requests in progress", maxMCPSessions), http.StatusTooManyRequests)
			return
		}
		delete(m.sessions, oldest)
		m.ending.Go(func() {
			if conn := m.find(oldest); conn != nil {
				conn.Close() // after its running calls, if it disconnected during one
			}
			m.ended(oldest)
		})
	}
	m.opening++
	m.mu.Unlock()
	first := &initialResponse{ResponseWriter: w, sessions: m}
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if first.session == "" {
			m.opening--
		} else if m.find(first.session) == nil { // the client disconnected during the first request
			delete(m.sessions, first.session)
		}
	}()
	h.ServeHTTP(first, r)
}

// Close ends all MCP sessions. No other begins.
func (m *MCPSessions) Close() (err error) {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	for conn := range m.protocol.Sessions() {
		err = errors.Join(err, conn.Close())
	}
	m.ending.Wait()
	return err
}

// oldest returns the MCP session without requests that was not used for the longest time, or "".
// m.mu must be held.
func (m *MCPSessions) oldest() (id string) {
	for candidate, session := range m.sessions {
		if session.requests == 0 && (id == "" || session.used < m.sessions[id].used) {
			id = candidate
		}
	}
	return id
}

// find returns an MCP session, or nil.
func (m *MCPSessions) find(id string) *sdk.ServerSession {
	for conn := range m.protocol.Sessions() {
		if conn.ID() == id {
			return conn
		}
	}
	return nil
}

// An initialResponse is a response that may create an MCP session. It registers the session before
// the client learns its id.
type initialResponse struct {
	http.ResponseWriter
	sessions *MCPSessions
	session  string // the id, if it is registered; guarded by sessions.mu
}

// Write implements http.ResponseWriter.
func (r *initialResponse) Write(p []byte) (int, error) {
	if id := r.Header().Get(SessionIDHeader); id != "" {
		m := r.sessions
		m.mu.Lock()
		if r.session == "" {
			r.session = id
			m.opening--
			m.clock++
			m.sessions[id] = &mcpSession{used: m.clock}
		}
		m.mu.Unlock()
	}
	return r.ResponseWriter.Write(p)
}

// Unwrap returns the underlying writer for http.ResponseController.
func (r *initialResponse) Unwrap() http.ResponseWriter { return r.ResponseWriter }
