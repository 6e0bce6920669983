package egress

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
)

// Headers of the proxy's own responses. For a denied document over plain http, the browser receives
// such a response.
const (
	// DeniedHeader is set on a denial. Its value is the reason.
	DeniedHeader = "X-Chrome-MCP-Denied"
	// ErrorHeader is set on the response for a host that could not be reached. Its value is
	// Chromium's name of the error, such as "net::ERR_CONNECTION_REFUSED".
	ErrorHeader = "X-Chrome-MCP-Error"
)

// WarmUpURL is the URL of an empty page that the proxy itself serves. A browser that has loaded it
// knows the credentials. No host exists below ".invalid" (RFC 6761).
const WarmUpURL = "http://" + warmUpHost + "/"

const warmUpHost = "chrome-mcp-proxy.invalid"

const realm = `Basic realm="chrome-mcp"`

// serve serves an authorized request.
func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	// The handler is counted in addition to its connection, because the server no longer counts a
	// connection that the handler hijacks for a tunnel.
	if !p.beginRequest(r) {
		panic(http.ErrAbortHandler)
	}
	defer p.running.Done()
	defer p.requests.Add(-1)
	if p.requests.Add(1) > p.maxRequests && !p.ownsPort {
		respond(w, http.StatusServiceUnavailable, "this proxy has too many requests in progress")
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer p.onClose(cancel)()
	r = r.WithContext(ctx)
	if r.URL.Host == warmUpHost && p.credentials != nil {
		w.WriteHeader(http.StatusOK)
		return
	}
	if r.Method == http.MethodConnect {
		p.serveTunnel(w, r)
		return
	}
	p.serveForward(w, r)
}

// recordUnauthenticated records the host of a request without credentials. It may come from the
// browser, which forgets the credentials when its network process exits, and from any other
// program. So it replaces no outcome of p.
func (p *Proxy) recordUnauthenticated(r *http.Request) {
	host, port := r.URL.Host, 80
	if r.Method == http.MethodConnect {
		host, port = r.RequestURI, 0
	}
	if t, err := parseHostPort(host, port); err == nil {
		p.challenges.Add(t.String(), &challenge{time.Now()})
	}
}

func basic(user, password string) string {
	return base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
}

func password(u interface{ Password() (string, bool) }) string {
	s, _ := u.Password()
	return s
}

// checkPolicy checks t against the policy before name resolution. scheme is empty for a tunnel,
// which has no path.
func (p *Proxy) checkPolicy(scheme string, t hostPort, path string) *deniedError {
	err := p.policy.CheckHost(scheme, t.host, t.port)
	if err == nil && scheme != "" {
		err = p.policy.CheckPath(scheme, t.host, t.port, path)
	}
	if err != nil {
		return &deniedError{err}
	}
	return nil
}

// respondError responds to a request that failed with err, and records err. Details are only
// logged, because a page may read the response.
func (p *Proxy) respondError(w http.ResponseWriter, r *http.Request, t hostPort, err error) {
	if denied, ok := errors.AsType[*deniedError](err); ok {
		p.recordDenied(r.Context(), t, denied)
		w.Header().Set(DeniedHeader, oneLine(denied.Error()))
		respond(w, http.StatusForbidden, denied.text())
		return
	}
	if r.Context().Err() != nil {
		panic(http.ErrAbortHandler) // the client has disconnected, or the proxy is closing
	}
	name := netErrorName(err)
	p.setOutcome(t, err)
	p.log.DebugContext(r.Context(), "connection failed", "host", t.host, "port", t.port, "error", err)
	w.Header().Set(ErrorHeader, name)
	respond(w, http.StatusBadGateway, "not reached: "+name)
}

// recordDenied logs and records that t was denied.
func (p *Proxy) recordDenied(ctx context.Context, t hostPort, denied *deniedError) {
	p.setOutcome(t, denied)
	p.log.InfoContext(ctx, "connection denied", "host", t.host, "port", t.port, "reason", denied.reason)
}

func respond(w http.ResponseWriter, status int, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // a disconnected client needs no response
}

// oneLine returns s as the value of a header: one line of printable ASCII, truncated.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return ' '
		}
		return r
	}, s[:min(len(s), 300)])
}
