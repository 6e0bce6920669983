package server

import (
	"cmp"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
)

const (
	// maxConnections bounds the open connections. A stream of messages needs one.
	maxConnections = 1024
	// headerTimeout is the time in which the header of a request must arrive.
	headerTimeout = 10 * time.Second
	// idleTimeout is the time after which a connection without requests is closed.
	idleTimeout = 2 * time.Minute
	// maxHeader bounds the header of a request, in bytes.
	maxHeader = 64 << 10
)

// mcpPath is the path of MCP's streamable HTTP transport.
const mcpPath = "/mcp"

// HTTPOptions configure a [Front].
type HTTPOptions struct {
	// Address is the host and port to listen on. Port 0 selects a free port.
	Address string
	// CertFile and KeyFile are a certificate and its key in PEM files. They turn on TLS.
	CertFile, KeyFile string
	// BehindProxy allows addresses other than loopback without TLS, because a reverse proxy ends
	// it.
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

// A Front serves a [Server] to other programs and machines over HTTP. Each request needs a bearer
// token, except for /healthz. Requests of pages are rejected.
type Front struct {
	opts     HTTPOptions
	log      *slog.Logger
	listener net.Listener
	tls      *tls.Config // nil means no TLS
	url      string
	hosts    *hostCheck
	tokens   []Credential
	bodies   bodyBudget
	files    []ownFile

	web *http.Server // nil before start

	mu       sync.Mutex // guards the fields below
	running  int        // requests that a handler serves
	draining bool
	idle     chan struct{} // closed when no request runs while draining; set by stop
}

// ListenHTTP listens on an address. It returns ErrBadArgs for an address outside of loopback
// without TLS and for invalid options, and ErrLaunchFailed if the address cannot be used.
// [Server.Serve] serves the front and closes it.
func ListenHTTP(opts HTTPOptions) (*Front, error) {
	f := &Front{opts: opts, log: cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))}
	f.opts.Metrics = cmp.Or(opts.Metrics, new(Metrics))
	f.opts.writeTimeout = cmp.Or(opts.writeTimeout, writeTimeout)
	host, _, err := net.SplitHostPort(opts.Address)
	if err != nil {
		return nil, errs.Errorf(errs.ErrBadArgs, "Write it as 127.0.0.1:8931.", "%q is not a host and port", opts.Address)
	}
	scheme := "http"
	if opts.CertFile != "" {
		cert, err := tls.LoadX509KeyPair(opts.CertFile, opts.KeyFile)
		if err != nil {
			return nil, errs.Errorf(errs.ErrBadArgs, "Name a certificate and its key in PEM format.", "certificate: %w", err)
		}
		scheme, f.tls = "https", &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	}
	addr, err := net.ResolveTCPAddr("tcp", opts.Address)
	if err != nil {
		return nil, errs.Errorf(errs.ErrBadArgs, "Write it as 127.0.0.1:8931.", "%q: %w", opts.Address, err)
	}
	if !addr.IP.IsLoopback() && f.tls == nil && !opts.BehindProxy {
		return nil, errs.Errorf(errs.ErrBadArgs, "Set HTTPOptions.CertFile and HTTPOptions.KeyFile, or HTTPOptions.BehindProxy, or use a loopback address.",
			"%s can be reached from other machines, and without TLS they could read the tokens", opts.Address)
	}
	l, err := net.ListenTCP("tcp", addr)
	if err != nil {
		return nil, errs.Errorf(errs.ErrLaunchFailed, "Use another port, or stop the program that uses it.", "cannot listen on %s: %w", opts.Address, reasonOf(err))
	}
	addr = l.Addr().(*net.TCPAddr)
	f.listener = l
	f.hosts = newHostCheck(addr, host, scheme, opts.PublicURL)
	f.url = scheme + "://" + addr.String()
	return f, nil
}

// reasonOf returns the reason in an error of package net, without the address.
func reasonOf(err error) error {
	if e, ok := errors.AsType[*net.OpError](err); ok {
		return e.Err
	}
	return err
}

// AddTokens adds tokens of clients. It must be called before [Server.Serve].
func (f *Front) AddTokens(all ...Credential) { f.tokens = append(f.tokens, all...) }

// URL returns the URL of the front, without a path.
func (f *Front) URL() string { return f.url }

// Close closes a front that is not served.
func (f *Front) Close() error {
	f.removeFiles()
	return f.listener.Close()
}

// start prepares to serve s and returns the function that serves it until shutdown.
func (f *Front) start(s *Server) (serve func() error) {
	f.web = &http.Server{
		Handler:           f.handler(s),
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		TLSConfig:         f.tls,
		ErrorLog:          slog.NewLogLogger(f.log.Handler(), slog.LevelDebug),
	}
	l := netutil.LimitListener(f.listener, maxConnections)
	if f.tls != nil {
		return func() error { return f.web.ServeTLS(l, "", "") }
	}
	return func() error { return f.web.Serve(l) }
}

// handler returns the handler of all requests. It checks Host and Origin, serves /healthz, checks the
// token, serves /readyz and /metrics, rejects requests while the server is stopping, reads the body,
// and then routes the request.
func (f *Front) handler(s *Server) http.Handler {
	routes := s.handler()
	return http.HandlerFunc(func(plain http.ResponseWriter, r *http.Request) {
		start := time.Now()
		w := newBoundedWriter(plain, f.opts.writeTimeout)
		if r.Body != http.NoBody { // rejected requests too must not send their body slowly
			w.control.SetReadDeadline(start.Add(bodyTimeout))
		}
		// What remains of the response is sent after the handler.
		defer func() { w.control.SetWriteDeadline(time.Now().Add(f.opts.writeTimeout)) }()

		if reason := f.hosts.check(r); reason != "" {
			f.reject(w, r, reason, http.StatusForbidden, errs.Errorf(errs.ErrPolicyDenied,
				"Connect to an address of the server, or set HTTPOptions.PublicURL.", "%s", reasonTexts[reason]))
			return
		}
		if r.URL.Path == "/healthz" {
			w.Header().Set("Connection", "close") // only clients with a token keep connections
			healthz(w, r)
			return
		}
		p := authenticate(r, f.tokens)
		if p == nil {
			w.Header().Set("WWW-Authenticate", "Bearer")
			f.reject(w, r, "token", http.StatusUnauthorized, errs.Errorf(errs.ErrPolicyDenied, "Send the header `Authorization: Bearer TOKEN`.", "the request has no valid token"))
			return
		}
		switch r.URL.Path {
		case "/readyz":
			f.readyz(w, r)
			return
		case "/metrics":
			f.opts.Metrics.write(w, s.openSessions())
			return
		}
		if !f.begin() {
			f.reject(w, r, "stopping", http.StatusServiceUnavailable, errStopping())
			return
		}
		defer f.end()
		size := reservedSize(r)
		if err := f.bodies.add(p.Name, size); err != nil {
			f.reject(w, r, "busy", http.StatusTooManyRequests, err)
			return
		}
		defer func() { f.bodies.add(p.Name, -size) }()
		actual, err := readBody(plain, r)
		switch {
		case errors.Is(err, errBodyTooLarge), errors.Is(err, errTooManyValues):
			f.reject(w, r, "body", http.StatusRequestEntityTooLarge, errs.Errorf(errs.ErrBadArgs, "Send less.", "%w", err))
			return
		case err != nil:
			f.reject(w, r, "body", http.StatusBadRequest, errs.Errorf(errs.ErrBadArgs, "", "the body was not received: %w", reasonOf(err)))
			return
		}
		f.bodies.add(p.Name, actual-size) // return the rest
		size = actual
		r = r.WithContext(withPrincipal(r.Context(), p))
		routes.ServeHTTP(w, r)
		f.opts.Metrics.request(r.Pattern, w.status)
		f.log.Debug("http request", "route", r.Pattern, "status", w.status, "principal", p.Name,
			"session", sessionOf(r), "took", time.Since(start))
	})
}

// reasonTexts are the errors for the results of [hostCheck.check].
var reasonTexts = map[string]string{
	"host":       "the Host header names another server",
	"origin":     "the Origin header is that of a page",
	"fetch-site": "the Sec-Fetch-Site header is that of a page",
}

// sessionOf returns the name of the session that a request is for, or "".
func sessionOf(r *http.Request) string {
	if r.URL.Path == mcpPath {
		return cmp.Or(r.Header.Get(SessionHeader), DefaultSession)
	}
	return r.PathValue("name")
}

// reject answers a request that no handler receives, and closes the connection: its body was not
// read.
func (f *Front) reject(w http.ResponseWriter, r *http.Request, reason string, status int, err error) {
	f.opts.Metrics.reject(reason)
	f.log.Info("http request rejected", "reason", reason, "status", status, "remote", r.RemoteAddr)
	w.Header().Set("Connection", "close")
	failWith(w, status, err)
}

// localOnly returns a handler for clients on the Unix socket. It denies others.
func localOnly(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if principalOf(r.Context()) != localUser {
			fail(w, errs.Errorf(errs.ErrPolicyDenied, "", "this route is available only on the Unix socket"))
			return
		}
		h(w, r)
	}
}
