package bridge

import (
	"net"
	"net/netip"
	"strconv"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// maxOpen is the maximum number of open connections that are not authenticated.
// It applies before their first byte is read.
const maxOpen = 64

// listen returns a listener on loopback for Options.Port.
func listen(port int) (net.Listener, error) {
	switch port {
	case AnyPort:
		return listenOn(0)
	case 0:
		for p := wire.FirstPort; p <= wire.LastPort; p++ {
			if l, err := listenOn(p); err == nil {
				return l, nil
			}
		}
		return listenOn(0)
	}
	return listenOn(port)
}

func listenOn(port int) (net.Listener, error) {
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, errs.Errorf(errs.ErrNoBackend, "Omit the port or choose another one.",
			"the bridge cannot listen on port %d: %w", port, err)
	}
	if addr, ok := l.Addr().(*net.TCPAddr); !ok || !addr.IP.IsLoopback() {
		l.Close()
		return nil, errs.Errorf(errs.ErrInternal, "", "the bridge is bound to %v, which is not loopback", l.Addr())
	}
	return l, nil
}

// A boundedListener limits connections that are not authenticated, and
// immediately closes connections of other users of the machine.
type boundedListener struct {
	net.Listener
	slots *slots
}

func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if otherUsers(addrPort(conn.LocalAddr()), addrPort(conn.RemoteAddr())) {
			conn.Close()
			continue
		}
		c := &boundedConn{conn, l.slots}
		l.slots.take(c)
		return c, nil
	}
}

func addrPort(a net.Addr) netip.AddrPort {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.AddrPort()
	}
	return netip.AddrPort{}
}

type boundedConn struct {
	net.Conn
	slots *slots
}

// proved frees the slot of c after authentication.
func (c *boundedConn) proved() { c.slots.free(c) }

func (c *boundedConn) Close() error {
	c.slots.free(c)
	return c.Conn.Close()
}
