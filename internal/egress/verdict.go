package egress

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"syscall"
)

// maxVerdicts is how many hosts the proxy remembers a refusal or failure of:
// more than a page has, and few enough to forget about.
const maxVerdicts = 256

// verdicts remembers, for the latest hosts, why they were not reached. A
// browser tells only that "the tunnel failed".
type verdicts struct {
	mu    sync.Mutex
	of    map[string]error // by host:port; a *deniedError or the network's error
	order []string         // the same keys, oldest first
}

func (v *verdicts) set(t target, err error) {
	key := t.String()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.drop(key)
	if v.of == nil {
		v.of = map[string]error{}
	}
	if len(v.order) == maxVerdicts {
		delete(v.of, v.order[0])
		v.order = v.order[1:]
	}
	v.of[key] = err
	v.order = append(v.order, key)
}

// clear forgets t: it was reached.
func (v *verdicts) clear(t target) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.of) > 0 {
		v.drop(t.String())
	}
}

func (v *verdicts) drop(key string) {
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

// find returns the verdict on host, or on host:port, that is the latest and
// of the kind wanted.
func (v *verdicts) find(host string, denied bool) (error, bool) {
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

// Denied reports whether the latest requests were refused for host, which is
// "host" or "host:port", and the Decider's reason. Only the last few hundred
// hosts are remembered, and a host that was reached since is not.
func (p *Proxy) Denied(host string) (reason error, ok bool) { return p.verdicts.find(host, true) }

// Failed reports whether host, as in [Proxy.Denied], was allowed but could not
// be reached, and returns the name that Chromium has for what happened, such
// as "net::ERR_CONNECTION_REFUSED".
func (p *Proxy) Failed(host string) (netError string, ok bool) {
	err, ok := p.verdicts.find(host, false)
	if !ok {
		return "", false
	}
	return netErrorName(err), true
}

// Challenged reports whether the latest request for host, as in
// [Proxy.Denied], was without the proxy's credentials.
func (p *Proxy) Challenged(host string) bool {
	err, ok := p.verdicts.find(host, false)
	return ok && errors.Is(err, errStranger)
}

// netErrorName translates an error of ours to Chromium's name for it.
func netErrorName(err error) string {
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case errors.Is(err, errStranger):
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
