// Package attach connects to the debugging endpoint of a running browser.
package attach

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// maxDiscovery bounds the response of the debugging port, which has a few hundred bytes.
const maxDiscovery = 64 << 10

// A Browser describes a browser that we attached to.
type Browser struct {
	Version cdpconn.Version
	Endpoint
}

// An Endpoint is the address of a browser with the headers of requests to it. It gives full control
// of the browser, so it must not be logged.
type Endpoint struct {
	URL    string      `json:"url"`
	Header http.Header `json:"header,omitempty"`
}

// Dial connects to the browser at an endpoint, and returns when the browser has
// responded. It returns ErrBadArgs for an invalid address, ErrNoBackend if nothing listens
// there, and ErrLaunchFailed if the program there is not a browser that we can attach to. Closing
// the transport detaches from the browser.
func Dial(ctx context.Context, at Endpoint) (chromedp.Transport, Browser, error) {
	u, err := ParseURL(at.URL)
	if err == nil && (u.Scheme == "http" || u.Scheme == "https") {
		u, err = discover(ctx, u, at.Header)
	}
	if err != nil {
		return nil, Browser{}, err
	}
	u.Fragment = ""

	conn, v, err := Open(ctx, u, at.Header, timing.Current().Dial)
	var notBrowser *notBrowserError
	switch {
	case err == nil:
		return conn, Browser{v, Endpoint{u.String(), at.Header}}, nil
	case !errors.As(err, &notBrowser):
		return nil, Browser{}, unreachable(ctx, u, err,
			"Give the http:// address of the debugging port, which is queried for the WebSocket URL, or the complete ws:// URL.")
	case ctx.Err() != nil:
		return nil, Browser{}, CanceledError(ctx, u)
	}
	return nil, Browser{}, executor.Errorf(executor.ErrLaunchFailed,
		"Give the address of the browser, not of one of its pages: http://host:port, or ws://…/devtools/browser/….",
		"endpoint %s is not a browser-level CDP endpoint: %w", RedactedURL(u), notBrowser.err)
}

// ParseURL parses the URL of an endpoint. It returns ErrBadArgs for an invalid one, with an error that does
// not contain it.
func ParseURL(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return nil, badEndpoint("it is not a URL with a host")
	}
	switch u.Scheme {
	case "ws", "wss", "http", "https":
		return u, nil
	}
	return nil, badEndpoint(fmt.Sprintf("its scheme is %q", u.Scheme))
}

// ErrNoHandshake is wrapped by the error of Open if the server accepted the connection, and
// did not answer the handshake in time.
var ErrNoHandshake = fmt.Errorf("no answer to the handshake: %w", context.DeadlineExceeded)

// A notBrowserError is the error for a WebSocket that does not respond as a browser does.
type notBrowserError struct{ err error }

func (e *notBrowserError) Error() string { return e.err.Error() }

// Open connects to the WebSocket of a browser, and returns when the browser has responded.
// wait bounds the handshake.
func Open(ctx context.Context, u *url.URL, header http.Header, wait time.Duration) (chromedp.Transport, cdpconn.Version, error) {
	dialCtx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	dialer := net.Dialer{Timeout: timing.Current().Connect}
	conn, err := dialWebSocket(dialCtx, u.String(), header, dialer.DialContext)
	if err != nil {
		if dialCtx.Err() != nil && ctx.Err() == nil {
			err = ErrNoHandshake
		}
		return nil, cdpconn.Version{}, err
	}
	// Read ignores its context, so closing the connection interrupts it.
	limit := timing.Current().FirstResponse
	answerCtx, cancelAnswer := context.WithTimeout(ctx, limit)
	defer cancelAnswer()
	stop := context.AfterFunc(answerCtx, func() { _ = conn.Close() })
	v, err := cdpconn.GetVersion(answerCtx, conn)
	if !stop() && err == nil {
		err = answerCtx.Err()
	}
	if err != nil {
		_ = conn.Close()
		if answerCtx.Err() != nil {
			err = fmt.Errorf("no answer within %s", limit)
		}
		return nil, cdpconn.Version{}, &notBrowserError{err}
	}
	conn.watch()
	return conn, v, nil
}

// discover queries the debugging port at u for its WebSocket URL.
func discover(ctx context.Context, u *url.URL, header http.Header) (*url.URL, error) {
	ctx, cancel := context.WithTimeout(ctx, timing.Current().Discover)
	defer cancel()
	found, err := fetchVersion(ctx, u, header)
	var rejected *hostRejected
	if errors.As(err, &rejected) {
		// Chrome responds only if the Host header is an IP address or localhost, so that no page
		// can reach it through DNS rebinding. Our address is trusted, so use its IP address.
		ip, lookupErr := lookup(ctx, u)
		if lookupErr != nil {
			return nil, executor.Errorf(executor.ErrNoBackend, "Give its IP address instead of its name.", "endpoint %s: %w", RedactedURL(u), lookupErr)
		}
		u = ip
		found, err = fetchVersion(ctx, u, header)
	}
	if err != nil {
		return nil, err
	}
	// Chrome returns the host of the request. A proxy or a container's port mapping in between does
	// not correct it.
	found.Host, found.User = u.Host, u.User
	found.Scheme = "ws"
	if u.Scheme == "https" {
		found.Scheme = "wss"
	}
	return found, nil
}

// hostRejected is the error for a Host header that Chrome rejects.
type hostRejected struct{ error }

// fetchVersion requests /json/version and returns the WebSocket URL in the response.
func fetchVersion(ctx context.Context, u *url.URL, header http.Header) (*url.URL, error) {
	at := *u
	at.Path, at.RawPath, at.Fragment = strings.TrimSuffix(u.Path, "/")+"/json/version", "", ""
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, badEndpoint("unsupported address")
	}
	if header != nil {
		req.Header = header.Clone()
	}
	// Use a separate transport, so that no connection stays open after the request and no proxy of
	// the environment sees the URL.
	tr := &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: maxDiscovery}
	defer tr.CloseIdleConnections()
	client := &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		if ue, ok := errors.AsType[*url.Error](err); ok {
			err = ue.Err // without the URL, which can contain secrets
		}
		return nil, unreachable(ctx, u, err, "")
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxDiscovery+1))
	if err != nil {
		return nil, unreachable(ctx, u, err, "")
	}
	const portHint = "Is it the debugging port of a Chromium that was started with --remote-debugging-port?"
	switch {
	case resp.StatusCode == http.StatusInternalServerError && strings.Contains(string(body), "Host header is specified"):
		return nil, &hostRejected{executor.Errorf(executor.ErrLaunchFailed, "Give its IP address instead of its name.",
			"endpoint %s rejected the Host header", RedactedURL(u))}
	case resp.StatusCode == http.StatusNotFound:
		return nil, executor.Errorf(executor.ErrLaunchFailed,
			portHint+" A Chrome whose debugging was switched on at chrome://inspect does not publish its WebSocket URL; specify it as ws://host:port/path, both in the DevToolsActivePort file of its profile.",
			"endpoint %s has no /json/version (HTTP 404)", RedactedURL(u))
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		return nil, executor.Errorf(executor.ErrLaunchFailed, headersHint, "endpoint %s answered HTTP %d", RedactedURL(u), resp.StatusCode)
	case resp.StatusCode != http.StatusOK:
		return nil, executor.Errorf(executor.ErrLaunchFailed, portHint, "endpoint %s answered HTTP %d", RedactedURL(u), resp.StatusCode)
	case len(body) > maxDiscovery:
		return nil, executor.Errorf(executor.ErrLaunchFailed, portHint, "endpoint %s answered more than %d bytes", RedactedURL(u), maxDiscovery)
	}
	var answer struct {
		WebSocket string `json:"webSocketDebuggerUrl"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, executor.Errorf(executor.ErrLaunchFailed, portHint, "endpoint %s did not answer as a browser does", RedactedURL(u))
	}
	ws, err := url.Parse(answer.WebSocket)
	if err != nil || (ws.Scheme != "ws" && ws.Scheme != "wss") || ws.Path == "" {
		return nil, executor.Errorf(executor.ErrLaunchFailed, portHint, "endpoint %s returned no webSocketDebuggerUrl", RedactedURL(u))
	}
	return ws, nil
}

// lookup returns u with its host name replaced by an IP address.
func lookup(ctx context.Context, u *url.URL) (*url.URL, error) {
	addrs, err := net.DefaultResolver.LookupHost(ctx, u.Hostname())
	if err != nil {
		return nil, err
	}
	at := *u
	switch host := addrs[0]; {
	case u.Port() != "":
		at.Host = net.JoinHostPort(host, u.Port())
	case strings.Contains(host, ":"):
		at.Host = "[" + host + "]"
	default:
		at.Host = host
	}
	return &at, nil
}

func badEndpoint(why string) error {
	return executor.Errorf(executor.ErrBadArgs, "Give http://host:port, ws://… or wss://….", "CDP endpoint is not usable: %s", why)
}

// headersHint is the hint for an endpoint that requires credentials.
const headersHint = "The endpoint requires other headers, such as a token. The user can correct them."

// unreachable explains why the connection to u failed. hint is the hint if a program responded
// there, but not with a WebSocket.
func unreachable(ctx context.Context, u *url.URL, err error, hint string) error {
	const start = "Start the browser with --remote-debugging-port, and check host and port."
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, connRefused):
		return executor.Errorf(executor.ErrNoBackend, start, "nothing listens at %s", RedactedURL(u))
	case errors.As(err, &dns):
		return executor.Errorf(executor.ErrNoBackend, "Check the host's name, or give its IP address.", "host %s of the endpoint was not found", u.Hostname())
	case errors.Is(context.Cause(ctx), context.Canceled):
		return CanceledError(ctx, u)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return executor.Errorf(executor.ErrNoBackend, start, "endpoint %s did not answer in time", RedactedURL(u))
	}
	if e, ok := errors.AsType[*HandshakeError](err); ok && (e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden) {
		hint = headersHint
	}
	return executor.Errorf(executor.ErrLaunchFailed, cmp.Or(hint, start), "endpoint %s: %w", RedactedURL(u), err)
}

// connRefused is the Windows equivalent of ECONNREFUSED (WSAECONNREFUSED).
const connRefused = syscall.Errno(10061)

// CanceledError returns the error for an attempt to attach to the browser at u that ctx ended.
func CanceledError(ctx context.Context, u *url.URL) error {
	return &executor.Error{Code: executor.ErrTimeout, Retryable: true,
		Err: fmt.Errorf("attaching to the browser at %s: %w", RedactedURL(u), context.Cause(ctx))}
}

// RedactedURL returns the part of an endpoint that may be shown: path and query can be secrets.
func RedactedURL(u *url.URL) string { return u.Scheme + "://" + u.Host }
