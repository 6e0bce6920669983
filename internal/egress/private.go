package egress

import (
	"crypto/rand"
	"net/url"
)

// NewPrivate is [New] for a proxy that serves only this program and its browser.
// The proxy requires new random credentials and uses upstream, as [ParseUpstream]
// parses it. If the Decider has a method AddOwnPort(port int), NewPrivate calls it
// to close the port of the proxy to pages.
func NewPrivate(opts Options, upstream string) (*Proxy, error) {
	var err error
	if opts.Upstream, err = ParseUpstream(upstream); err != nil {
		return nil, err
	}
	opts.Credentials = url.UserPassword("chrome-mcp", rand.Text())
	p, err := New(opts)
	if err != nil {
		return nil, err
	}
	if own, ok := opts.Decider.(interface{ AddOwnPort(port int) }); ok {
		own.AddOwnPort(p.Port())
	}
	return p, nil
}

// Client returns the URL of the proxy for a client. It contains the credentials:
// do not log it.
func (p *Proxy) Client() *url.URL {
	return &url.URL{Scheme: "http", Host: p.Addr(), User: p.credentials}
}
