package policy

import (
	"net/netip"
	"slices"
	"strings"
)

// CheckHost decides whether a page may send a request to host and port, before the name is
// resolved. scheme is "http" or "https", or empty if it is unknown: ws, wss and https all reach a
// proxy as a tunnel. CheckPath checks the patterns of the block list that have a path. CheckHost
// allows the hosts of all URLs that CheckURL allows.
func (p *Policy) CheckHost(scheme, host string, port int) error {
	if p.allowsNoSite() {
		return deniedEmpty()
	}
	s, err := networkSite(scheme, host, port)
	if err != nil {
		return err
	}
	if err := p.checkBlocked(s, false); err != nil {
		return err
	}
	if !p.listed(s) && !p.allowsSubresource(s) {
		return deniedUnlisted(s, false)
	}
	return p.checkIPLiteral(s)
}

// CheckPath checks the path of a request that CheckHost allowed. path is as sent, without the
// query.
func (p *Policy) CheckPath(scheme, host string, port int, path string) error {
	if p.allowsNoSite() {
		return deniedEmpty()
	}
	s, err := networkSite(scheme, host, port)
	if err != nil {
		return err
	}
	s.path = path
	return p.checkBlocked(s, true)
}

// checkRequest decides whether a page may send a request for url, which is as the browser serializes it.
func (p *Policy) checkRequest(url string) error {
	if !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") {
		return nil // not sent
	}
	s, err := parseDocument(url)
	if err != nil {
		return err
	}
	if err := p.CheckHost(s.scheme, s.host, int(s.port)); err != nil {
		return err
	}
	return p.CheckPath(s.scheme, s.host, int(s.port), s.path)
}

// allowsSubresource reports whether pages may load from s even if it is not in the allow list.
func (p *Policy) allowsSubresource(s site) bool {
	switch p.subresources {
	case SubresourcesPublic:
		return !s.loopback() && (!s.addr.IsValid() || IsPublic(s.addr))
	case SubresourcesList:
		return slices.ContainsFunc(p.load, func(l Pattern) bool { return l.allows(s) })
	}
	return false
}

// CheckAddr decides whether a connection for host and port, which CheckHost allowed, may be made to
// addr. The caller must pass the address that it dials.
//
// Public addresses are allowed. A loopback address is allowed for a loopback host that a pattern of
// the allow list names. Every other private or special address needs AllowPrivate, and host in the
// allow list: a name in a pattern is not sufficient, because the owner of the name can point it to
// any address.
func (p *Policy) CheckAddr(host string, port int, addr netip.Addr) error {
	if p.allowsNoSite() {
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
	if p.own.addresses.contains(addr) && p.owns(s.port) {
		return deniedOwnPort(s.port)
	}
	for _, b := range p.block {
		if b.addr == addr {
			return deniedBlocked(s.host, b)
		}
	}
	loadNamed := p.subresources == SubresourcesList && p.allowsSubresource(s)
	switch {
	case isLoopbackName(s.host) && !addr.IsLoopback():
		return deny(ruleMismatch, "", "host %q is not at a loopback address", s.host)
	case IsPublic(addr):
		return nil
	case addr.IsLoopback() && s.loopback() && (p.named(s) || loadNamed):
		return nil
	case p.allowsPrivate(addr) && (p.listed(s) || loadNamed):
		return nil
	}
	return deniedPrivate(s)
}

// networkSite returns the site of a request that a proxy received. An IPv6 host may be without
// brackets.
func networkSite(scheme, host string, port int) (site, error) {
	if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
		host = "[" + host + "]"
	}
	s := site{scheme: scheme, host: host, port: uint16(port)}
	if port < 1 || port > 65535 {
		return s, deny(ruleAmbiguousHost, "", "port %d is not a port", port)
	}
	if scheme != "" && scheme != "http" && scheme != "https" {
		return s, deny(ruleScheme, "", "the scheme is neither http nor https")
	}
	var err error
	if s.addr, err = parseHost(host); err != nil {
		return s, ambiguousHostError()
	}
	return s, nil
}
