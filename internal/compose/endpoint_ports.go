package compose

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/internal/cli"
)

// endpointPorts are the ports of this machine at which sessions control browsers that we did not
// launch. A debugging port lists the tabs of all clients of its browser, and closes them, so pages of
// other sessions must not reach it either. It is safe for concurrent use. The zero value is empty.
type endpointPorts struct {
	mu    sync.Mutex // guards ports
	ports map[int]bool
}

// add adds the ports in the settings of a session. They remain until the process exits.
func (e *endpointPorts) add(s *cli.Settings) {
	addresses := []string{s.CDPEndpoint}
	for _, b := range s.Browsers {
		addresses = append(addresses, append(b.URLs, b.URL)...)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, address := range addresses {
		u, err := url.Parse(address)
		if err != nil || !isLoopback(u.Hostname()) {
			continue
		}
		if port, err := strconv.Atoi(u.Port()); err == nil {
			if e.ports == nil {
				e.ports = make(map[int]bool)
			}
			e.ports[port] = true
		}
	}
}

// list returns the ports.
func (e *endpointPorts) list() (ports []int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for port := range e.ports {
		ports = append(ports, port)
	}
	return ports
}

// isLoopback reports whether a host of a URL is a loopback name or address.
func isLoopback(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.Unmap().IsLoopback()
}
