package cli

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// addCertificateHost adds the server HOST or HOST:PORT to servers, as host:port. Each server is named
// separately, and spelled as in the URLs of the browser, so that none is accepted by mistake.
func addCertificateHost(servers []string, s string) ([]string, error) {
	from, _, dash := strings.Cut(s, "-")
	_, notAddress := netip.ParseAddr(from)
	switch {
	case strings.Contains(s, "*"):
		return nil, fmt.Errorf("%q is a pattern; name each host", s)
	case strings.Contains(s, "://"):
		return nil, fmt.Errorf("%q is a URL; write HOST or HOST:PORT", s)
	case strings.Contains(s, "/") || dash && notAddress == nil:
		return nil, fmt.Errorf("%q is a range of addresses; name each host", s)
	}
	host := strings.TrimSuffix(s, ":443")
	u, err := policy.ParseURL("https://" + host)
	if e, ok := errors.AsType[*executor.Error](err); ok {
		text := strings.TrimPrefix(e.Message(), "url ")
		return nil, fmt.Errorf("%q is not HOST or HOST:PORT: %s", s, strings.TrimPrefix(text, "is malformed: "))
	}
	server := u.Host() + ":" + strconv.Itoa(u.Port())
	if host != u.Host() && host != server {
		return nil, fmt.Errorf("%q is not HOST or HOST:PORT", s)
	}
	if slices.Contains(servers, server) {
		return servers, nil
	}
	return append(servers, server), nil
}
