package policy

import (
	"net/netip"
	"slices"
	"strings"
)

// CheckHost decides whether a page's request may go to host and port, before
// its name is resolved. scheme is "http" or "https", or empty when it is not
// known: ws, wss and https all reach a proxy as a tunnel. Blocks that have a
// path are for CheckPath. What CheckURL allows, CheckHost allows.
func (p *Policy) CheckHost(scheme, host string, port int) error {
	if p.deniesAll() {
		return deniedEmpty()
	}
	s, err := networkSite(scheme, host, port)
	if err != nil {
		return err
	}
	if err := p.blocked(s, false); err != nil {
		return err
	}
	if !p.listed(s) && !p.loadable(s) {
		return deniedUnlisted(s, false)
	}
	return p.literal(s)
}

// CheckPath checks the path of a request that CheckHost allowed. path is as sent,
// without the query.
func (p *Policy) CheckPath(scheme, host string, port int, path string) error {
	if p.deniesAll() {
		return deniedEmpty()
	}
	s, err := networkSite(scheme, host, port)
	if err != nil {
		return err
	}
	s.path = path
	return p.blocked(s, true)
}

// loadable reports whether pages may load from s although it is not in the
// allow list.
func (p *Policy) loadable(s site) bool {
	switch p.subresources {
	case SubresourcesPublic:
		return !s.loopback() && (!s.addr.IsValid() || IsPublic(s.addr))
	case SubresourcesList:
		return slices.ContainsFunc(p.load, func(l Pattern) bool { return l.allows(s) })
	}
	return false
}

// CheckAddr decides whether a connection for host and port, which CheckHost
// has allowed, may be made to addr. It must be asked about the very address
// that is dialed.
//
// A public address is fine. A loopback one is for a loopback host that an
// allow pattern names. Any other private or special one, and for a loopback
// host that none names, needs AllowPrivate, and host in the allow list: a name
// in a pattern alone never opens one, since its owner can point it anywhere.
func (p *Policy) CheckAddr(host string, port int, addr netip.Addr) error {
	if p.deniesAll() {
		return deniedEmpty()
	}
	s, err := networkSite("", host, port)
	if err != nil {
		return err
	}
	addr = addr.Unmap()
	if !addr.IsValid() || (s.addr.IsValid() && s.addr != addr) {
		return deny(ruleMismatch, "", "host %q is not at that address", s.host)
	}
	if isMetadata(addr) {
		return deniedBuiltin(s.host, "at the address of a cloud metadata service")
	}
	if addr.IsLoopback() && p.owns(s.port) {
		return deniedOwnPort(s.port)
	}
	for _, b := range p.block {
		if b.addr == addr {
			return deniedBlocked(s.host, b)
		}
	}
	loadNamed := p.subresources == SubresourcesList && p.loadable(s)
	switch {
	case isLoopbackName(s.host) && !addr.IsLoopback():
		return deny(ruleMismatch, "", "host %q is not at a loopback address", s.host)
	case IsPublic(addr):
		return nil
	case addr.IsLoopback() && s.loopback() && (p.named(s) || loadNamed):
		return nil
	case p.opens(addr) && (p.listed(s) || loadNamed):
		return nil
	}
	return deniedPrivate(s)
}

// networkSite makes a site of what a proxy was asked for. An IPv6 host may
// come without its brackets.
func networkSite(scheme, host string, port int) (site, error) {
	if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
		host = "[" + host + "]"
	}
	s := site{scheme: scheme, host: host, port: uint16(port)}
	if port < 1 || port > 65535 {
		return s, deny(ruleUnreadable, "", "port %d is not a port", port)
	}
	if scheme != "" && scheme != "http" && scheme != "https" {
		return s, deny(ruleScheme, "", "the scheme is neither http nor https")
	}
	var err error
	if s.addr, err = parseHost(host); err != nil {
		return s, deniedUnreadable()
	}
	return s, nil
}
