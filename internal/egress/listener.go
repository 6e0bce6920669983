package egress

import (
	"context"
	"net"
	"sync"
)

// limited is a TCP listener with a limited number of slots, one for each open
// connection. When all slots are taken, a new connection closes one that has not
// sent a request with the credentials yet. Otherwise any process that can connect
// could block the browser. Unlike netutil.LimitListener, limited returns
// connections that can still be closed in one direction.
type limited struct {
	*net.TCPListener
	slots     chan struct{}
	closed    chan struct{}
	closeOnce sync.Once

	mu       sync.Mutex // guards unproved
	unproved map[*clientConn]struct{}
}

func newLimited(l net.Listener, n int) *limited {
	return &limited{
		TCPListener: l.(*net.TCPListener), slots: make(chan struct{}, n), closed: make(chan struct{}),
		unproved: map[*clientConn]struct{}{},
	}
}

func (l *limited) Accept() (net.Conn, error) {
	tcp, err := l.AcceptTCP()
	if err != nil {
		return nil, err
	}
	select {
	case l.slots <- struct{}{}:
	default:
		l.evict()
		select {
		case l.slots <- struct{}{}:
		case <-l.closed:
			_ = tcp.Close()
			return nil, net.ErrClosed
		}
	}
	c := &clientConn{TCPConn: tcp, listener: l, release: sync.OnceFunc(func() { <-l.slots })}
	l.mu.Lock()
	l.unproved[c] = struct{}{}
	l.mu.Unlock()
	return c, nil
}

// evict closes a connection that has not sent the credentials, if there is one.
// The iteration order of a map is random, so no process can predict the choice.
func (l *limited) evict() {
	l.mu.Lock()
	var old *clientConn
	for old = range l.unproved {
		break
	}
	l.mu.Unlock()
	if old != nil {
		_ = old.Close()
	}
}

func (l *limited) Close() error {
	l.closeOnce.Do(func() { close(l.closed) })
	return l.TCPListener.Close()
}

// A clientConn releases its slot when it is closed.
type clientConn struct {
	*net.TCPConn
	listener *limited
	release  func()
}

// proved marks c as authenticated, so that evict does not close it.
func (c *clientConn) proved() {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	delete(c.listener.unproved, c)
}

func (c *clientConn) Close() error {
	c.proved()
	defer c.release()
	return c.TCPConn.Close()
}

// connKey is the context key of the clientConn of a request.
type connKey struct{}

func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// proved marks the connection with context ctx: it sent a request with the
// credentials.
func proved(ctx context.Context) {
	if c, ok := ctx.Value(connKey{}).(*clientConn); ok {
		c.proved()
	}
}
