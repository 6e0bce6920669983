package policy

import (
	"errors"
	"net/netip"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// maxHost is the maximum length of a DNS name, in bytes.
const maxHost = 253

// A site is the location of a request or document that the policy checks.
type site struct {
	scheme string     // "http" or "https"; empty if unknown, as for a tunnel
	host   string     // as Chromium serializes it: lower case, IPv6 in brackets
	addr   netip.Addr // valid only if the host is an address
	port   uint16
	path   string // with its leading slash; empty if unknown
}

func (s site) loopback() bool {
	return s.addr.IsLoopback() || isLoopbackName(s.host)
}

// pattern returns the narrowest pattern that allows s, for hints, or "" if no pattern does.
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

// isLoopbackName reports whether host is a loopback name by RFC 6761, regardless of DNS.
func isLoopbackName(host string) bool {
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// parseHost accepts a host only as Chromium serializes it, so that the checked host is the host
// that is reached. addr is valid if the host is an address: a dotted quad or an IPv6 address in
// brackets.
//
// The errors do not contain the host, which is untrusted.
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
		// Chromium parses such a host as an IPv4 address in many notations: 127.1, 0x7f000001,
		// 017700000001. Only the canonical one is accepted.
		addr, err = netip.ParseAddr(host)
		if err != nil || !addr.Is4() || addr.String() != host {
			return netip.Addr{}, errors.New("the host is not a canonical IPv4 address")
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
		return netip.Addr{}, errors.New("the brackets do not contain an IPv6 address")
	case addr.Is4In6():
		return netip.Addr{}, errors.New("the host is an IPv4 address written as IPv6")
	case addr.String() != inner:
		return netip.Addr{}, errors.New("the host is not a canonical IPv6 address")
	}
	return addr, nil
}

// endsInNumber is the "ends in a number" check of the URL Standard. label is the last label of a
// host.
func endsInNumber(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// reservedTLDs are the top-level domains that no registry delegates. Names below them belong to the
// operator of the local network, so wildcards are allowed.
var reservedTLDs = map[string]bool{
	"localhost": true, "test": true, "example": true, "invalid": true, // RFC 6761
	"local": true, "internal": true,
}

// isPublicSuffix reports whether names directly below host belong to different owners. An unknown
// top-level domain counts as a public suffix for a wildcard, but not without one: it is the short
// name of a machine.
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
