package chromium

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/attach"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/launch"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// A Browserless describes a browserless service, which launches a browser for each connection and
// terminates it when the connection ends.
type Browserless struct {
	// URLs are the addresses of its replicas: http, https, ws or wss, with the path of a browser,
	// such as ws://host:3000/chromium. At each launch, they are tried one after another from a
	// random one, until a replica launches a browser. A replica that does not respond, whose queue
	// is full, or that reports an internal error is passed over.
	URLs []string

	// Token, if not nil, returns the token of the service. It is called before each launch. The
	// token is sent in a header, and errors and logs do not contain it.
	Token func() (string, error)

	// Launch are the launch options of browserless, such as {"args": ["--lang=de"]}. Arguments that
	// select a proxy, weaken the isolation of sites, or control the profile or the debugging connection
	// are rejected.
	Launch map[string]any
}

// Check returns an error if the addresses or the launch options are invalid. The error contains no
// address, because an address may contain secrets.
func (b *Browserless) Check() error {
	if len(b.URLs) == 0 {
		return executor.Errorf(executor.ErrBadArgs, "", "browserless has no address")
	}
	for _, address := range b.URLs {
		if _, err := browserlessURL(address); err != nil {
			return err
		}
	}
	_, err := b.launchOptions(nil)
	return err
}

// browserlessURL returns the WebSocket URL of a replica.
func browserlessURL(address string) (*url.URL, error) {
	const hint = "Write it as ws://host:3000/chromium or wss://…."
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return nil, executor.Errorf(executor.ErrBadArgs, hint, "address of browserless is not a URL with a host")
	}
	switch u.Scheme {
	case "http":
		u.Scheme = "ws"
	case "https":
		u.Scheme = "wss"
	case "ws", "wss":
	default:
		return nil, executor.Errorf(executor.ErrBadArgs, hint, "address of browserless has the unsupported scheme %q", u.Scheme)
	}
	if u.User != nil || u.Query().Has("token") {
		return nil, executor.Errorf(executor.ErrBadArgs, "Remove it, and set the token separately.", "address of browserless contains credentials")
	}
	for key := range u.Query() {
		if key != "timeout" { // arguments in the query replace those of the launch options
			return nil, executor.Errorf(executor.ErrBadArgs, "Remove them, and set the launch options separately.", "address of browserless contains launch options: only timeout may be in its query, not %q", key)
		}
	}
	u.Fragment = ""
	return u, nil
}

// launchKeys are the launch options that can be set. Others select the program or the profile, or
// accept any certificate.
var launchKeys = []string{"args", "headless", "slowMo", "stealth"}

// launchOptions returns the launch options with additional arguments, as JSON.
func (b *Browserless) launchOptions(more []string) (string, error) {
	options := maps.Clone(b.Launch)
	for key := range options {
		if !slices.Contains(launchKeys, key) {
			return "", executor.Errorf(executor.ErrBadArgs, "", "launch option %q of browserless is not one of %s", key, strings.Join(launchKeys, ", "))
		}
	}
	var args []any
	if value, ok := options["args"]; ok {
		if args, ok = value.([]any); !ok {
			return "", executor.Errorf(executor.ErrBadArgs, "", "args in the launch options of browserless must be a list of strings")
		}
	}
	all := slices.Clone(more)
	for _, arg := range args {
		text, ok := arg.(string)
		if !ok {
			return "", executor.Errorf(executor.ErrBadArgs, "", "args in the launch options of browserless must be a list of strings")
		}
		if _, _, err := launch.CheckArgument(text, true); err != nil {
			return "", err
		}
		all = append(all, text)
	}
	if len(all) > 0 {
		if options == nil {
			options = map[string]any{}
		}
		options["args"] = all
	}
	if len(options) == 0 {
		return "", nil
	}
	data, err := json.Marshal(options)
	return string(data), err
}

// dial launches a browser with additional arguments on one of the replicas. If no replica launches
// one, it returns ErrBackpressure if at least one is full, and ErrNoBackend otherwise. It returns
// ErrLaunchFailed if a replica rejects the token or the request. replica is the address of the replica,
// without secrets. Closing the transport terminates the browser. limits bound the wait for each
// replica.
func (b *Browserless) dial(ctx context.Context, args []string, limits timing.Timing) (t chromedp.Transport, v cdpconn.Version, replica string, err error) {
	fail := func(err error) (chromedp.Transport, cdpconn.Version, string, error) {
		return nil, cdpconn.Version{}, "", err
	}
	launch, err := b.launchOptions(args)
	if err != nil {
		return fail(err)
	}
	header := http.Header{}
	if b.Token != nil {
		token, err := b.Token()
		if err != nil {
			return fail(err)
		}
		header.Set("Authorization", "Bearer "+token)
	}
	wait := max(limits.Dial/time.Duration(len(b.URLs)), 2*limits.Connect)
	full := false
	var failed []string
	start := rand.IntN(len(b.URLs))
	for i := range b.URLs {
		u, err := browserlessURL(b.URLs[(start+i)%len(b.URLs)])
		if err != nil {
			return fail(err)
		}
		if launch != "" {
			query := u.Query()
			query.Set("launch", launch)
			u.RawQuery = query.Encode()
		}
		conn, v, err := attach.Open(ctx, u, header, wait)
		if err == nil {
			return conn, v, attach.RedactedURL(u), nil
		}
		if ctx.Err() != nil {
			return fail(attach.CanceledError(ctx, u))
		}
		reply, responded := errors.AsType[*attach.HandshakeError](err)
		if responded && reply.Status >= 400 && reply.Status < 500 && reply.Status != http.StatusTooManyRequests && reply.Status != http.StatusRequestTimeout {
			return fail(rejectedByBrowserless(u, reply.Status))
		}
		full = full || errors.Is(err, attach.ErrNoHandshake) || responded && reply.Status == http.StatusTooManyRequests
		failed = append(failed, fmt.Sprintf("%s: %s", attach.RedactedURL(u), replicaFailure(err)))
	}
	slices.Sort(failed)
	if full {
		return fail(&executor.Error{Code: executor.ErrBackpressure, Retryable: true,
			Hint: "Try again when another session has ended. The user can add replicas, or raise their limit of browsers.",
			Err:  fmt.Errorf("browserless has no free slot for a browser: %s", strings.Join(failed, "; "))})
	}
	return fail(&executor.Error{Code: executor.ErrNoBackend, Retryable: true,
		Hint: "The user can check the addresses, and that browserless is running.",
		Err:  fmt.Errorf("browserless launched no browser: %s", strings.Join(failed, "; "))})
}

// replicaFailure describes why a replica launched no browser, without its URL.
func replicaFailure(err error) string {
	if reply, ok := errors.AsType[*attach.HandshakeError](err); ok {
		if reply.Status == http.StatusTooManyRequests {
			return "its queue is full (HTTP 429)"
		}
		return fmt.Sprintf("HTTP %d", reply.Status)
	}
	if errors.Is(err, attach.ErrNoHandshake) {
		return "no answer to the handshake; its queue is probably full"
	}
	return err.Error()
}

// rejectedByBrowserless returns the error for an HTTP status that no other replica would change.
func rejectedByBrowserless(u *url.URL, status int) error {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return executor.Errorf(executor.ErrLaunchFailed, "The user can correct the token.", "browserless at %s rejected the token (HTTP %d)", attach.RedactedURL(u), status)
	case http.StatusNotFound:
		return executor.Errorf(executor.ErrLaunchFailed, "The user can correct the path of the address, such as /chromium.", "browserless at %s has no such path (HTTP 404)", attach.RedactedURL(u))
	}
	return executor.Errorf(executor.ErrLaunchFailed, "The user can correct the launch options.", "browserless at %s rejected the request (HTTP %d)", attach.RedactedURL(u), status)
}
