package bridge

import (
	"errors"
	"net"
	"strconv"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// maxOpen is how many connections may be open at one time, before the first
// byte of them is read.
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
		return nil, executor.Errorf(executor.ErrNoBackend, "Leave the port out, or choose another one.",
			"the bridge cannot listen on port %d: %w", port, err)
	}
	if addr, ok := l.Addr().(*net.TCPAddr); !ok || !addr.IP.IsLoopback() {
		l.Close()
		return nil, executor.Errorf(executor.ErrInternal, "", "the bridge is bound to %v, which is not loopback", l.Addr())
	}
	return l, nil
}

// A boundedListener closes at once what is dialed while all its slots are
// taken.
type boundedListener struct {
	net.Listener
	slots chan struct{}
}

func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.slots <- struct{}{}:
			return &boundedConn{Conn: conn, free: sync.OnceFunc(func() { <-l.slots })}, nil
		default:
			conn.Close()
		}
	}
}

type boundedConn struct {
	net.Conn
	free func()
}

func (c *boundedConn) Close() error {
	c.free()
	return c.Conn.Close()
}

// errTooMany is of a connection that found no slot.
var errTooMany = errors.New("too many connections are in their handshake")
