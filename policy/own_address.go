package policy

import (
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// ownAddressesAge is how long a list of the machine's addresses is used, because a page can cause many
// checks.
const ownAddressesAge = time.Second

// ownAddresses are the addresses of this machine. The zero value is ready to use.
type ownAddresses struct {
	interfaces func() ([]net.Addr, error) // nil means net.InterfaceAddrs

	mu     sync.Mutex // guards the fields below
	list   []netip.Addr
	listed time.Time
}

// contains reports whether a connection to addr reaches this machine. It also returns true if that is
// unknown.
func (o *ownAddresses) contains(addr netip.Addr) bool {
	if addr.IsLoopback() || addr.IsUnspecified() { // Linux connects to loopback for 0.0.0.0
		return true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.listed.IsZero() || time.Since(o.listed) >= ownAddressesAge {
		interfaces := o.interfaces
		if interfaces == nil {
			interfaces = net.InterfaceAddrs
		}
		all, err := interfaces()
		if err != nil {
			return true
		}
		o.list, o.listed = o.list[:0], time.Now()
		for _, a := range all {
			if n, ok := a.(*net.IPNet); ok {
				if own, ok := netip.AddrFromSlice(n.IP); ok {
					o.list = append(o.list, own.Unmap())
				}
			}
		}
	}
	return slices.Contains(o.list, addr.Unmap().WithZone(""))
}
