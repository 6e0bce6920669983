package server

import (
	"cmp"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/connlimit"
	"github.com/chrome-mcp/chrome-mcp/internal/keylimit"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
)

const (
	// maxConnections bounds the open connections if there are few principals.
	maxConnections = 1024
	// maxPrincipalConnections bounds the open connections of one principal. A stream of messages
	// needs one.
	maxPrincipalConnections = 128
	// maxStreams bounds the requests in progress of one HTTP/2 connection, and maxPrincipalRequests
	// those of one principal. A stream of messages is one.
	maxStreams           = 64
	maxPrincipalRequests = 256
	// headerTimeout is the time in which the header of a request must arrive. A connection that has
	// not sent a token and has no request in progress is closed after the same time.
	headerTimeout = 10 * time.Second
	// idleTimeout is the time after which a connection without requests is closed if it has sent a
	// token.
	idleTimeout = 2 * time.Minute
	// maxHeader bounds the header of a request, in bytes.
	maxHeader = 64 << 10
)

// mcpPath is the path of MCP's streamable HTTP transport.
const mcpPath = "/mcp"

// HTTPOptions configure a [HTTPListener].
type HTTPOptions struct {
	// Address is the host and port to listen on. Port 0 selects a free port.
	Address string
	// Certificate turns on TLS. nil means no TLS.
	Certificate *tls.Certificate
	// BehindProxy allows addresses other than loopback without TLS, because a reverse proxy
	// terminates it.
	BehindProxy bool
	// PublicURL is the URL that clients use if it differs from Address, such as that of a reverse
	// proxy. Only its scheme, host and port are used.
	PublicURL *url.URL
	// Metrics counts the requests. Nil means new metrics.
	Metrics *Metrics
	// Logger logs requests: rejected ones at level info, others at level debug. Nil discards.
	Logger *slog.Logger

	writeTimeout time.Duration // replaces the constant in tests if not 0
}

// An HTTPListener serves a [Server] to other programs and machines over HTTP. Each request needs a
// bearer token, except for /healthz. Requests of pages are rejected.
type HTTPListener struct {
	opts     HTTPOptions
	log      *slog.Logger
	listener net.Listener
	tls      *tls.Config // nil means no TLS
	url      string
	hosts    *hostCheck
	tokens   []Credential
	bodies   byteBudget
	unsent   byteBudget // of responses
	requests *keylimit.Limit[*Principal]
	files    []*owneronly.File

	web *http.Server // nil before start

	mu       sync.Mutex // guards the fields below
	draining bool
	running  sync.WaitGroup // requests that a handler serves; grows only while draining is false
}

// ListenHTTP listens on an address. It returns ErrBadArgs for an address outside of loopback
// without TLS and for invalid options, and ErrLaunchFailed if the address cannot be used.
// [Server.Serve] serves the listener and closes it.
func ListenHTTP(opts HTTPOptions) (*HTTPListener, error) {
	h := &HTTPListener{
		opts: opts, log: cmp.Or(opts.Logger, slog.New(slog.DiscardHandler)),
		requests: keylimit.New[*Principal](maxPrincipalRequests),
		bodies:   byteBudget{what: "the bodies of the requests in progress", limit: maxBodies},
		unsent:   byteBudget{what: "the responses that were not read", limit: maxUnsent},
	}
	h.opts.Metrics = cmp.Or(opts.Metrics, new(Metrics))
	h.opts.writeTimeout = cmp.Or(opts.writeTimeout, writeTimeout)
	host, port, err := net.SplitHostPort(opts.Address)
	if err != nil {
		return nil, errs.Errorf(errs.ErrBadArgs, "Write it as 127.0.0.1:8931.", "%q is not a host and port", opts.Address)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return nil, errs.Errorf(errs.ErrBadArgs, "Write it as 127.0.0.1:8931; port 0 selects a free port.",
			"%q: the port is not a number from 0 to 65535", opts.Address)
	}
	scheme := "http"
	if opts.Certificate != nil {
		scheme, h.tls = "https", &tls.Config{
			Certificates: []tls.Certificate{*opts.Certificate}, MinVersion: tls.VersionTLS12,
			NextProtos: []string{"h2", "http/1.1"},
		}
	}
	addr, err := net.ResolveTCPAddr("tcp", opts.Address)
	if err != nil {
		return nil, errs.Errorf(errs.ErrBadArgs, "Write it as 127.0.0.1:8931.", "%q: %w", opts.Address, err)
	}
	if !addr.IP.IsLoopback() && h.tls == nil && !opts.BehindProxy {
		return nil, errs.Errorf(errs.ErrBadArgs,
			"Set HTTPOptions.Certificate or HTTPOptions.BehindProxy, or use a loopback address.",
			"%s can be reached from other machines, and without TLS they could read the tokens", opts.Address)
	}
	network := "tcp"
	if addr.IP.To4() != nil {
		network = "tcp4" // "tcp" would also listen on [::] for 0.0.0.0
	}
	l, err := net.ListenTCP(network, addr)
	if err != nil {
		return nil, errs.Errorf(errs.ErrLaunchFailed, "Use another port, or stop the program that uses it.",
			"cannot listen on %s: %w", opts.Address, reasonOf(err))
	}
	addr = l.Addr().(*net.TCPAddr)
	h.listener = l
	h.hosts = newHostCheck(addr, host, scheme, opts.PublicURL)
	h.url = scheme + "://" + addr.String()
	return h, nil
}

// reasonOf returns the reason in an error of package net, without the address.
func reasonOf(err error) error {
	if e, ok := errors.AsType[*net.OpError](err); ok {
		return e.Err
	}
	return err
}

// AddTokens adds tokens of clients. It must be called before [Server.Serve].
func (h *HTTPListener) AddTokens(all ...Credential) { h.tokens = append(h.tokens, all...) }

// URL returns the URL of the listener, without a path.
func (h *HTTPListener) URL() string { return h.url }

// Close closes a listener that is not served.
func (h *HTTPListener) Close() error {
	h.removeFiles()
	return h.listener.Close()
}

// start prepares to serve s and returns the function that serves it until shutdown.
func (h *HTTPListener) start(s *Server) (serve func() error) {
	h.web = &http.Server{
		Handler:           h.handler(s),
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		TLSConfig:         h.tls,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ConnContext:       connlimit.WithConn,
		ConnState:         connlimit.CloseIdle(headerTimeout),
		ErrorLog:          slog.NewLogLogger(h.log.Handler(), slog.LevelDebug),
	}
	l := connlimit.New(h.listener, h.connections())
	if h.tls != nil {
		return func() error { return h.web.ServeTLS(l, "", "") }
	}
	return func() error { return h.web.Serve(l) }
}

// connections returns the maximum number of open connections. It is larger than the connections of
// all principals, so that a new connection always replaces one that has not sent a token.
func (h *HTTPListener) connections() int {
	principals := map[*Principal]bool{}
	for _, c := range h.tokens {
		principals[c.Principal] = true
	}
	return max(maxConnections, (len(principals)+1)*maxPrincipalConnections)
}

// handler returns the handler of all requests. It checks Host and Origin, serves /healthz, checks
// the token and the number of connections, serves /readyz and /metrics, rejects requests while the
// server is stopping, reads the body, and then routes the request.
func (h *HTTPListener) handler(s *Server) http.Handler {
	routes := s.handler()
	return http.HandlerFunc(func(plain http.ResponseWriter, r *http.Request) {
		start := time.Now()
		w := newBoundedWriter(plain, h.opts.writeTimeout)
		if r.Body != http.NoBody { // rejected requests too must not send their body slowly
			w.control.SetReadDeadline(start.Add(bodyTimeout))
		}
		// What remains of the response is sent after the handler.
		defer func() {
			w.control.SetWriteDeadline(time.Now().Add(h.opts.writeTimeout))
			if w.refused.Load() {
				panic(http.ErrAbortHandler) // closes the connection
			}
		}()

		if reason := h.hosts.check(r); reason != "" {
			h.reject(w, r, reason, http.StatusForbidden,
				errs.Errorf(errs.ErrPolicyDenied, rejections[reason].hint, "%s", rejections[reason].text))
			return
		}
		if r.URL.Path == "/healthz" {
			w.Header().Set("Connection", "close") // only clients with a token keep connections
			healthz(w, r)
			return
		}
		p := principalOfToken(r, h.tokens)
		if p == nil {
			w.Header().Set("WWW-Authenticate", "Bearer")
			h.reject(w, r, "token", http.StatusUnauthorized,
				errs.Errorf(errs.ErrPolicyDenied, "Send the header `Authorization: Bearer TOKEN`.",
					"the request has no valid token"))
			return
		}
		if !connlimit.SetOwner(r.Context(), p, maxPrincipalConnections) {
			h.reject(w, r, "connections", http.StatusTooManyRequests,
				errBusy("%d connections are open, the maximum for this token", maxPrincipalConnections))
			return
		}
		if !h.requests.TryAcquire(p) {
			h.reject(w, r, "requests", http.StatusTooManyRequests,
				errBusy("%d requests are in progress, the maximum for this token", maxPrincipalRequests))
			return
		}
		defer h.requests.Release(p)
		w.reserve = func(n int64) error { return h.unsent.add(p.Name, n) }
		switch r.URL.Path {
		case "/readyz":
			h.readyz(w, r)
			return
		case "/metrics":
			if !p.Metrics {
				h.reject(w, r, "metrics", http.StatusForbidden,
					errs.Errorf(errs.ErrPolicyDenied, `Add "metrics": true to its entry in the token file.`,
						"the token does not give access to the metrics"))
				return
			}
			h.opts.Metrics.write(w, s.openWorkspaces())
			return
		}
		if !h.begin() {
			h.reject(w, r, "stopping", http.StatusServiceUnavailable, errStopping())
			return
		}
		defer h.running.Done()
		size := reservedSize(r)
		if err := h.bodies.add(p.Name, size); err != nil {
			h.reject(w, r, "busy", http.StatusTooManyRequests, err)
			return
		}
		defer func() { h.bodies.add(p.Name, -size) }()
		actual, err := readBody(plain, r)
		_, tooLarge := errors.AsType[bodyTooLargeError](err)
		switch {
		case tooLarge, errors.Is(err, errTooManyValues):
			h.reject(w, r, "body", http.StatusRequestEntityTooLarge, errs.Errorf(errs.ErrBadArgs, "Send less.", "%w", err))
			return
		case err != nil:
			h.reject(w, r, "body", http.StatusBadRequest,
				errs.Errorf(errs.ErrBadArgs, "", "the body was not received: %w", reasonOf(err)))
			return
		}
		h.bodies.add(p.Name, actual-size) // return the rest
		size = actual
		r = r.WithContext(withPrincipal(r.Context(), p))
		routes.ServeHTTP(w, r)
		h.opts.Metrics.request(r.Pattern, w.status)
		h.log.Debug("http request", "route", r.Pattern, "status", w.status, "principal", p.Name,
			"session", workspaceOf(r), "took", time.Since(start))
	})
}

const hintNoPages = "Send it from a program that is not a page, without this header: a page in any browser could otherwise use the server."

// rejections are the errors for the results of [hostCheck.check].
var rejections = map[string]struct{ text, hint string }{
	"host":       {"the Host header names another server", "Connect to an address of the server, or set HTTPOptions.PublicURL."},
	"origin":     {"the Origin header is that of a page", hintNoPages},
	"fetch-site": {"the Sec-Fetch-Site header is that of a page", hintNoPages},
}

// workspaceOf returns the name of the workspace that a request is for, or "".
func workspaceOf(r *http.Request) string {
	if r.URL.Path == mcpPath || slices.Contains(devToolsPaths, r.Pattern) {
		return cmp.Or(r.Header.Get(SessionHeader), DefaultSession)
	}
	return r.PathValue("name")
}

// reject answers a request that no handler receives, and closes the connection: its body was not
// read.
func (h *HTTPListener) reject(w http.ResponseWriter, r *http.Request, reason string, status int, err error) {
	h.opts.Metrics.reject(reason)
	h.log.Info("http request rejected", "reason", reason, "status", status, "remote", r.RemoteAddr)
	w.Header().Set("Connection", "close")
	failWith(w, status, err)
}

// osUserOnly returns a handler for the operating-system user, who needs no token. It denies others.
func osUserOnly(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if principalOf(r.Context()) != osUser {
			fail(w, errs.Errorf(errs.ErrPolicyDenied, "Connect to the Unix socket of the server as that user.",
				"this route is available only to the user who started the server, on the Unix socket"))
			return
		}
		h(w, r)
	}
}

// socketOnly returns a handler for clients on the Unix socket. It denies others.
func socketOnly(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if p := principalOf(r.Context()); p != osUser && !p.onSocket {
			fail(w, errs.Errorf(errs.ErrPolicyDenied, "Connect to the Unix socket of the server.", "this route is available only on the Unix socket"))
			return
		}
		h(w, r)
	}
}
