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

// fallbackDelay is the head start that one address has before the next one is
// tried beside it (RFC 8305 recommends 250 ms).
const fallbackDelay = 250 * time.Millisecond

// deniedError is a refusal by the Decider.
type deniedError struct{ reason error }

func (e *deniedError) Error() string { return e.reason.Error() }

// text returns the text that a denied client receives.
func (e *deniedError) text() string {
	return "Denied by the chrome-mcp policy: " + oneLine(e.reason.Error())
}

func (e *deniedError) Unwrap() error { return e.reason }

type systemResolver struct{}

// LookupNetIP asks for a name with dots as it is: the search domains of the
// machine must not turn it into another.
func (systemResolver) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	if strings.Contains(host, ".") {
		host += "."
	}
	return net.DefaultResolver.LookupNetIP(ctx, network, host)
}

// resolve returns the addresses of t that the Decider allows. It returns a
// *deniedError when t has addresses and none is allowed.
func (p *Proxy) resolve(ctx context.Context, t target) ([]netip.Addr, error) {
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
		if err := p.decider.CheckAddr(t.host, t.port, a); err != nil {
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

// bound returns a context that ends with ctx, after dialTimeout, or when the
// proxy is closed: a dial for a pooled connection outlives its request.
func (p *Proxy) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	stop := p.onClose(cancel)
	return ctx, func() { stop(); cancel() }
}

// dialChecked dials addr, which parseTarget accepted before, at an address
// that was checked.
func (p *Proxy) dialChecked(ctx context.Context, _, addr string) (net.Conn, error) {
	t, err := parseTarget(addr, 0)
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

// dialFirst dials addrs in their order, each a little later than the one
// before or as soon as that one failed, and returns the first connection. All
// others are closed, and their goroutines have ended, when it returns.
func dialFirst(ctx context.Context, t target, addrs []netip.Addr) (net.Conn, error) {
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
		won    net.Conn
		failed []error
		begun  int
		ended  int
	)
	begin := func() {
		a := addrs[begun]
		begun++
		go func() {
			c, err := dialer.DialContext(ctx, "tcp", t.dialAddr(a))
			results <- result{c, err}
		}()
	}
	begin()
	timer := time.NewTimer(fallbackDelay)
	defer timer.Stop()
	for ended < begun {
		select {
		case <-timer.C:
			if won == nil && begun < len(addrs) {
				begin()
				timer.Reset(fallbackDelay)
			}
		case r := <-results:
			ended++
			switch {
			case r.err != nil:
				failed = append(failed, r.err)
				if won == nil && begun < len(addrs) && ctx.Err() == nil {
					begin()
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
