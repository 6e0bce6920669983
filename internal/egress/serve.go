package egress

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strings"
)

// Headers of the proxy's own answers. A page that is denied over plain http
// gets such an answer in place of a document.
const (
	// DeniedHeader is on a refusal, with its reason.
	DeniedHeader = "X-Chrome-MCP-Denied"
	// ErrorHeader is on an answer for a host that could not be reached, with
	// Chromium's name for what happened ("net::ERR_CONNECTION_REFUSED").
	ErrorHeader = "X-Chrome-MCP-Error"
)

// WarmUpURL is answered by the proxy itself, with an empty page: a browser
// that has loaded it knows the credentials. No name ends in ".invalid"
// (RFC 6761).
const WarmUpURL = "http://" + warmUpHost + "/"

const warmUpHost = "chrome-mcp-proxy.invalid"

const realm = `Basic realm="chrome-mcp"`

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	// Counted apart from its connection, which the server forgets when the
	// handler makes a tunnel of it.
	if !p.begin() {
		panic(http.ErrAbortHandler)
	}
	defer p.running.Done()
	if !p.authorized(r) {
		p.noteStranger(r)
		w.Header().Set("Proxy-Authenticate", realm)
		answer(w, http.StatusProxyAuthRequired, "this proxy needs credentials")
		return
	}
	proved(r.Context())
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

// errStranger is of a request without the credentials.
var errStranger = errors.New("the request did not have the proxy's credentials")

// noteStranger remembers where a request without the credentials would have
// gone: it may be the browser's, which forgets them when its network process
// ends.
func (p *Proxy) noteStranger(r *http.Request) {
	host, port := r.URL.Host, 80
	if r.Method == http.MethodConnect {
		host, port = r.RequestURI, 0
	}
	if t, err := parseTarget(host, port); err == nil {
		p.verdicts.set(t, errStranger)
	}
}

// authorized compares digests, so that the time it takes tells nothing of the
// credentials, not even their length.
func (p *Proxy) authorized(r *http.Request) bool {
	if p.credentials == nil {
		return true
	}
	scheme, got, ok := strings.Cut(r.Header.Get("Proxy-Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Basic") {
		return false
	}
	a, b := sha256.Sum256([]byte(strings.TrimSpace(got))), sha256.Sum256([]byte(basic(p.credentials.Username(), password(p.credentials))))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

func basic(user, password string) string {
	return base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
}

func password(u interface{ Password() (string, bool) }) string {
	s, _ := u.Password()
	return s
}

// decide queries the Decider about t before name resolution. scheme is empty for
// a tunnel, which has no path.
func (p *Proxy) decide(scheme string, t target, path string) *deniedError {
	err := p.decider.CheckHost(scheme, t.host, t.port)
	if err == nil && scheme != "" {
		err = p.decider.CheckPath(scheme, t.host, t.port, path)
	}
	if err != nil {
		return &deniedError{err}
	}
	return nil
}

// refuse answers a request that err ended, and remembers why. Details stay in
// the log: the answer may be read by a page.
func (p *Proxy) refuse(w http.ResponseWriter, r *http.Request, t target, err error) {
	if denied, ok := errors.AsType[*deniedError](err); ok {
		p.noteDenied(r.Context(), t, denied)
		w.Header().Set(DeniedHeader, oneLine(denied.Error()))
		answer(w, http.StatusForbidden, denied.text())
		return
	}
	if r.Context().Err() != nil {
		panic(http.ErrAbortHandler) // the client is gone, or we are closing
	}
	name := netErrorName(err)
	p.verdicts.set(t, err)
	p.log.DebugContext(r.Context(), "connection failed", "host", t.host, "port", t.port, "err", err)
	w.Header().Set(ErrorHeader, name)
	answer(w, http.StatusBadGateway, "Not reached: "+name)
}

// noteDenied logs and stores that t was denied.
func (p *Proxy) noteDenied(ctx context.Context, t target, denied *deniedError) {
	p.verdicts.set(t, denied)
	p.log.InfoContext(ctx, "connection denied", "host", t.host, "port", t.port, "reason", denied.reason)
}

func answer(w http.ResponseWriter, status int, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // a client that is gone needs no answer
}

// oneLine makes s fit for a header.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return ' '
		}
		return r
	}, s[:min(len(s), 300)])
}
