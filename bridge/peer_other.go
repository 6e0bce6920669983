//go:build !linux

package bridge

import "net/netip"

// otherUsers returns false: the owner of a connection is unknown on this system.
func otherUsers(netip.AddrPort, netip.AddrPort) bool { return false }
