package mcp

import (
	"errors"
	"fmt"
	"net/http"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxHTTPClients bounds the MCP sessions of one HTTPSession. Clients that exit without ending theirs
// would fill the memory.
const maxHTTPClients = 64

// sessionIDHeader is the header with the id of an MCP session.
const sessionIDHeader = "Mcp-Session-Id"

// httpClients are the MCP sessions of an HTTPSession, up to protocol version 2025-11-25. At the
// limit, a new one ends the one that was not used for the longest time.
type httpClients struct {
	protocol *sdk.Server
	ending   sync.WaitGroup // MCP sessions at the limit

	mu      sync.Mutex // guards the fields below
	clients map[string]*httpClient
	closed  bool   // no MCP session begins
	opening int    // requests that may create an MCP session
	clock   uint64 // counts requests
}

type httpClient struct {
	requests int    // in progress
	used     uint64 // the clock at its last request
}

// serve serves a request with h. The response to an unknown MCP session is 404. Its client
// then begins a new one.
func (c *httpClients) serve(h http.Handler, w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(sessionIDHeader)
	if id == "" && r.Method == http.MethodPost {
		c.open(h, w, r)
		return
	}
	c.mu.Lock()
	client := c.clients[id]
	if client != nil {
		c.clock++
		client.used = c.clock
		client.requests++
	}
	c.mu.Unlock()
	if client == nil && id != "" {
		http.Error(w, "session not found", http.StatusNotFound)
		return
	}
	if client != nil {
		defer func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			if client.requests--; r.Method == http.MethodDelete {
				delete(c.clients, id)
			}
		}()
	}
	h.ServeHTTP(w, r)
}

// open serves a request that may create an MCP session.
func (c *httpClients) open(h http.Handler, w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		http.Error(w, "session not found", http.StatusNotFound)
		return
	}
	var evict string
	full := len(c.clients)+c.opening >= maxHTTPClients
	if full {
		if evict = c.oldest(); evict != "" {
			delete(c.clients, evict)
			full = false
		}
	}
	if !full {
		c.opening++
	}
	if evict != "" {
		c.ending.Go(func() {
			if conn := c.find(evict); conn != nil {
				conn.Close() // after its running calls, if it disconnected during one
			}
		})
	}
	c.mu.Unlock()
	if full {
		w.Header().Set("Retry-After", "5")
		http.Error(w, fmt.Sprintf("%d clients are connected to the session", maxHTTPClients), http.StatusTooManyRequests)
		return
	}
	first := &initialResponse{ResponseWriter: w, clients: c}
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if first.session == "" {
			c.opening--
		} else if c.find(first.session) == nil { // the client disconnected during the first request
			delete(c.clients, first.session)
		}
	}()
	h.ServeHTTP(first, r)
}

// close ends all MCP sessions. No other begins.
func (c *httpClients) close() (err error) {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	for conn := range c.protocol.Sessions() {
		err = errors.Join(err, conn.Close())
	}
	c.ending.Wait()
	return err
}

// oldest returns the MCP session without requests that was not used for the longest time, or "".
// c.mu must be held.
func (c *httpClients) oldest() (id string) {
	for candidate, client := range c.clients {
		if client.requests == 0 && (id == "" || client.used < c.clients[id].used) {
			id = candidate
		}
	}
	return id
}

// find returns an MCP session, or nil.
func (c *httpClients) find(id string) *sdk.ServerSession {
	for conn := range c.protocol.Sessions() {
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
	clients *httpClients
	session string // the id, if it is registered; guarded by clients.mu
}

// Write implements http.ResponseWriter.
func (w *initialResponse) Write(p []byte) (int, error) {
	if id := w.Header().Get(sessionIDHeader); id != "" {
		c := w.clients
		c.mu.Lock()
		if w.session == "" {
			w.session = id
			c.opening--
			c.clock++
			c.clients[id] = &httpClient{used: c.clock}
		}
		c.mu.Unlock()
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap returns the underlying writer for http.ResponseController.
func (w *initialResponse) Unwrap() http.ResponseWriter { return w.ResponseWriter }
