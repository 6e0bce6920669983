// Package connlimit limits the open connections of a server. Clients that have not authenticated
// cannot keep out others, and each client that has can be limited to a part of the connections.
package connlimit

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// A Listener limits the open connections of another listener. At the limit, a new connection closes
// one that has no owner. If all connections have an owner, Accept waits until one is closed. The
// methods are safe for concurrent use.
type Listener struct {
	net.Listener
	slots     chan struct{} // one for each open connection
	closed    chan struct{}
	closeOnce sync.Once

	mu      sync.Mutex // guards the fields below, and those of Conn
	unowned map[*Conn]struct{}
	owned   map[any]map[*Conn]struct{}
}

// New returns a listener that accepts the connections of l, at most limit at a time.
func New(l net.Listener, limit int) *Listener {
	return &Listener{
		Listener: l, slots: make(chan struct{}, limit), closed: make(chan struct{}),
		unowned: map[*Conn]struct{}{}, owned: map[any]map[*Conn]struct{}{},
	}
}

// Accept returns the next connection. Its type is *Conn.
func (l *Listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
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
			_ = conn.Close()
			return nil, net.ErrClosed
		}
	}
	c := &Conn{Conn: conn, listener: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unowned[c] = struct{}{}
	return c, nil
}

// evict closes a connection without an owner, if there is one. The iteration order of a map is
// random, so no process can predict the choice.
func (l *Listener) evict() {
	l.mu.Lock()
	var old *Conn
	for old = range l.unowned {
		break
	}
	l.mu.Unlock()
	if old != nil {
		_ = old.Close()
	}
}

// Close closes the underlying listener. Connections stay open.
func (l *Listener) Close() error {
	l.closeOnce.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// CloseConns closes the connections of an owner.
func (l *Listener) CloseConns(owner any) {
	l.mu.Lock()
	conns := make([]*Conn, 0, len(l.owned[owner]))
	for c := range l.owned[owner] {
		conns = append(conns, c)
	}
	l.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
	}
}

// A Conn is an open connection of a Listener.
type Conn struct {
	net.Conn
	listener *Listener
	owner    any // nil means none; guarded by listener.mu, like the fields below
	closed   bool
	idle     *time.Timer // closes it; nil unless it has no owner and no request in progress
}

// NetConn returns the underlying connection.
func (c *Conn) NetConn() net.Conn { return c.Conn }

// Close closes the connection.
func (c *Conn) Close() error {
	l := c.listener
	l.mu.Lock()
	first := !c.closed
	c.remove()
	c.closed = true
	c.stopIdle()
	l.mu.Unlock()
	err := c.Conn.Close()
	if first {
		<-l.slots
	}
	return err
}

// remove removes the connection from those of its owner, or from those without one. listener.mu
// must be held.
func (c *Conn) remove() {
	l := c.listener
	if c.owner == nil {
		delete(l.unowned, c)
		return
	}
	delete(l.owned[c.owner], c)
	if len(l.owned[c.owner]) == 0 {
		delete(l.owned, c.owner)
	}
}

// setOwner is SetOwner for the connection.
func (c *Conn) setOwner(owner any, limit int) bool {
	l := c.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.closed || c.owner == owner {
		return true
	}
	if limit > 0 && len(l.owned[owner]) >= limit {
		return false
	}
	c.remove()
	c.owner = owner
	if l.owned[owner] == nil {
		l.owned[owner] = map[*Conn]struct{}{}
	}
	l.owned[owner][c] = struct{}{}
	return true
}

// CloseIdle returns a function for http.Server.ConnState. It closes each connection that has no owner
// and, for the given time, no request in progress. The server's IdleTimeout can then be longer: it
// is that of clients that have authenticated.
func CloseIdle(after time.Duration) func(net.Conn, http.ConnState) {
	return func(conn net.Conn, state http.ConnState) {
		c := limited(conn)
		if c == nil {
			return
		}
		c.listener.mu.Lock()
		defer c.listener.mu.Unlock()
		c.stopIdle()
		if state == http.StateIdle && c.owner == nil && !c.closed {
			c.idle = time.AfterFunc(after, func() { _ = c.Close() })
		}
	}
}

// stopIdle stops the timer of CloseIdle. listener.mu must be held.
func (c *Conn) stopIdle() {
	if c.idle != nil {
		c.idle.Stop()
		c.idle = nil
	}
}

// limited returns the Conn that is conn, or that is below the TLS connection conn, or nil.
func limited(conn net.Conn) *Conn {
	for {
		switch c := conn.(type) {
		case *Conn:
			return c
		case interface{ NetConn() net.Conn }:
			conn = c.NetConn()
		default:
			return nil
		}
	}
}

// connKey is the context key of the Conn of a request.
type connKey struct{}

// WithConn returns a context for the requests of a connection of a Listener, or of a TLS connection
// on one. It is for http.Server.ConnContext.
func WithConn(ctx context.Context, conn net.Conn) context.Context {
	if c := limited(conn); c != nil {
		return context.WithValue(ctx, connKey{}, c)
	}
	return ctx
}

// SetOwner makes owner, which must be comparable and not nil, the owner of the connection of a
// request with context ctx: it has authenticated. The requests of a connection can have different
// owners; the last one counts. SetOwner reports false, and changes nothing, if owner already has
// limit other connections. A limit of 0 means none.
func SetOwner(ctx context.Context, owner any, limit int) bool {
	c, ok := ctx.Value(connKey{}).(*Conn)
	return !ok || c.setOwner(owner, limit)
}
