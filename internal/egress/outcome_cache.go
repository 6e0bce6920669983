package egress

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"syscall"
)

// maxCachedOutcomes limits an outcomeCache. A page uses fewer hosts.
const maxCachedOutcomes = 256

// outcomeCache stores, for the latest hosts, why they were not reached. A browser reports only that
// the tunnel failed.
type outcomeCache struct {
	mu    sync.Mutex
	of    map[string]error // by host:port; a *deniedError or a network error
	order []string         // the same keys, oldest first
}

func (v *outcomeCache) set(t hostPort, err error) {
	key := t.String()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.drop(key)
	if v.of == nil {
		v.of = map[string]error{}
	}
	if len(v.order) == maxCachedOutcomes {
		delete(v.of, v.order[0])
		v.order = v.order[1:]
	}
	v.of[key] = err
	v.order = append(v.order, key)
}

// clear removes t, which was reached.
func (v *outcomeCache) clear(t hostPort) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.of) > 0 {
		v.drop(t.String())
	}
}

func (v *outcomeCache) drop(key string) {
	if _, ok := v.of[key]; !ok {
		return
	}
	delete(v.of, key)
	for i, k := range v.order {
		if k == key {
			v.order = append(v.order[:i:i], v.order[i+1:]...)
			return
		}
	}
}

// find returns the latest denial or, if denied is false, the latest other error of host, which is
// "host" or "host:port".
func (v *outcomeCache) find(host string, denied bool) (error, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := len(v.order) - 1; i >= 0; i-- {
		key := v.order[i]
		if key != host && key[:strings.LastIndexByte(key, ':')] != host {
			continue
		}
		var d *deniedError
		if errors.As(v.of[key], &d) == denied {
			if denied {
				return d.reason, true
			}
			return v.of[key], true
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

// Challenged reports whether the latest request for host, as in [Proxy.Denied], did not have the
// proxy's credentials.
func (p *Proxy) Challenged(host string) bool {
	err, ok := p.outcomes.find(host, false)
	return ok && errors.Is(err, errMissingCredentials)
}

// netErrorName returns Chromium's name of a connection error.
func netErrorName(err error) string {
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case errors.Is(err, errMissingCredentials):
		return "net::ERR_INVALID_AUTH_CREDENTIALS"
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
