package attach

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

const (
	// pingInterval is the time between two pings of an endpoint.
	pingInterval = 10 * time.Second
	// maxUnanswered is the number of pings without a response after which an endpoint counts as
	// unreachable. A single one also has none if this process was stopped after it.
	maxUnanswered = 2
	// largeWrite is the number of bytes, written since the last ping, that delay the next one: while they
	// are in the buffers of the system, a ping could not be sent in time.
	largeWrite = 256 << 10
)

// errSilent is the reason why the connection to an endpoint that stopped responding was closed.
var errSilent = errors.New("the endpoint has stopped responding to pings")

// A pinger checks whether an endpoint still responds: TCP does not report that a machine has lost its
// power, or that a process is stopped.
type pinger struct {
	wg     sync.WaitGroup
	cancel context.CancelFunc // nil if it was not started
	silent atomic.Bool        // the connection was closed because the endpoint does not respond
}

func (p *pinger) stop() {
	if p.cancel != nil {
		p.cancel()
	}
}

// watch pings the endpoint until Close, and closes the connection if the endpoint stops responding. It
// must be called before the first Close.
func (t *webSocket) watch() {
	ctx, cancel := context.WithCancel(context.Background())
	t.ping.cancel = cancel
	t.ping.wg.Go(func() {
		if t.pingUntilSilent(ctx, timing.Current().EndpointPing) {
			t.ping.silent.Store(true)
			_ = t.conn.CloseNow()
		}
	})
}

// pingUntilSilent pings the endpoint until ctx is done, or until the endpoint has stopped responding
// within limit. In the latter case, it returns true. An endpoint that has never responded to a ping does
// not support them.
func (t *webSocket) pingUntilSilent(ctx context.Context, limit time.Duration) bool {
	timer := time.NewTicker(pingInterval)
	defer timer.Stop()
	responds, unanswered := false, 0
	before := t.net.written.Load()
	for {
		received, written := t.net.received.Load(), t.net.written.Load()
		if written-before <= largeWrite {
			err := t.sendPing(ctx, limit)
			switch {
			case ctx.Err() != nil:
				return false
			case err == nil:
				responds, unanswered = true, 0
			case t.net.received.Load() != received: // the response is behind a large message
				unanswered = 0
			case t.writing.Load() && t.net.written.Load() != written: // the ping is behind one
				unanswered = 0
			case responds:
				unanswered++
			}
		}
		if unanswered == maxUnanswered {
			return true
		}
		before = t.net.written.Load()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return false
		}
	}
}

// sendPing sends a ping and waits for the response.
func (t *webSocket) sendPing(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return t.conn.Ping(ctx)
}

// reason returns the error of a read that failed with err.
func (t *webSocket) reason(err error) error {
	if t.ping.silent.Load() {
		return errSilent
	}
	return err
}

// A countedConn counts the bytes of a connection.
type countedConn struct {
	net.Conn
	received, written atomic.Int64
}

func (c *countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.received.Add(int64(n))
	return n, err
}

func (c *countedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.written.Add(int64(n))
	return n, err
}
