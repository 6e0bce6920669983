package egress

import (
	"net"
	"sync"
)

// limited is a TCP listener that accepts only as many connections at a time
// as it has slots. Unlike netutil.LimitListener it hands out connections that
// can still be closed in one direction.
type limited struct {
	*net.TCPListener
	slots     chan struct{}
	closed    chan struct{}
	closeOnce sync.Once
}

func newLimited(l net.Listener, n int) *limited {
	return &limited{TCPListener: l.(*net.TCPListener), slots: make(chan struct{}, n), closed: make(chan struct{})}
}

func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.AcceptTCP()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &clientConn{TCPConn: c, release: sync.OnceFunc(func() { <-l.slots })}, nil
}

func (l *limited) Close() error {
	l.closeOnce.Do(func() { close(l.closed) })
	return l.TCPListener.Close()
}

// clientConn gives its slot back when it is closed.
type clientConn struct {
	*net.TCPConn
	release func()
}

func (c *clientConn) Close() error {
	defer c.release()
	return c.TCPConn.Close()
}
