package egress

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// maxCachedOutcomes limits an outcomeCache. A page uses fewer hosts.
const maxCachedOutcomes = 256

// An outcomeCache stores, for the latest hosts, why they were not reached. A browser reports only that
// the tunnel failed.
type outcomeCache struct {
	*lru.Cache[string, error] // by host:port; a *deniedError, a network error or a *challenge
}

func newOutcomeCache() outcomeCache {
	c, _ := lru.New[string, error](maxCachedOutcomes) // fails only for a size below 1
	return outcomeCache{c}
}

// find returns the latest denial or, if denied is false, the latest other error of host, which is
// "host" or "host:port".
func (c outcomeCache) find(host string, denied bool) (error, bool) {
	for _, key := range slices.Backward(c.Keys()) {
		if key != host && key[:strings.LastIndexByte(key, ':')] != host {
			continue
		}
		err, found := c.Peek(key)
		d, isDenied := errors.AsType[*deniedError](err)
		switch {
		case !found || isDenied != denied:
		case denied:
			return d.reason, true
		default:
			return err, true
		}
	}
	return nil, false
}

// Denied reports whether the policy denied the latest request for host, which is "host" or
// "host:port", and returns the reason. The proxy stores only the latest few hundred hosts, and
// removes a host when it is reached.
func (p *Proxy) Denied(host string) (reason error, ok bool) { return p.outcomes.find(host, true) }

// Failed reports whether host, as in [Proxy.Denied], was allowed but could not be reached, and
// returns Chromium's name of the error, such as "net::ERR_CONNECTION_REFUSED".
func (p *Proxy) Failed(host string) (netError string, ok bool) {
	err, ok := p.outcomes.find(host, false)
	if !ok {
		return "", false
	}
	return netErrorName(err), true
}

// Challenged returns the time of the latest request for host, as in [Proxy.Denied], without the
// credentials of a proxy on the port. ok is false if none has arrived, or if a request with the
// credentials of p has arrived after it. The request may come from any program: the caller checks
// whether its browser has forgotten the credentials.
func (p *Proxy) Challenged(host string) (at time.Time, ok bool) {
	err, _ := p.challenges.find(host, false)
	if c, ok := errors.AsType[*challenge](err); ok {
		return c.at, true
	}
	return time.Time{}, false
}

// A challenge is the outcome of a request without credentials.
type challenge struct{ at time.Time }

func (*challenge) Error() string { return "request without the proxy's credentials" }

// setOutcome records why t was not reached.
func (p *Proxy) setOutcome(t hostPort, err error) {
	p.challenges.Remove(t.String())
	p.outcomes.Add(t.String(), err)
}

// reached records that t was reached.
func (p *Proxy) reached(t hostPort) {
	p.challenges.Remove(t.String())
	p.outcomes.Remove(t.String())
}

// netErrorName returns Chromium's name of a connection error.
func netErrorName(err error) string {
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case errors.Is(err, errProxyAuth):
		return "net::ERR_UNEXPECTED_PROXY_AUTH"
	case errors.Is(err, errUpstreamFailed):
		return "net::ERR_PROXY_CONNECTION_FAILED"
	case errors.As(err, &dns):
		return "net::ERR_NAME_NOT_RESOLVED"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "net::ERR_CONNECTION_REFUSED"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "net::ERR_CONNECTION_RESET"
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return "net::ERR_ADDRESS_UNREACHABLE"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "net::ERR_CONNECTION_TIMED_OUT"
	}
	return "net::ERR_CONNECTION_FAILED"
}
