package egress

import (
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// A hostPort is the host and port of a request.
type hostPort struct {
	host string     // lower case; an IPv6 address in brackets
	addr netip.Addr // valid if the host is an address
	port int
}

// String returns host:port.
func (h hostPort) String() string { return h.host + ":" + strconv.Itoa(h.port) }

// parseHostPort accepts host:port only as a browser serializes it, so that the checked host is the
// host that is reached. If defaultPort is 0, s must contain a port.
func parseHostPort(s string, defaultPort int) (hostPort, error) {
	t := hostPort{host: s, port: defaultPort}
	if i := strings.LastIndexByte(s, ':'); i >= 0 && !strings.HasSuffix(s, "]") {
		n, err := strconv.ParseUint(s[i+1:], 10, 16)
		if err != nil || n == 0 || strconv.FormatUint(n, 10) != s[i+1:] {
			return t, errors.New("malformed port")
		}
		t.host, t.port = s[:i], int(n)
	}
	if t.port == 0 {
		return t, errors.New("no port")
	}
	if inner, ok := strings.CutPrefix(t.host, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		a, err := netip.ParseAddr(inner)
		if !ok || err != nil || !a.Is6() || a.Is4In6() || a.Zone() != "" || a.String() != inner {
			return t, errors.New("malformed IPv6 address")
		}
		t.addr = a
		return t, nil
	}
	return t, t.parseName()
}

func (h *hostPort) parseName() error {
	if h.host == "" || len(h.host) > 253 {
		return errors.New("malformed host")
	}
	if strings.Trim(h.host, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" {
		return errors.New("malformed host")
	}
	if h.host[0] == '.' || strings.HasSuffix(h.host, ".") || strings.Contains(h.host, "..") {
		return errors.New("malformed host")
	}
	last := h.host[strings.LastIndexByte(h.host, '.')+1:]
	if last[0] >= '0' && last[0] <= '9' {
		// No top-level domain begins with a digit, and resolvers parse such names as addresses in
		// many notations. Only the canonical one is accepted.
		a, err := netip.ParseAddr(h.host)
		if err != nil || !a.Is4() || a.String() != h.host {
			return errors.New("malformed IPv4 address")
		}
		h.addr = a
	}
	return nil
}

// loopbackName reports whether the host is a loopback name by RFC 6761.
func (h hostPort) loopbackName() bool {
	return h.host == "localhost" || strings.HasSuffix(h.host, ".localhost")
}

// dialAddr returns the address to dial: a at the port of t.
func (h hostPort) dialAddr(a netip.Addr) string {
	return net.JoinHostPort(a.String(), strconv.Itoa(h.port))
}
