package relay

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/connlimit"
)

// DefaultMaxClients is the default of [Options.MaxClients].
const DefaultMaxClients = 16

// A Policy decides which documents clients can load, and whose cookies, storage and resources they
// can read. *policy.Network implements it. Its methods must be safe for concurrent use.
type Policy interface {
	// CheckDocument returns why a tab cannot load url, or nil. The URL is as a browser serializes it.
	CheckDocument(url string) error
	// CheckCookies returns why the cookies of a host cannot be read and changed, or nil. The scheme
	// is http or https.
	CheckCookies(scheme, host string) error
}

// Options are the options of [New].
type Options struct {
	// Browser is the browser that clients drive. Required.
	Browser executor.CDPBrowser
	// Policy is the policy that the browser enforces too. Required.
	Policy Policy
	// UploadsDir is the directory whose files clients can give to pages. "" means none.
	UploadsDir string
	// MaxClients is the maximum number of clients. Others get the HTTP status 503 or, if MaxClients
	// is 1, 409. 0 means DefaultMaxClients.
	MaxClients int
	// Audit records the clients' commands, without their parameters. Commands that act or read fail
	// while it is not ready. Nil disables recording.
	Audit audit.Recorder
	// OnClients is called after the result of [Server.Clients] has changed. It must not block. Nil means
	// that nothing is called.
	OnClients func()
	// Logger logs connections. No message contains the path of the server. Nil disables logging.
	Logger *slog.Logger
}

// A Client describes a connected client. The endpoint /json/clients returns the clients as JSON.
type Client struct {
	ID    string    `json:"id"`   // random, for Disconnect
	Name  string    `json:"name"` // from its User-Agent header, such as "Playwright/1.55.0"; at most 60 characters
	Since time.Time `json:"since"`
	Page  string    `json:"page,omitempty"` // target id of the page that the client is connected to; "" for the browser
}

// A Server serves CDP clients. Its methods are safe for concurrent use.
type Server struct {
	opts  Options
	log   *slog.Logger
	path  string
	audit *auditor
	http  *http.Server

	maxMessage int64 // maximum size of a command, in bytes; tests change it

	mu       sync.Mutex            // guards the fields below
	clients  []*client             // in the order in which they connected
	contexts map[string]*client    // browser contexts that clients created
	emulated map[string]*emulation // by target id
	closed   bool
	wg       sync.WaitGroup // of the clients
}

// New returns a server. It neither listens nor starts the browser. It returns [executor.ErrBadArgs]
// if a required option is missing.
func New(options *Options) (*Server, error) {
	opts := *cmp.Or(options, new(Options))
	if opts.Browser == nil || opts.Policy == nil {
		return nil, executor.Errorf(executor.ErrBadArgs, "Set Options.Browser and Options.Policy.",
			"the relay has no browser or no policy")
	}
	opts.MaxClients = cmp.Or(opts.MaxClients, DefaultMaxClients)
	if opts.OnClients == nil {
		opts.OnClients = func() {}
	}
	s := &Server{
		opts: opts, log: cmp.Or(opts.Logger, slog.New(slog.DiscardHandler)), path: "/" + randomHex(32),
		audit: newAuditor(opts.Audit), contexts: map[string]*client{}, emulated: map[string]*emulation{},
		maxMessage: maxMessage,
	}
	s.http = &http.Server{
		Handler: http.HandlerFunc(s.serveBelowPath), ConnContext: connlimit.WithConn,
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: log.New(io.Discard, "", 0), // its messages can contain URLs
	}
	return s, nil
}

// randomHex returns n random bytes in hexadecimal.
func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never returns an error
	return hex.EncodeToString(b)
}

// Path returns the path below which Serve has its endpoints: a slash and 64 hexadecimal digits. It
// is new for each Server, and a secret.
func (s *Server) Path() string { return s.path }

// maxConnections is the maximum number of connections of a listener: clients, and requests of
// /json.
const maxConnections = 128

// Serve serves clients that connect to l, which must listen on a loopback TCP address; otherwise it
// returns [executor.ErrBadArgs]. Serve returns when l fails, with its error, or after Close, with
// [net.ErrClosed]. It always closes l. Requests that are not below Path, or not for a loopback host,
// get the status 404. Requests with an Origin header other than that of DevTools get 403.
func (s *Server) Serve(l net.Listener) error {
	if a, ok := l.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		_ = l.Close()
		return executor.Errorf(executor.ErrBadArgs, "Listen on 127.0.0.1.", "%s is not a loopback address", l.Addr())
	}
	err := s.http.Serve(connlimit.New(l, maxConnections))
	if errors.Is(err, http.ErrServerClosed) {
		return net.ErrClosed
	}
	return err
}

// Clients returns the connected clients, in the order in which they connected.
func (s *Server) Clients() []Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Client, 0, len(s.clients))
	for _, c := range s.clients {
		list = append(list, c.info)
	}
	return list
}

// Disconnect disconnects the client whose ID is id, or all clients if id is "", and waits until their
// connections to the browser are closed.
func (s *Server) Disconnect(id string) {
	s.mu.Lock()
	clients := slices.DeleteFunc(slices.Clone(s.clients), func(c *client) bool { return id != "" && c.info.ID != id })
	s.mu.Unlock()
	for _, c := range clients {
		c.end(websocket.StatusGoingAway, "disconnected by the user")
	}
	for _, c := range clients {
		<-c.ended
	}
}

// Close closes the listeners of Serve, disconnects all clients, and waits until their connections to
// the browser are closed. It does not close the browser. It always returns nil.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	clients := slices.Clone(s.clients)
	s.mu.Unlock()
	_ = s.http.Close()
	for _, c := range clients {
		c.end(websocket.StatusGoingAway, "the server is closing")
	}
	s.wg.Wait()
	s.audit.flush()
	return nil
}

// A rejection says why a client cannot connect.
type rejection struct {
	status int // of the HTTP response
	text   string
}

// add adds a client that is about to connect, or returns why it cannot.
func (s *Server) add(c *client) *rejection {
	s.mu.Lock()
	switch {
	case s.closed:
		s.mu.Unlock()
		return &rejection{http.StatusServiceUnavailable, "The server is closing."}
	case len(s.clients) < s.opts.MaxClients:
		s.clients = append(s.clients, c)
		s.wg.Add(1)
		s.mu.Unlock()
		s.opts.OnClients()
		return nil
	}
	first := s.clients[0].info.Name
	s.mu.Unlock()
	if s.opts.MaxClients == 1 {
		return &rejection{
			http.StatusConflict,
			"Another client is connected: " + first + ". Only one is allowed at a time. Disconnect it first.",
		}
	}
	return &rejection{http.StatusServiceUnavailable, "Too many clients are connected. Disconnect one of them first."}
}

// remove removes a client, and all that it owned.
func (s *Server) remove(c *client) {
	s.mu.Lock()
	s.clients = slices.DeleteFunc(s.clients, func(x *client) bool { return x == c })
	maps.DeleteFunc(s.contexts, func(_ string, owner *client) bool { return owner == c })
	maps.DeleteFunc(s.emulated, func(_ string, e *emulation) bool { return e.owner == c })
	s.mu.Unlock()
	s.opts.OnClients()
	s.audit.flush()
	s.wg.Done()
}

// targetDestroyed forgets the emulation of a target.
func (s *Server) targetDestroyed(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.emulated, id)
}

// browserContextOwner returns the client that created a browser context, or nil.
func (s *Server) browserContextOwner(id string) *client {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.contexts[id]
}

// call connects to the browser, and sends one command.
func (s *Server) call(ctx context.Context, method string, params map[string]any, res any) error {
	conn, err := s.query(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return callOn(ctx, conn, method, params, res)
}

// query connects to the browser for commands of callOn.
func (s *Server) query(ctx context.Context) (executor.CDPConn, error) {
	return s.opts.Browser.ConnectCDP(ctx, &executor.CDPOptions{Query: true})
}

// callOn sends a command on a connection without other commands, and decodes its result into res, if
// it is not nil.
func callOn(ctx context.Context, conn executor.CDPConn, method string, params map[string]any, res any) error {
	if id, ok := params["targetId"].(string); ok && conn.HandedOver(id) {
		return errHandedOver
	}
	if err := conn.Send(ctx, executor.CDPMessage{ID: 1, Method: method, Params: encode(params)}); err != nil {
		return err
	}
	for {
		m, err := conn.Receive(ctx)
		switch {
		case err != nil:
			return err
		case m.ID != 1:
		case m.Error != nil:
			return &protocolError{*m.Error}
		case res == nil:
			return nil
		default:
			return json.Unmarshal(m.Result, res)
		}
	}
}
