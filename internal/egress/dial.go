package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"
)

// fallbackDelay is the delay before the next address is dialed concurrently (RFC 8305 recommends
// 250 ms).
const fallbackDelay = 250 * time.Millisecond

// deniedError is a denial by the NetworkPolicy.
type deniedError struct{ reason error }

func (e *deniedError) Error() string { return e.reason.Error() }

// text returns the text that a denied client receives.
func (e *deniedError) text() string {
	return "Denied by the chrome-mcp policy: " + oneLine(e.reason.Error())
}

func (e *deniedError) Unwrap() error { return e.reason }

type systemResolver struct{}

// LookupNetIP resolves a name that contains a dot as an absolute name, so that the machine's search
// domains do not apply.
func (systemResolver) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	if strings.Contains(host, ".") {
		host += "."
	}
	return net.DefaultResolver.LookupNetIP(ctx, network, host)
}

// resolve returns the allowed addresses of t. It returns a *deniedError if t has addresses but none
// is allowed.
func (p *Proxy) resolve(ctx context.Context, t hostPort) ([]netip.Addr, error) {
	var addrs []netip.Addr
	switch {
	case t.addr.IsValid():
		addrs = []netip.Addr{t.addr}
	case t.loopbackName():
		addrs = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
	default:
		var err error
		if addrs, err = p.resolver.LookupNetIP(ctx, "ip", t.host); err != nil {
			return nil, fmt.Errorf("resolve %s: %w", t.host, err)
		}
	}
	var allowed []netip.Addr
	var reason error
	for _, a := range addrs {
		a = a.Unmap()
		if err := p.policy.CheckAddr(t.host, t.port, a); err != nil {
			p.log.DebugContext(ctx, "address denied", "host", t.host, "addr", a, "reason", err)
			reason = err
			continue
		}
		allowed = append(allowed, a)
	}
	switch {
	case len(allowed) > 0:
		return allowed, nil
	case reason != nil:
		return nil, &deniedError{reason}
	}
	return nil, fmt.Errorf("resolve %s: %w", t.host, &net.DNSError{Err: "no addresses", Name: t.host, IsNotFound: true})
}

// bound returns a context that is canceled with ctx, after dialTimeout, or when the proxy is
// closed. A dial for a pooled connection can outlive its request.
func (p *Proxy) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	stop := p.onClose(cancel)
	return ctx, func() { stop(); cancel() }
}

// dialChecked dials an allowed address of addr, which parseHostPort has accepted before.
func (p *Proxy) dialChecked(ctx context.Context, _, addr string) (net.Conn, error) {
	t, err := parseHostPort(addr, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", addr, err)
	}
	if !p.begin() {
		return nil, net.ErrClosed
	}
	defer p.running.Done()
	ctx, cancel := p.bound(ctx)
	defer cancel()
	addrs, err := p.resolve(ctx, t)
	if err != nil {
		return nil, err
	}
	return dialFirst(ctx, t, addrs)
}

// dialFirst dials addrs in order, each of them fallbackDelay after the previous one or when the
// previous one has failed, and returns the first connection. When it returns, all other connections
// are closed and their goroutines have exited.
func dialFirst(ctx context.Context, t hostPort, addrs []netip.Addr) (net.Conn, error) {
	var dialer net.Dialer
	if len(addrs) == 1 {
		return dialer.DialContext(ctx, "tcp", t.dialAddr(addrs[0]))
	}
	ctx, cancel := context.WithCancel(ctx)
	type result struct {
		conn net.Conn
		err  error
	}
	results := make(chan result, len(addrs))
	var (
		won     net.Conn
		failed  []error
		started int
		ended   int
	)
	start := func() {
		a := addrs[started]
		started++
		go func() {
			c, err := dialer.DialContext(ctx, "tcp", t.dialAddr(a))
			results <- result{c, err}
		}()
	}
	start()
	timer := time.NewTimer(fallbackDelay)
	defer timer.Stop()
	for ended < started {
		select {
		case <-timer.C:
			if won == nil && started < len(addrs) {
				start()
				timer.Reset(fallbackDelay)
			}
		case r := <-results:
			ended++
			switch {
			case r.err != nil:
				failed = append(failed, r.err)
				if won == nil && started < len(addrs) && ctx.Err() == nil {
					start()
					timer.Reset(fallbackDelay)
				}
			case won == nil:
				won = r.conn
				cancel()
			default:
				_ = r.conn.Close()
			}
		}
	}
	cancel()
	if won != nil {
		return won, nil
	}
	return nil, errors.Join(failed...)
}
