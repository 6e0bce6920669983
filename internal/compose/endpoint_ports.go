package compose

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// endpointPorts are the ports of this machine at which sessions control browsers that we did not
// launch. A debugging port lists the tabs of all clients of its browser, and closes them, so pages of
// other sessions must not reach it either. It is safe for concurrent use. The zero value is empty.
type endpointPorts struct {
	mu    sync.Mutex // guards ports
	ports map[int]bool
}

// DenyOwnPorts makes rules deny pages the ports of all processes of this program with the data
// directory, and those at which the settings control browsers.
func DenyOwnPorts(rules *policy.Policy, s *cli.Settings) { new(endpointPorts).deny(rules, s) }

// deny adds the ports in the settings of a session, and makes its rules deny all of them, those that
// are added later, and those of DenyOwnPorts.
func (e *endpointPorts) deny(rules *policy.Policy, s *cli.Settings) {
	e.add(s)
	rules.AddOwnPorts(ownPorts(s.Data))
	rules.AddOwnPorts(e.list)
}

// add adds the ports in the settings of a session, and that of a running browser that they name. They
// remain until the process exits.
func (e *endpointPorts) add(s *cli.Settings) {
	addresses := []string{s.CDPEndpoint}
	for _, b := range s.Browsers {
		addresses = append(addresses, append(b.URLs, b.URL)...)
	}
	for _, address := range addresses {
		u, err := url.Parse(address)
		if chromium.IsRunningName(address) {
			u, err = chromium.FindRunning(address) // one that starts later is added when a session attaches
		}
		if err != nil || !isLoopback(u.Hostname()) {
			continue
		}
		if port, err := strconv.Atoi(u.Port()); err == nil {
			e.addPort(port)
		}
	}
}

// addPort adds a port.
func (e *endpointPorts) addPort(port int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ports == nil {
		e.ports = make(map[int]bool)
	}
	e.ports[port] = true
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

// A sessionNetwork is the policy of a session for connections of its browsers. It denies the pages of
// all sessions the debugging ports of the browsers to which the session attaches.
type sessionNetwork struct {
	*policy.Network
	endpoints *endpointPorts
}

// AddDebuggingPort is called by package chromium; see chromium.NetworkPolicy.
func (n sessionNetwork) AddDebuggingPort(port int) { n.endpoints.addPort(port) }

// isLoopback reports whether a host of a URL is a loopback name or address.
func isLoopback(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.Unmap().IsLoopback()
}
