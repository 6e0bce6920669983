package chromium

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/egress"
	"github.com/chrome-mcp/chrome-mcp/internal/launch"
)

// A RemoteEgress is the address at which browsers on other machines reach the egress proxies of
// Backends. Each browser has a proxy with its own credentials, until the browser ends. The address
// is open while a proxy uses it. A request without the credentials of a proxy gets 407, and connects
// to nothing. Credentials and requests are not encrypted between browser and proxy, except in
// tunnels of https and wss. It is safe for concurrent use.
type RemoteEgress struct {
	address string

	mu      sync.Mutex // guards the fields below
	port    *egress.Port
	proxies int // that use port
}

// NewRemoteEgress returns a RemoteEgress for an address of this machine with a port, such as
// 10.0.0.5:3129. Port 0 selects a free port whenever the address is opened. NewRemoteEgress opens
// nothing. It returns ErrBadArgs for an address that browsers cannot connect to, such as 0.0.0.0.
func NewRemoteEgress(address string) (*RemoteEgress, error) {
	host, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	addr, ipErr := netip.ParseAddr(host)
	if err != nil || host == "" || port == "" || ipErr == nil && addr.Unmap().IsUnspecified() {
		return nil, executor.Errorf(executor.ErrBadArgs, "Set the address at which browsers reach this machine, such as 10.0.0.5:3129.",
			"egress address %q is not a host and port to connect to", address)
	}
	return &RemoteEgress{address: address}, nil
}

// open returns the port, which it opens if necessary. The caller must call release after it has
// closed its proxy.
func (e *RemoteEgress) open(opts Options) (*egress.Port, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.port == nil {
		port, err := egress.Listen(e.address, maxContexts*egress.DefaultMaxConns, opts.Logger)
		if err != nil {
			if op, ok := errors.AsType[*net.OpError](err); ok {
				err = op.Err
			}
			return nil, executor.Errorf(executor.ErrLaunchFailed, "The user can correct the egress address.", "egress address %s: %w", e.address, err)
		}
		e.port = port
	}
	e.proxies++
	return e.port, nil
}

// release closes the port if no other proxy uses it.
func (e *RemoteEgress) release() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.proxies--; e.proxies > 0 {
		return nil
	}
	port := e.port
	e.port = nil
	return port.Close()
}

// openRemoteEgress starts the proxy of a browser of browserless, and returns the arguments with which
// the browser uses it.
func (in *instance) openRemoteEgress(opts Options) ([]string, error) {
	port, err := opts.RemoteEgress.open(opts)
	if err != nil {
		return nil, err
	}
	in.remoteEgress = opts.RemoteEgress
	if in.proxy, err = startProxy(port, opts); err != nil {
		return nil, err
	}
	args, err := launch.ProxyArguments(in.proxy.Addr())
	if err != nil {
		return nil, fmt.Errorf("egress address: %w", err)
	}
	return append(args, "--disable-features="+strings.Join(launch.ProxyFeatures, ",")), nil
}
