// Package egress is the HTTP proxy of our browsers. Each connection of a browser
// goes through it and is checked before it leaves the machine, whatever in a page
// started it.
//
// A [Proxy] queries its [Decider] twice. The first query is about the scheme,
// host and port, and the path of plain http. It precedes name resolution, because
// a DNS query also carries data out. The second query is about each address of
// the name. The proxy connects only to an allowed address, so that a name cannot
// be pointed elsewhere between the check and the use.
//
// Chromium sends https, wss and ws as CONNECT tunnels, whose scheme is unknown
// here, and plain http in absolute form. The proxy copies tunnels unchanged and
// never sees inside TLS. The request of ws is plain text, and its path is checked
// like the path of http.
package egress

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

const (
	// DefaultMaxConns bounds open client connections. Chromium itself opens at
	// most 32 for http and 255 for WebSockets through one proxy.
	DefaultMaxConns = 512
	// dialTimeout bounds one connection attempt over all addresses of a host;
	// Chromium gives up a connection after four minutes, people much sooner.
	dialTimeout = 20 * time.Second
	// headerTimeout bounds the reading of one request's header: Chromium sends
	// it at once.
	headerTimeout = 15 * time.Second
	// idleTimeout is longer than Chromium keeps an idle connection, so that it
	// is not we who close one while a request is on its way.
	idleTimeout = 6 * time.Minute
	// maxHeaderBytes bounds a request's header, and a response's: Chromium
	// refuses responses of more than 256 KiB.
	maxHeaderBytes = 256 << 10
	// maxIdlePerHost is what Chromium opens to one host.
	maxIdlePerHost = 6
)

// A Decider decides on connections. policy.Policy is one. Its methods must be
// safe for concurrent use; an error denies, and its text is shown to whoever
// made the request.
type Decider interface {
	// CheckHost decides before host is resolved. scheme is "http", or empty
	// for a tunnel. An IPv6 host has its brackets.
	CheckHost(scheme, host string, port int) error
	// CheckPath checks the path of a plain http request that CheckHost allowed.
	// path is as sent, without the query.
	CheckPath(scheme, host string, port int, path string) error
	// CheckAddr decides on an address of host, immediately before it is
	// dialed.
	CheckAddr(host string, port int, addr netip.Addr) error
}

// A Resolver finds the addresses of a host; *net.Resolver is one.
type Resolver interface {
	// LookupNetIP is asked for the network "ip".
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Options are the options of [New].
type Options struct {
	// Decider decides on every connection; nil denies all.
	Decider Decider
	// Upstream is an http proxy to go through, with its credentials if it
	// wants any; nil means none. Names that do not resolve here are left to
	// it, and it is then trusted with the check of their addresses. Loopback
	// and private addresses that are allowed are reached directly.
	Upstream *url.URL
	// NoUpstream lists, as the variable NO_PROXY does, the hosts that are
	// reached directly although there is an Upstream: names with those below
	// them, addresses, CIDR blocks, each with a port or without; "*" is all.
	NoUpstream string
	// Resolver finds addresses; nil means the system's. It is not asked about
	// localhost and the names below it, which always are this machine.
	Resolver Resolver
	// Logger gets denials at level Info, failures at Debug; nil discards.
	Logger *slog.Logger
	// Credentials are asked of every client by Basic authentication, if set.
	Credentials *url.Userinfo
	// MaxConns limits open client connections. A further connection closes one
	// that has not sent the credentials yet, or waits if there is none. 0 means
	// DefaultMaxConns.
	MaxConns int
}

// A Proxy is a filtering HTTP proxy on a loopback port. Its methods are safe
// for concurrent use.
type Proxy struct {
	decider     Decider
	upstream    *url.URL
	via         func(*url.URL) (*url.URL, error) // nil for what NoUpstream lists; nil itself when it lists nothing
	resolver    Resolver
	log         *slog.Logger
	credentials *url.Userinfo

	listener net.Listener
	server   *http.Server
	direct   *http.Transport
	chained  *http.Transport // through upstream; nil without
	forward  *httputil.ReverseProxy
	verdicts verdicts

	closeOnce sync.Once
	stop      context.CancelFunc
	onClose   func(f func()) (stop func() bool) // context.AfterFunc of the proxy's life
	running   sync.WaitGroup                    // the accept loop, connections, handlers, dials

	mu     sync.Mutex
	closed bool                  // guarded by mu; nothing is added to running once it is set, but connections
	open   map[net.Conn]struct{} // tunnels' connections; guarded by mu
}

// New starts a proxy on a free port of 127.0.0.1. Close it.
func New(opts Options) (*Proxy, error) {
	if u := opts.Upstream; u != nil && !isUpstream(u) {
		return nil, errUpstream
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the browser: %w", err)
	}
	if opts.Decider == nil {
		opts.Decider = denyAll{}
	}
	if opts.Resolver == nil {
		opts.Resolver = systemResolver{}
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.MaxConns <= 0 {
		opts.MaxConns = DefaultMaxConns
	}
	ctx, stop := context.WithCancel(context.Background())
	p := &Proxy{
		decider: opts.Decider, upstream: opts.Upstream, resolver: opts.Resolver, log: opts.Logger,
		credentials: opts.Credentials, stop: stop, open: map[net.Conn]struct{}{},
	}
	if p.upstream != nil && opts.NoUpstream != "" {
		config := httpproxy.Config{HTTPProxy: p.upstream.String(), NoProxy: opts.NoUpstream}
		p.via = config.ProxyFunc()
	}
	p.onClose = func(f func()) func() bool { return context.AfterFunc(ctx, f) }
	p.direct = p.transport(p.dialChecked)
	if p.upstream != nil {
		p.chained = p.transport(p.dialUpstream)
		p.chained.Proxy = http.ProxyURL(p.upstream)
	}
	p.forward = p.newForward()
	p.listener = newLimited(l, opts.MaxConns)
	p.server = &http.Server{
		Handler:           http.HandlerFunc(p.serve),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnContext:       withConn,
		ConnState:         p.connState,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(p.log.Handler(), slog.LevelDebug),
	}
	p.running.Go(func() { _ = p.server.Serve(p.listener) }) // always ErrServerClosed
	return p, nil
}

// transport pools connections to origin servers, so that a page's requests
// for plain http do not pay for a connection each.
func (p *Proxy) transport(dial func(ctx context.Context, network, addr string) (net.Conn, error)) *http.Transport {
	return &http.Transport{
		DialContext:            dial,
		DisableCompression:     true, // bytes pass as they are
		MaxIdleConnsPerHost:    maxIdlePerHost,
		MaxIdleConns:           128,
		IdleConnTimeout:        time.Minute,
		MaxResponseHeaderBytes: maxHeaderBytes,
		ReadBufferSize:         16 << 10,
		WriteBufferSize:        16 << 10,
	}
}

// Addr returns where the proxy listens, "127.0.0.1:port".
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Port returns the port of Addr, for the policy's own ports.
func (p *Proxy) Port() int { return p.listener.Addr().(*net.TCPAddr).Port }

// Credentials returns those that the proxy asks for, nil for none.
func (p *Proxy) Credentials() *url.Userinfo { return p.credentials }

// Flags returns the command line flags under which a Chromium can reach the
// network only through p. Measured on Chromium 156: of 44 ways for a page to
// reach a host that is denied, none is left. "<-loopback>" takes back
// Chromium's habit to go directly to loopback; the resolver rule keeps it from
// asking DNS itself.
func (p *Proxy) Flags() []string {
	return []string{
		"--proxy-server=http://" + p.Addr(),
		"--proxy-bypass-list=<-loopback>",
		"--webrtc-ip-handling-policy=disable_non_proxied_udp",
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
	}
}

// Close stops listening, closes every connection and returns when all
// goroutines of the proxy have ended. It is idempotent.
func (p *Proxy) Close() error {
	p.closeOnce.Do(func() {
		p.stop()
		p.mu.Lock()
		p.closed = true
		for c := range p.open {
			_ = c.Close()
		}
		p.mu.Unlock()
		_ = p.server.Close() // what it could report is that a client was gone already
	})
	p.running.Wait()
	p.direct.CloseIdleConnections()
	if p.chained != nil {
		p.chained.CloseIdleConnections()
	}
	return nil
}

// begin counts something that Close waits for; the caller then calls
// running.Done. It reports false when the proxy is closed already.
func (p *Proxy) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.running.Add(1)
	return true
}

// connState counts the server's connections. The accept loop, which calls it
// for new ones, is counted itself, so Close cannot miss one. A connection that
// becomes a tunnel is its handler's from then on.
func (p *Proxy) connState(_ net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew:
		p.running.Add(1)
	case http.StateClosed, http.StateHijacked:
		p.running.Done()
	}
}

// track registers the connection of a tunnel for Close. It reports false, and
// closes c, when the proxy is closed already.
func (p *Proxy) track(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = c.Close()
		return false
	}
	p.open[c] = struct{}{}
	return true
}

// untrack closes c and forgets it.
func (p *Proxy) untrack(c net.Conn) {
	_ = c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, c)
}

var errUpstream = executor.Errorf(executor.ErrBadArgs, "Write it as http://host:port.", "the proxy to go through is not of the form http://host:port")

// ParseUpstream reads the address of an http proxy, http://host:port with its
// credentials if it wants any; http:// and :80 may be left out. No address is
// no proxy, nil. The error, an ErrBadArgs, does not quote the address, which may
// hold a password.
func ParseUpstream(address string) (*url.URL, error) {
	if address == "" {
		return nil, nil
	}
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil || !isUpstream(u) {
		return nil, errUpstream
	}
	return u, nil
}

func isUpstream(u *url.URL) bool { return u.Scheme == "http" && u.Hostname() != "" }

type denyAll struct{}

var errNoDecider = errors.New("no policy is set")

func (denyAll) CheckHost(string, string, int) error         { return errNoDecider }
func (denyAll) CheckPath(string, string, int, string) error { return errNoDecider }
func (denyAll) CheckAddr(string, int, netip.Addr) error     { return errNoDecider }
