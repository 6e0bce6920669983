package egress

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/connlimit"
)

// halfClosedTimeout bounds a tunnel that is closed in one direction. Browsers close both directions
// at the same time, so at most the end of a response is still to be sent.
const halfClosedTimeout = 2 * time.Minute

func (p *Proxy) serveTunnel(w http.ResponseWriter, r *http.Request) {
	t, err := parseHostPort(r.RequestURI, 0)
	if err != nil {
		respond(w, http.StatusBadRequest, "Bad request: "+err.Error())
		return
	}
	if err := p.checkPolicy("", t, ""); err != nil {
		p.respondError(w, r, t, err)
		return
	}
	origin, err := p.dialTunnel(r.Context(), t)
	if err != nil {
		p.respondError(w, r, t, err)
		return
	}
	defer origin.Close()
	p.reached(t)

	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // HTTP/1 on a TCP connection can be hijacked
	}
	if !p.track(client) {
		return
	}
	defer p.untrack(client)
	if !p.track(origin) {
		return
	}
	defer p.untrack(origin)
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	p.serveOpenTunnel(r, t, client, buffered.Reader, origin)
}

// plain returns the TCP connection of c, because the kernel can copy between two TCP connections.
func plain(c net.Conn) net.Conn {
	if cc, ok := c.(*connlimit.Conn); ok {
		return cc.NetConn()
	}
	return c
}

// pipe copies in both directions until both have ended. It forwards the end of one direction as a
// half close. An error closes both connections.
func pipe(a, b net.Conn) {
	var wg sync.WaitGroup
	var once sync.Once
	var timer *time.Timer
	closeBoth := func() { _ = a.Close(); _ = b.Close() }
	one := func(dst, src net.Conn) {
		_, err := io.Copy(dst, src)
		half, ok := dst.(interface{ CloseWrite() error })
		if err != nil || !ok || half.CloseWrite() != nil {
			closeBoth()
			return
		}
		once.Do(func() { timer = time.AfterFunc(halfClosedTimeout, closeBoth) })
	}
	wg.Go(func() { one(a, b) })
	one(b, a)
	wg.Wait()
	if timer != nil {
		timer.Stop()
	}
}

// dialTunnel connects to t, through the upstream proxy if there is one.
func (p *Proxy) dialTunnel(ctx context.Context, t hostPort) (net.Conn, error) {
	if p.upstream == nil {
		return p.dialChecked(ctx, "tcp", t.String())
	}
	direct, err := p.goesDirect(ctx, t)
	if err != nil {
		return nil, err
	}
	if direct {
		return p.dialChecked(ctx, "tcp", t.String())
	}
	ctx, cancel := p.bound(ctx)
	defer cancel()
	conn, err := p.dialUpstream(ctx, "tcp", "")
	if err != nil {
		return nil, err
	}
	tunnel, err := p.connectUpstream(ctx, conn, t)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return tunnel, nil
}

// errUpstreamFailed is wrapped by the errors of the upstream proxy itself.
var errUpstreamFailed = errors.New("upstream proxy")

// dialUpstream dials the upstream proxy. It ignores the address argument.
func (p *Proxy) dialUpstream(ctx context.Context, _, _ string) (net.Conn, error) {
	if !p.begin() {
		return nil, net.ErrClosed
	}
	defer p.running.Done()
	ctx, cancel := p.bound(ctx)
	defer cancel()
	address := net.JoinHostPort(p.upstream.Hostname(), cmp.Or(p.upstream.Port(), "80"))
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUpstreamFailed, err)
	}
	return conn, nil
}

// connectUpstream requests a tunnel to t from the upstream proxy on conn.
func (p *Proxy) connectUpstream(ctx context.Context, conn net.Conn, t hostPort) (net.Conn, error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	request := "CONNECT " + t.String() + " HTTP/1.1\r\nHost: " + t.String() + "\r\n"
	if u := p.upstream.User; u != nil {
		request += "Proxy-Authorization: Basic " + basic(u.Username(), password(u)) + "\r\n"
	}
	if _, err := io.WriteString(conn, request+"\r\n"); err != nil {
		return nil, fmt.Errorf("%w: %w", errUpstreamFailed, err)
	}
	header := &io.LimitedReader{R: conn, N: maxHeaderBytes}
	br := bufio.NewReader(header)
	res, err := http.ReadResponse(br, &http.Request{Method: http.MethodConnect})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUpstreamFailed, err)
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%w: %s", errUpstreamFailed, res.Status)
	}
	if !stop() {
		return nil, fmt.Errorf("%w: %w", errUpstreamFailed, context.Cause(ctx))
	}
	early, _ := br.Peek(br.Buffered()) // cannot fail: they are buffered
	return &upstreamConn{TCPConn: conn.(*net.TCPConn), early: early}, nil
}

// upstreamConn is a tunnel. Reads first return the bytes that arrived with the response to CONNECT.
type upstreamConn struct {
	*net.TCPConn
	early []byte
}

func (c *upstreamConn) Read(b []byte) (int, error) {
	if len(c.early) > 0 {
		n := copy(b, c.early)
		c.early = c.early[n:]
		return n, nil
	}
	return c.TCPConn.Read(b)
}

// WriteTo writes early first. Without it, io.Copy would use the WriteTo of the embedded connection.
func (c *upstreamConn) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(c.early)
	c.early = nil
	if err != nil {
		return int64(n), err
	}
	m, err := io.Copy(w, c.TCPConn)
	return int64(n) + m, err
}
