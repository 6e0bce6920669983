package policy

import (
	"errors"
	"net/netip"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// maxHost is the longest name that DNS can carry, in bytes.
const maxHost = 253

// A site is where a request or a document is: what decisions are made on.
type site struct {
	scheme string     // "http" or "https"; empty when not known, as for a tunnel
	host   string     // as Chromium serialises it: lower case, IPv6 in brackets
	addr   netip.Addr // of a host that is an address, else invalid
	port   uint16
	path   string // with its leading slash; empty when not known
}

func (s site) loopback() bool {
	return s.addr.IsLoopback() || isLoopbackName(s.host)
}

// pattern returns the narrowest pattern that allows s, for hints: empty when
// none can be written.
func (s site) pattern() string {
	p := s.host
	switch {
	case s.loopback():
		p += portSuffix("", s.port)
	case s.scheme == "http":
		p = "http://" + p + portSuffix("http", s.port)
	default:
		p += portSuffix("https", s.port)
	}
	if _, err := ParsePattern(p); err != nil {
		return ""
	}
	return p
}

// isLoopbackName reports whether host is a name that means this machine by
// RFC 6761, whatever DNS says of it.
func isLoopbackName(host string) bool {
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// parseHost accepts a host only in the one form in which Chromium would
// serialise it, so that what is decided on is what is reached. addr is valid
// for an address, which is a dotted quad or an IPv6 address in brackets.
//
// The errors do not repeat the host: it may be anything.
func parseHost(host string) (addr netip.Addr, err error) {
	switch {
	case host == "":
		return addr, errors.New("the host is missing")
	case host[0] == '[':
		return parseIPv6(host)
	case len(host) > maxHost:
		return addr, errors.New("the host is too long")
	}
	for i := range len(host) {
		switch c := host[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '.', c == '_':
		case 'A' <= c && c <= 'Z':
			return addr, errors.New("the host has upper-case letters")
		case c >= 0x80:
			return addr, errors.New("the host has non-ASCII characters")
		case c == ':':
			return addr, errors.New("an IPv6 address needs brackets")
		default:
			return addr, errors.New("the host has a character that host names do not have")
		}
	}
	labels := strings.Split(host, ".")
	encoded := false
	for i, l := range labels {
		switch {
		case l == "" && i == len(labels)-1:
			return addr, errors.New("the host ends in a dot")
		case l == "":
			return addr, errors.New("the host has an empty label")
		case len(l) > 63:
			return addr, errors.New("the host has a label of more than 63 characters")
		}
		encoded = encoded || strings.HasPrefix(l, "xn--")
	}
	if endsInNumber(labels[len(labels)-1]) {
		// Chromium takes such a host for an IPv4 address in any of a dozen
		// notations: 127.1, 0x7f000001, 017700000001. Only one is accepted.
		addr, err = netip.ParseAddr(host)
		if err != nil || !addr.Is4() || addr.String() != host {
			return netip.Addr{}, errors.New("the host is an unusual way to write an IPv4 address")
		}
		return addr, nil
	}
	if encoded {
		u, err := idna.Lookup.ToUnicode(host)
		if err != nil {
			return addr, errors.New("the host is not valid punycode")
		}
		if a, err := idna.Lookup.ToASCII(u); err != nil || a != host {
			return addr, errors.New("the host is not valid punycode")
		}
	}
	return netip.Addr{}, nil
}

func parseIPv6(host string) (netip.Addr, error) {
	inner, ok := strings.CutSuffix(host[1:], "]")
	if !ok {
		return netip.Addr{}, errors.New("a bracket is not closed")
	}
	addr, err := netip.ParseAddr(inner)
	switch {
	case err != nil || !addr.Is6() || addr.Zone() != "":
		return netip.Addr{}, errors.New("the brackets do not hold an IPv6 address")
	case addr.Is4In6():
		return netip.Addr{}, errors.New("the host is an IPv4 address written as IPv6")
	case addr.String() != inner:
		return netip.Addr{}, errors.New("the host is an unusual way to write an IPv6 address")
	}
	return addr, nil
}

// endsInNumber is the "ends in a number" check of the URL standard, on the
// last label of a host.
func endsInNumber(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// reservedTLDs are the top-level names that no registry will ever hand out,
// so that a wildcard below them belongs to whoever runs the local network.
var reservedTLDs = map[string]bool{
	"localhost": true, "test": true, "example": true, "invalid": true, // RFC 6761
	"local": true, "internal": true,
}

// isPublicSuffix reports whether names directly below host belong to
// different owners. A top-level name that the list does not know counts as one
// for a wildcard, but may be named itself: it is some machine's short name.
func isPublicSuffix(host string, wildcard bool) bool {
	suffix, icann := publicsuffix.PublicSuffix(host)
	switch {
	case suffix != host:
		return false
	case icann || strings.Contains(host, "."):
		return true
	}
	return wildcard && !reservedTLDs[host]
}
