package egress

import (
	"crypto/rand"
	"net/url"
)

// NewPrivate is like [New] for a proxy that serves only this program and its browser. The proxy
// requires new random credentials and uses upstream, which [ParseUpstream] parses. If the policy
// has a method AddOwnPort(port int), NewPrivate calls it, so that pages cannot connect to the
// proxy. If port is not nil, the proxy shares it.
func NewPrivate(port *Port, opts Options, upstream string) (*Proxy, error) {
	var err error
	if opts.Upstream, err = ParseUpstream(upstream); err != nil {
		return nil, err
	}
	opts.Credentials = url.UserPassword("chrome-mcp", rand.Text())
	create := New
	if port != nil {
		create = port.New
	}
	p, err := create(opts)
	if err != nil {
		return nil, err
	}
	if own, ok := opts.Policy.(interface{ AddOwnPort(port int) }); ok {
		own.AddOwnPort(p.Port())
	}
	return p, nil
}

// Client returns the URL of the proxy for a client. It contains the credentials, so do not log it.
func (p *Proxy) Client() *url.URL {
	return &url.URL{Scheme: "http", Host: p.Addr(), User: p.credentials}
}
