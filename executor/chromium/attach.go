package chromium

import (
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

	"github.com/chrome-mcp/chrome-mcp/executor"
)

const (
	// discoverTimeout bounds the question for the WebSocket's address.
	discoverTimeout = 5 * time.Second
	// dialTimeout bounds the WebSocket's handshake: a Chrome that was told to
	// ask its user first answers when the user has.
	dialTimeout = 30 * time.Second
	// answerTimeout bounds the first answer over the WebSocket.
	answerTimeout = 5 * time.Second
	// maxDiscovery is far more than the few hundred bytes of the answer.
	maxDiscovery = 64 << 10
)

// An endpoint is a browser that was joined.
type endpoint struct {
	version version
	url     string // of the WebSocket; it gives full control of the browser, so it is not for logs
}

// dial joins the browser at address, an [Options].CDPEndpoint, and returns
// when it has answered. It returns ErrBadArgs for what is no such address,
// ErrNoBackend when nothing listens there, and ErrLaunchFailed when what
// answers is not a browser that can be joined. Closing the transport lets go
// of the browser.
func dial(ctx context.Context, address string) (transport, endpoint, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		// The error of url.Parse quotes the address, and with it its secrets.
		return nil, endpoint{}, badEndpoint("it is not a URL with a host")
	}
	switch u.Scheme {
	case "ws", "wss":
	case "http", "https":
		if u, err = discover(ctx, u); err != nil {
			return nil, endpoint{}, err
		}
	default:
		return nil, endpoint{}, badEndpoint(fmt.Sprintf("its scheme is %q", u.Scheme))
	}
	u.Fragment = ""

	dialCtx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := dialWebSocket(dialCtx, u.String())
	if err != nil {
		return nil, endpoint{}, unreachable(ctx, u, err,
			"Give the http:// address of the debugging port, whose WebSocket is then found, or the whole ws:// address with its path.")
	}
	// Read does not look at its context: closing the connection ends it.
	answerCtx, cancelAnswer := context.WithTimeout(ctx, answerTimeout)
	defer cancelAnswer()
	stop := context.AfterFunc(answerCtx, func() { _ = conn.Close() })
	v, err := getVersion(answerCtx, conn)
	if !stop() && err == nil {
		err = answerCtx.Err()
	}
	if err != nil {
		_ = conn.Close()
		if answerCtx.Err() != nil {
			err = fmt.Errorf("no answer within %s", answerTimeout)
		}
		if ctx.Err() != nil {
			return nil, endpoint{}, joinCancelled(ctx, u)
		}
		return nil, endpoint{}, executor.Errorf(executor.ErrLaunchFailed,
			"Give the address of the browser, not of one of its pages: http://host:port, or ws://…/devtools/browser/….",
			"endpoint %s does not speak for a browser: %w", shown(u), err)
	}
	return conn, endpoint{version: v, url: u.String()}, nil
}

// discover asks the debugging port at u for the address of its WebSocket.
func discover(ctx context.Context, u *url.URL) (*url.URL, error) {
	ctx, cancel := context.WithTimeout(ctx, discoverTimeout)
	defer cancel()
	found, err := askVersion(ctx, u)
	var refused *hostRefused
	if errors.As(err, &refused) {
		// Chrome answers only under an address or as localhost, lest a page
		// reach it through a name of its own. We know whom we mean.
		ip, lookupErr := lookup(ctx, u)
		if lookupErr != nil {
			return nil, executor.Errorf(executor.ErrNoBackend, "Give its IP address instead of its name.", "endpoint %s: %w", shown(u), lookupErr)
		}
		u = ip
		found, err = askVersion(ctx, u)
	}
	if err != nil {
		return nil, err
	}
	// Chrome names the host that it was asked under; a proxy or a container's
	// port mapping in between does not correct it.
	found.Host, found.User = u.Host, u.User
	found.Scheme = "ws"
	if u.Scheme == "https" {
		found.Scheme = "wss"
	}
	return found, nil
}

// hostRefused is Chrome's refusal of a Host header.
type hostRefused struct{ error }

// askVersion does GET /json/version and returns the WebSocket's address in it.
func askVersion(ctx context.Context, u *url.URL) (*url.URL, error) {
	at := *u
	at.Path, at.RawPath, at.Fragment = strings.TrimSuffix(u.Path, "/")+"/json/version", "", ""
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, badEndpoint("it is not an address to ask")
	}
	// A transport of its own: nothing lingers after the one question, no proxy
	// of the environment learns the address.
	tr := &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: maxDiscovery}
	defer tr.CloseIdleConnections()
	client := &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		if ue, ok := errors.AsType[*url.Error](err); ok {
			err = ue.Err // without the address and what may be in it
		}
		return nil, unreachable(ctx, u, err, "")
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxDiscovery+1))
	if err != nil {
		return nil, unreachable(ctx, u, err, "")
	}
	const isIt = "Is it the debugging port of a Chromium that was started with --remote-debugging-port?"
	switch {
	case resp.StatusCode == http.StatusInternalServerError && strings.Contains(string(body), "Host header is specified"):
		return nil, &hostRefused{executor.Errorf(executor.ErrLaunchFailed, "Give its IP address instead of its name.",
			"endpoint %s refuses to be asked under this name", shown(u))}
	case resp.StatusCode == http.StatusNotFound:
		return nil, executor.Errorf(executor.ErrLaunchFailed,
			isIt+" A Chrome whose debugging was switched on at chrome://inspect does not tell its WebSocket: give it as ws://host:port/path, both in the DevToolsActivePort file of its profile.",
			"endpoint %s has no /json/version (HTTP 404)", shown(u))
	case resp.StatusCode != http.StatusOK:
		return nil, executor.Errorf(executor.ErrLaunchFailed, isIt, "endpoint %s answered HTTP %d", shown(u), resp.StatusCode)
	case len(body) > maxDiscovery:
		return nil, executor.Errorf(executor.ErrLaunchFailed, isIt, "endpoint %s answered more than %d bytes", shown(u), maxDiscovery)
	}
	var answer struct {
		WebSocket string `json:"webSocketDebuggerUrl"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, executor.Errorf(executor.ErrLaunchFailed, isIt, "endpoint %s did not answer as a browser does", shown(u))
	}
	ws, err := url.Parse(answer.WebSocket)
	if err != nil || (ws.Scheme != "ws" && ws.Scheme != "wss") || ws.Path == "" {
		return nil, executor.Errorf(executor.ErrLaunchFailed, isIt, "endpoint %s names no WebSocket", shown(u))
	}
	return ws, nil
}

// lookup returns u with its host's address in place of its name.
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

// unreachable explains why nothing answered at u. hint is for the case that
// something did, but not with a WebSocket.
func unreachable(ctx context.Context, u *url.URL, err error, hint string) error {
	const start = "Start the browser with --remote-debugging-port, and check host and port."
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, connRefused):
		return executor.Errorf(executor.ErrNoBackend, start, "nothing listens at %s", shown(u))
	case errors.As(err, &dns):
		return executor.Errorf(executor.ErrNoBackend, "Check the host's name, or give its IP address.", "host %s of the endpoint was not found", u.Hostname())
	case errors.Is(context.Cause(ctx), context.Canceled):
		return joinCancelled(ctx, u)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return executor.Errorf(executor.ErrNoBackend, start, "endpoint %s did not answer in time", shown(u))
	}
	if hint == "" {
		hint = start
	}
	return executor.Errorf(executor.ErrLaunchFailed, hint, "endpoint %s: %w", shown(u), err)
}

// connRefused is what Windows calls ECONNREFUSED (WSAECONNREFUSED).
const connRefused = syscall.Errno(10061)

func joinCancelled(ctx context.Context, u *url.URL) error {
	return &executor.Error{Code: executor.ErrTimeout, Retryable: true,
		Err: fmt.Errorf("the browser at %s was still being joined: %w", shown(u), context.Cause(ctx))}
}

// shown is what may be told of an endpoint: path and query can be secrets.
func shown(u *url.URL) string { return u.Scheme + "://" + u.Host }
