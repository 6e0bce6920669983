package egress

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/internal/connlimit"
)

// A Port is a port that proxies share: the credentials of a request select the proxy. A
// browser receives the address of its proxy at launch; the credentials let each of its browser
// contexts use its own proxy on that address. A request with unknown credentials gets 407. The
// methods of a Port are safe for concurrent use.
type Port struct {
	listener *connlimit.Listener
	server   *http.Server
	running  sync.WaitGroup // the accept loop and connections

	mu sync.RWMutex // guards the fields below
	// proxies has each proxy by the digest of its credentials, so that the duration of a lookup
	// reveals nothing about them.
	proxies            map[[sha256.Size]byte]*Proxy
	withoutCredentials *Proxy // serves every request if not nil
}

// NewPort starts a port on a free port of 127.0.0.1, as Listen does.
func NewPort(maxConns int, log *slog.Logger) (*Port, error) {
	return Listen("127.0.0.1:0", maxConns, log)
}

// Listen starts a port on a TCP address of this machine, which serves no proxy yet. maxConns limits
// the open client connections of all proxies: a further connection closes one that has not sent
// credentials yet, or waits if there is none. 0 means DefaultMaxConns. A nil log discards. The
// caller must close the port.
func Listen(address string, maxConns int, log *slog.Logger) (*Port, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for the browser: %w", err)
	}
	if maxConns <= 0 {
		maxConns = DefaultMaxConns
	}
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	p := &Port{listener: connlimit.New(l, maxConns), proxies: map[[sha256.Size]byte]*Proxy{}}
	ctx, stop := context.WithCancel(context.Background())
	p.server = &http.Server{
		Handler:           http.HandlerFunc(p.serve),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnContext:       connlimit.WithConn,
		ConnState:         p.connState,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	p.running.Go(func() {
		defer stop()
		_ = p.server.Serve(p.listener) // always ErrServerClosed
	})
	return p, nil
}

// New starts a proxy on the port. Proxies on one port need different credentials; one without
// credentials serves all requests. The caller must close the proxy before the port.
func (p *Port) New(opts Options) (*Proxy, error) {
	proxy, err := newProxy(p, opts)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if opts.Credentials == nil {
		p.withoutCredentials = proxy
	} else {
		p.proxies[digest(opts.Credentials)] = proxy
	}
	return proxy, nil
}

// remove stops routing requests to a proxy.
func (p *Port) remove(proxy *Proxy) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if proxy.credentials == nil {
		p.withoutCredentials = nil
	} else {
		delete(p.proxies, digest(proxy.credentials))
	}
}

// Addr returns the address of the port, such as "127.0.0.1:1234".
func (p *Port) Addr() string { return p.listener.Addr().String() }

func (p *Port) number() int { return p.listener.Addr().(*net.TCPAddr).Port }

// Close stops listening, closes the connections that no tunnel uses, and waits until they are
// closed. It is idempotent.
func (p *Port) Close() error {
	_ = p.server.Close() // it can only report that a connection was already closed
	p.running.Wait()
	return nil
}

// connState counts the server's connections. The accept loop, which calls it for new connections,
// is itself counted, so Close waits for all of them. The handler of a tunnel is responsible for its
// hijacked connection.
func (p *Port) connState(_ net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew:
		p.running.Add(1)
	case http.StateClosed, http.StateHijacked:
		p.running.Done()
	}
}

// serve passes a request to the proxy that its credentials select.
func (p *Port) serve(w http.ResponseWriter, r *http.Request) {
	if proxy := p.find(r); proxy != nil {
		proxy.serve(w, r)
		return
	}
	p.mu.RLock()
	proxies := slices.Collect(maps.Values(p.proxies))
	p.mu.RUnlock()
	for _, proxy := range proxies {
		proxy.recordUnauthenticated(r) // it may come from any of their browsers
	}
	w.Header().Set("Proxy-Authenticate", realm)
	respond(w, http.StatusProxyAuthRequired, "this proxy requires credentials")
}

// find returns the proxy for a request, or nil.
func (p *Port) find(r *http.Request) *Proxy {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.withoutCredentials != nil {
		return p.withoutCredentials
	}
	scheme, credentials, ok := strings.Cut(r.Header.Get("Proxy-Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Basic") {
		return nil
	}
	return p.proxies[sha256.Sum256([]byte(strings.TrimSpace(credentials)))]
}

// digest returns the digest of credentials in the form in which a request has them.
func digest(u *url.Userinfo) [sha256.Size]byte {
	return sha256.Sum256([]byte(basic(u.Username(), password(u))))
}
