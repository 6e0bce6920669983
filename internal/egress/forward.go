package egress

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
	"sync"
)

// bufferSize is that of io.Copy, and of one read from a socket.
const bufferSize = 32 << 10

type bufferPool struct{ pool sync.Pool }

func (b *bufferPool) Get() []byte {
	if v, ok := b.pool.Get().(*[]byte); ok {
		return *v
	}
	return make([]byte, bufferSize)
}

func (b *bufferPool) Put(buf []byte) { b.pool.Put(&buf) }

// targetKey is the context key under which a forwarded request has its target.
type targetKey struct{}

// newForward makes the handler of plain http requests that were decided on.
// It drops hop-by-hop headers, streams both ways and passes upgrades.
func (p *Proxy) newForward() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: func(pr *httputil.ProxyRequest) {
			// ReverseProxy tidies these up; a browser's request stays what it was.
			pr.Out.URL.RawQuery = pr.In.URL.RawQuery
			for _, h := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
				if v, ok := pr.In.Header[h]; ok {
					pr.Out.Header[h] = v
				}
			}
		},
		Transport:     roundTripper{p},
		FlushInterval: -1,
		BufferPool:    &bufferPool{},
		ErrorLog:      slog.NewLogLogger(p.log.Handler(), slog.LevelDebug),
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			t, _ := r.Context().Value(targetKey{}).(target)
			p.refuse(w, r, t, err)
		},
	}
}

func (p *Proxy) serveForward(w http.ResponseWriter, r *http.Request) {
	if r.URL.Scheme != "http" || r.URL.Host == "" || r.URL.User != nil {
		answer(w, http.StatusBadRequest, "This is a proxy for one browser; it has no pages of its own.")
		return
	}
	t, err := parseTarget(r.URL.Host, 80)
	if err != nil {
		answer(w, http.StatusBadRequest, "Bad request: "+err.Error())
		return
	}
	if err := p.decide("http", t, sentPath(r)); err != nil {
		p.refuse(w, r, t, err)
		return
	}
	keepPath(r)
	// An origin may answer before it has the whole request, to refuse it. The
	// writers that can be here can all do this.
	_ = http.NewResponseController(w).EnableFullDuplex()
	// The server would add these where the origin's answer has none, and a
	// guessed type is one that a page did not have.
	w.Header()["Content-Type"] = nil
	w.Header()["Date"] = nil
	p.forward.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), targetKey{}, t)))
}

// sentPath returns the path, as sent, of a request in absolute form.
func sentPath(r *http.Request) string {
	_, rest, _ := strings.Cut(r.RequestURI, "://")
	if i := strings.IndexAny(rest, "/?"); i >= 0 && rest[i] == '/' {
		path, _, _ := strings.Cut(rest[i:], "?")
		return path
	}
	return "/"
}

// keepPath makes net/url send the path as it came where it would spell it
// otherwise ("/a|b").
func keepPath(r *http.Request) {
	if path := sentPath(r); path != "/" && path != r.URL.EscapedPath() && !strings.HasPrefix(path, "//") {
		r.URL.Opaque = path
	}
}

// roundTripper sends each request directly or through the upstream proxy.
type roundTripper struct{ p *Proxy }

func (rt roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	p := rt.p
	t, _ := r.Context().Value(targetKey{}).(target)
	transport := p.direct
	if p.chained != nil {
		direct, err := p.goesDirect(r.Context(), t)
		if err != nil {
			return nil, err
		}
		if !direct {
			transport = p.chained
			if r.URL.Opaque != "" { // then a proxy is not told the host of itself
				r = r.Clone(r.Context())
				r.URL.Opaque = "//" + r.URL.Host + r.URL.Opaque
			}
		}
	}
	res, err := transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if res.StatusCode == http.StatusProxyAuthRequired {
		// The browser would attribute the response to our proxy and forget the
		// proxy's credentials.
		_ = res.Body.Close()
		if transport == p.chained {
			return nil, fmt.Errorf("%w: %s", errUpstreamFailed, res.Status)
		}
		return nil, errProxyAuth
	}
	p.verdicts.clear(t)
	// These are the proxy's own words: an origin must not speak in its name.
	res.Header.Del(DeniedHeader)
	res.Header.Del(ErrorHeader)
	return res, nil
}

// errProxyAuth is the error for an origin that responds like a proxy that
// requires credentials.
var errProxyAuth = errors.New("the server answered as a proxy")

// goesDirect decides, where there is an upstream proxy, which way t goes. All
// its addresses are checked first, if it has any here.
func (p *Proxy) goesDirect(ctx context.Context, t target) (bool, error) {
	if p.via != nil {
		if u, err := p.via(&url.URL{Scheme: "http", Host: t.String()}); err == nil && u == nil {
			return true, nil // its addresses are checked when it is dialed
		}
	}
	ctx, cancel := p.bound(ctx)
	defer cancel()
	addrs, err := p.resolve(ctx, t)
	switch _, denied := errors.AsType[*deniedError](err); {
	case denied:
		return false, err
	case err != nil:
		return false, nil // not known here: the upstream resolves it
	}
	return local(addrs[0]), nil
}

// local reports whether a is on this machine or its own networks, where an
// upstream proxy has no business.
func local(a netip.Addr) bool { return a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() }
