package policy

import (
	"errors"
	"fmt"
	"net/netip"
)

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

// special lists the ranges that are not public, by the IANA special-purpose registries. IPv6
// addresses outside globalUnicast are also special.
var (
	special = prefixes(
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
		"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",
		"198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
		"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
	)
	specialIPv6 = prefixes("::/8", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "5f00::/16", "fc00::/7",
		"fe80::/10", "ff00::/8")
	globalUnicast = netip.MustParsePrefix("2000::/3")
	nat64         = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour     = netip.MustParsePrefix("2002::/16")
)

// metadata lists the addresses at which clouds serve credentials to any client. No setting allows
// them.
var metadata = map[netip.Addr]bool{
	netip.MustParseAddr("169.254.169.254"): true, // AWS, Azure, Google and others
	netip.MustParseAddr("169.254.170.2"):   true, // AWS containers
	netip.MustParseAddr("169.254.170.23"):  true, // AWS pod identities
	netip.MustParseAddr("fd00:ec2::23"):    true,
	netip.MustParseAddr("fd00:ec2::254"):   true, // AWS
	netip.MustParseAddr("fd20:ce::254"):    true, // Google
	netip.MustParseAddr("100.100.100.200"): true, // Alibaba
	netip.MustParseAddr("192.0.0.192"):     true, // Oracle
	netip.MustParseAddr("168.63.129.16"):   true, // Azure; a public address
}

// IsPublic reports whether addr is a public unicast address. An IPv4-mapped IPv6 address counts as
// the IPv4 address.
func IsPublic(addr netip.Addr) bool {
	addr = addr.Unmap()
	if !addr.IsValid() || addr.Zone() != "" || metadata[addr] {
		return false
	}
	if addr.Is6() && !globalUnicast.Contains(addr) {
		return false
	}
	return !within(special, addr)
}

func within(list []netip.Prefix, addr netip.Addr) bool {
	for _, p := range list {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// isMetadata reports whether addr is a metadata address, even if it is embedded in an IPv6 address
// (IPv4-mapped, NAT64 or 6to4).
func isMetadata(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	if metadata[addr] {
		return true
	}
	b := addr.As16()
	switch {
	case nat64.Contains(addr):
		return metadata[netip.AddrFrom4([4]byte(b[12:16]))]
	case sixToFour.Contains(addr):
		return metadata[netip.AddrFrom4([4]byte(b[2:6]))]
	}
	return false
}

// parsePrivate parses one entry of allow_private: a range in canonical form that contains no public
// address.
func parsePrivate(s string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(s)
	switch {
	case err != nil:
		return p, errors.New("is not a CIDR such as 10.1.0.0/16")
	case p.Addr().Is4In6():
		return p, errors.New("is an IPv4 range written as IPv6")
	case p != p.Masked():
		return p, fmt.Errorf("has bits set past its length; write %s", p.Masked())
	}
	for _, list := range [][]netip.Prefix{special, specialIPv6} {
		for _, r := range list {
			if r.Bits() <= p.Bits() && r.Contains(p.Addr()) {
				return p, nil
			}
		}
	}
	return p, errors.New("is not a private range; public addresses need no permission")
}
