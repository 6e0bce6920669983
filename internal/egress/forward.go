package egress

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
	"sync"
)

// bufferSize is the buffer size of io.Copy.
const bufferSize = 32 << 10

type bufferPool struct{ pool sync.Pool }

func (b *bufferPool) Get() []byte {
	if v, ok := b.pool.Get().(*[]byte); ok {
		return *v
	}
	return make([]byte, bufferSize)
}

func (b *bufferPool) Put(buf []byte) { b.pool.Put(&buf) }

// targetKey is the context key of the hostPort of a forwarded request.
type targetKey struct{}

// newForward returns the handler of allowed plain http requests. It removes hop-by-hop headers,
// streams in both directions and forwards upgrades.
func (p *Proxy) newForward() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: func(pr *httputil.ProxyRequest) {
			// ReverseProxy changes these. Restore what the browser sent.
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
			t, _ := r.Context().Value(targetKey{}).(hostPort)
			p.respondError(w, r, t, err)
		},
	}
}

func (p *Proxy) serveForward(w http.ResponseWriter, r *http.Request) {
	if r.URL.Scheme != "http" || r.URL.Host == "" || r.URL.User != nil {
		respond(w, http.StatusBadRequest, "This is a proxy for one browser; it serves no pages.")
		return
	}
	t, err := parseHostPort(r.URL.Host, 80)
	if err != nil {
		respond(w, http.StatusBadRequest, "Bad request: "+err.Error())
		return
	}
	if err := p.checkPolicy("http", t, sentPath(r)); err != nil {
		p.respondError(w, r, t, err)
		return
	}
	keepPath(r)
	// An origin may respond before it has received the complete request, to reject it. All possible
	// writers support full duplex.
	_ = http.NewResponseController(w).EnableFullDuplex()
	// Without this, the server adds these headers to responses that have none. A guessed content
	// type would change the page.
	w.Header()["Content-Type"] = nil
	w.Header()["Date"] = nil
	r = r.WithContext(context.WithValue(r.Context(), targetKey{}, t))
	if err := makeRepeatable(r); err != nil {
		panic(http.ErrAbortHandler) // the client has disconnected
	}
	p.forward.ServeHTTP(w, r)
}

// idempotencyKey marks a request as idempotent for [http.Transport]. With a zero-length slice as its
// value, it is not sent.
const idempotencyKey = "X-Idempotency-Key"

// maxRepeatable is the maximum size of a body that can be repeated.
const maxRepeatable = 32 << 10

// makeRepeatable lets the transport repeat r, whatever its method, if the origin closes a reused
// connection before it responds. Chromium does the same (HttpNetworkTransaction::ShouldResendRequest),
// but here the reused connection is that of the proxy. makeRepeatable reads a body of up to
// maxRepeatable bytes into memory. Larger ones, and those of unknown size, are not repeated. It
// returns an error if the client disconnects.
func makeRepeatable(r *http.Request) error {
	switch {
	case r.ContentLength < 0 || r.ContentLength > maxRepeatable:
		return nil
	case r.ContentLength > 0:
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		r.Body, _ = r.GetBody()
	}
	if _, sent := r.Header[idempotencyKey]; !sent {
		r.Header[idempotencyKey] = []string{}
	}
	return nil
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

// keepPath makes net/url send the path as received, if it would encode it differently ("/a|b").
func keepPath(r *http.Request) {
	if path := sentPath(r); path != "/" && path != r.URL.EscapedPath() && !strings.HasPrefix(path, "//") {
		r.URL.Opaque = path
	}
}

// roundTripper sends each request directly or through the upstream proxy.
type roundTripper struct{ p *Proxy }

func (rt roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	p := rt.p
	t, _ := r.Context().Value(targetKey{}).(hostPort)
	transport := p.direct
	if p.chained != nil {
		direct, err := p.goesDirect(r.Context(), t)
		if err != nil {
			return nil, err
		}
		if !direct {
			transport = p.chained
			if r.URL.Opaque != "" { // net/http does not add the host to it for a proxy
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
	p.reached(t)
	// Only the proxy may set these headers, not an origin.
	res.Header.Del(DeniedHeader)
	res.Header.Del(ErrorHeader)
	return res, nil
}

// errProxyAuth is the error for an origin that responds like a proxy that
// requires credentials.
var errProxyAuth = errors.New("the server requires proxy credentials")

// goesDirect reports whether t is dialed directly despite the upstream proxy. If t resolves here,
// all its addresses are checked first.
func (p *Proxy) goesDirect(ctx context.Context, t hostPort) (bool, error) {
	if p.via != nil {
		if u, err := p.via(&url.URL{Scheme: "http", Host: t.String()}); err == nil && u == nil {
			return true, nil // dialChecked checks its addresses
		}
	}
	ctx, cancel := p.bound(ctx)
	defer cancel()
	addrs, err := p.resolve(ctx, t)
	switch _, denied := errors.AsType[*deniedError](err); {
	case denied:
		return false, err
	case err != nil:
		return false, nil // the upstream proxy resolves it
	}
	return local(addrs[0]), nil
}

// local reports whether a is on this machine or in a private network, which an upstream proxy does
// not serve.
func local(a netip.Addr) bool { return a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() }
