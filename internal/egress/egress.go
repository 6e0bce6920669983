// Package egress implements the egress proxy: the HTTP proxy of the managed browser. Each
// connection of the browser goes through it and is checked before it leaves the machine, regardless
// of what started it.
//
// A [Proxy] queries its [executor.NetworkPolicy] twice. The first query is about the scheme, host
// and port, and the path of plain http. It precedes name resolution, because a DNS query also sends
// data out. The second query is about each address of the name. The proxy connects only to an
// allowed address, so that a name cannot be pointed to another address between the check and the
// connection.
//
// Chromium sends https, wss and ws as CONNECT tunnels, whose scheme is unknown
// here, and plain http in absolute form. The proxy copies tunnels unchanged and
// never sees inside TLS. The request of ws is plain text, and its path is checked
// like the path of http.
package egress

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/connlimit"
)

const (
	// DefaultMaxConns bounds open client connections. Chromium itself opens at
	// most 32 for http and 255 for WebSockets through one proxy.
	DefaultMaxConns = 512
	// dialTimeout bounds one connection attempt over all addresses of a host. Chromium cancels a
	// connection after four minutes, users much sooner.
	dialTimeout = 20 * time.Second
	// headerTimeout bounds reading the header of one request. Chromium sends it immediately.
	headerTimeout = 15 * time.Second
	// idleTimeout is longer than Chromium keeps an idle connection, so that the proxy does not
	// close one while a request is pending.
	idleTimeout = 6 * time.Minute
	// maxHeaderBytes bounds the header of a request or response. Chromium rejects response headers
	// of more than 256 KiB.
	maxHeaderBytes = 256 << 10
	// maxIdlePerHost is the number of connections that Chromium opens to one host.
	maxIdlePerHost = 6
)

// A Resolver resolves host names. *net.Resolver implements it.
type Resolver interface {
	// LookupNetIP is called with network "ip".
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Options are the options of [New].
type Options struct {
	// Policy decides on every connection; nil denies all.
	Policy executor.NetworkPolicy
	// Upstream is the URL of an upstream http proxy, with credentials if the proxy requires them;
	// nil means none. The upstream proxy resolves the names that do not resolve here, and is then
	// trusted to check their addresses. Allowed loopback and private addresses are dialed directly.
	Upstream *url.URL
	// NoProxy lists, in the format of the environment variable NO_PROXY, the hosts that are dialed
	// directly despite Upstream: names including their subdomains, addresses and CIDR blocks, each
	// with an optional port; "*" means all.
	NoProxy string
	// Resolver resolves names; nil means the system's resolver. It is not used for localhost and
	// the names below it, which are always loopback names.
	Resolver Resolver
	// Logger receives denials at level Info and failures at level Debug; nil discards them.
	Logger *slog.Logger
	// AcceptCertificates lists servers, as host:port, whose certificates are not checked, such as
	// self-signed ones. In their tunnels the proxy itself presents a certificate; see
	// Proxy.CertificateKey and Proxy.ClientTLS.
	AcceptCertificates []string
	// Credentials, if set, are required from every client by Basic authentication.
	Credentials *url.Userinfo
	// MaxConns limits open client connections. A further connection closes one
	// that has not sent the credentials yet, or waits if there is none. On a shared
	// Port it limits the requests and tunnels that are in progress: a further one
	// gets 503. 0 means DefaultMaxConns.
	MaxConns int
}

// A Proxy is a filtering HTTP proxy on a [Port]. Its methods are safe
// for concurrent use.
type Proxy struct {
	policy      executor.NetworkPolicy
	upstream    *url.URL
	via         func(*url.URL) (*url.URL, error) // returns nil for hosts of NoProxy; nil if NoProxy is empty
	resolver    Resolver
	log         *slog.Logger
	credentials *url.Userinfo

	certificates *certificates // nil without Options.AcceptCertificates

	maxRequests int64        // if the port is shared; otherwise the port limits connections
	requests    atomic.Int64 // in progress, with tunnels

	port     *Port
	ownsPort bool // Close closes port
	direct   *http.Transport
	chained  *http.Transport // through upstream; nil without upstream
	forward  *httputil.ReverseProxy
	outcomes outcomeCache
	// challenges has the latest requests without credentials, which may come from any program.
	challenges outcomeCache

	closeOnce sync.Once
	stop      context.CancelFunc
	onClose   func(f func()) (stop func() bool) // calls f when the proxy is closed; see context.AfterFunc
	running   sync.WaitGroup                    // requests and dials

	mu     sync.Mutex
	closed bool                  // guarded by mu; if set, nothing is added to running
	open   map[net.Conn]struct{} // connections of tunnels; guarded by mu
}

// New starts a proxy on a free port of 127.0.0.1. The caller must close it.
func New(opts Options) (*Proxy, error) {
	port, err := NewPort(opts.MaxConns, opts.Logger)
	if err != nil {
		return nil, err
	}
	p, err := port.New(opts)
	if err != nil {
		return nil, errors.Join(err, port.Close())
	}
	p.ownsPort = true
	return p, nil
}

// newProxy returns a proxy that port serves.
func newProxy(port *Port, opts Options) (*Proxy, error) {
	if u := opts.Upstream; u != nil && !isUpstream(u) {
		return nil, errUpstream
	}
	var accepted *certificates
	if len(opts.AcceptCertificates) > 0 {
		var err error
		if accepted, err = newCertificates(opts.AcceptCertificates); err != nil {
			return nil, err
		}
	}
	if opts.Policy == nil {
		opts.Policy = denyAll{}
	}
	opts.Resolver = cmp.Or[Resolver](opts.Resolver, systemResolver{})
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(context.Background())
	p := &Proxy{
		policy: opts.Policy, upstream: opts.Upstream, resolver: opts.Resolver, log: opts.Logger,
		credentials: opts.Credentials, certificates: accepted, maxRequests: int64(cmp.Or(opts.MaxConns, DefaultMaxConns)), port: port, stop: stop, open: map[net.Conn]struct{}{},
		outcomes: newOutcomeCache(), challenges: newOutcomeCache(),
	}
	if p.upstream != nil && opts.NoProxy != "" {
		config := httpproxy.Config{HTTPProxy: p.upstream.String(), NoProxy: opts.NoProxy}
		p.via = config.ProxyFunc()
	}
	p.onClose = func(f func()) func() bool { return context.AfterFunc(ctx, f) }
	p.direct = p.transport(p.dialChecked)
	if p.upstream != nil {
		p.chained = p.transport(p.dialUpstream)
		p.chained.Proxy = http.ProxyURL(p.upstream)
	}
	p.forward = p.newForward()
	return p, nil
}

// transport returns a transport that pools connections to origin servers, so that plain http
// requests of a page can share connections.
func (p *Proxy) transport(dial func(ctx context.Context, network, addr string) (net.Conn, error)) *http.Transport {
	return &http.Transport{
		DialContext:            dial,
		DisableCompression:     true, // bodies are forwarded unchanged
		MaxIdleConnsPerHost:    maxIdlePerHost,
		MaxIdleConns:           128,
		IdleConnTimeout:        time.Minute,
		MaxResponseHeaderBytes: maxHeaderBytes,
		ReadBufferSize:         16 << 10,
		WriteBufferSize:        16 << 10,
	}
}

// Addr returns the address that the proxy listens on, such as "127.0.0.1:1234".
func (p *Proxy) Addr() string { return p.port.Addr() }

// Port returns the port of Addr.
func (p *Proxy) Port() int { return p.port.number() }

// Credentials returns the credentials that the proxy requires, or nil.
func (p *Proxy) Credentials() *url.Userinfo { return p.credentials }

// Close stops serving, closes every connection and returns when all goroutines of the proxy have
// exited. It is idempotent.
func (p *Proxy) Close() error {
	p.closeOnce.Do(func() {
		p.port.remove(p)
		p.stop()
		p.mu.Lock()
		p.closed = true
		for c := range p.open {
			_ = c.Close()
		}
		p.mu.Unlock()
		p.port.listener.CloseConns(p)
	})
	var err error
	if p.ownsPort {
		err = p.port.Close()
	}
	p.running.Wait()
	p.direct.CloseIdleConnections()
	if p.chained != nil {
		p.chained.CloseIdleConnections()
	}
	return err
}

// begin registers an operation that Close waits for. The caller must call running.Done at its end.
// begin returns false if the proxy is closed.
func (p *Proxy) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.running.Add(1)
	return true
}

// beginRequest is begin for a request. Close closes the connection of the latest request, because a
// client that reads no response would otherwise delay it.
func (p *Proxy) beginRequest(r *http.Request) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.running.Add(1)
	connlimit.SetOwner(r.Context(), p, 0)
	return true
}

// track registers the connection of a tunnel, so that Close closes it. If the proxy is already
// closed, track closes c and returns false.
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

// untrack closes c and unregisters it.
func (p *Proxy) untrack(c net.Conn) {
	_ = c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, c)
}

var errUpstream = executor.Errorf(executor.ErrBadArgs, "Write it as http://host:port.", "the upstream proxy is not of the form http://host:port")

// ParseUpstream parses the URL of an upstream http proxy: http://host:port with optional
// credentials. http:// and :80 may be omitted. For an empty address, ParseUpstream returns nil. The
// error has code ErrBadArgs and does not quote the address, which may contain a password.
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

// denyAll is the NetworkPolicy that denies everything.
type denyAll struct{}

var errNoPolicy = errors.New("no policy is set")

func (denyAll) CheckHost(string, string, int) error         { return errNoPolicy }
func (denyAll) CheckPath(string, string, int, string) error { return errNoPolicy }
func (denyAll) CheckAddr(string, int, netip.Addr) error     { return errNoPolicy }
