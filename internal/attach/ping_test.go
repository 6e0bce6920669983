package attach

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/coder/websocket"
)

// A pipeListener is a listener whose connections are in memory.
type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error   { close(l.done); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

// A farConn is the endpoint's side of a connection.
type farConn struct {
	net.Conn
	muted  atomic.Bool            // what the endpoint writes is lost
	onRead atomic.Pointer[func()] // if set, it is called before each read
}

func (c *farConn) Write(b []byte) (int, error) {
	if c.muted.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func (c *farConn) Read(b []byte) (int, error) {
	if f := c.onRead.Load(); f != nil {
		(*f)()
	}
	return c.Conn.Read(b)
}

// TestPing checks that the connection to an endpoint that has stopped responding to pings is closed, and
// that others stay open.
func TestPing(t *testing.T) {
	for _, test := range []struct {
		name             string
		mutedAtStart     bool // the endpoint never responds to pings
		muted, sendsData bool // from the second ping on
		closed           bool
	}{
		{name: "responds"},
		{name: "stops responding", muted: true, closed: true},
		{name: "never responds", mutedAtStart: true, muted: true},
		{name: "sends a long message before the response", muted: true, sendsData: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn, remote := pipe(t)
				remote.muted.Store(test.mutedAtStart)
				conn.watch()
				read := make(chan error)
				go func() {
					for {
						if err := conn.Read(t.Context(), new(cdproto.Message)); err != nil {
							read <- err
							return
						}
					}
				}()
				synctest.Wait()
				remote.muted.Store(test.muted)
				end := time.After(100 * pingInterval)
				for open := true; open; {
					select {
					case err := <-read:
						if !test.closed || !errors.Is(err, errSilent) {
							t.Errorf("the connection was closed: %v", err)
						}
						conn.Close()
						return
					case <-time.After(pingInterval / 4):
						if test.sendsData {
							_, _ = remote.Conn.Write([]byte("\x81\x02{}")) // a text message
						}
					case <-end:
						open = false
					}
				}
				if test.closed {
					t.Error("the connection stays open")
				}
				conn.Close()
				if err := <-read; errors.Is(err, errSilent) {
					t.Error(err)
				}
			})
		})
	}
}

// TestPingDuringUpload checks that an endpoint that reads a large message slowly stays connected, and that
// one that stops reading it does not.
func TestPingDuringUpload(t *testing.T) {
	for _, stalls := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			conn, remote := pipe(t)
			conn.watch()
			go func() { _ = conn.Read(t.Context(), new(cdproto.Message)) }()
			synctest.Wait() // the endpoint has responded to the first ping
			remote.muted.Store(true)
			reads := 0
			slow := func() {
				time.Sleep(pingInterval / 8)
				if reads++; stalls && reads > 40 {
					time.Sleep(100 * pingInterval)
				}
			}
			remote.onRead.Store(&slow)
			err := conn.Write(t.Context(), &cdproto.Message{ID: 1, Method: "A.b", Params: []byte(`"` + strings.Repeat("x", 200<<10) + `"`)})
			if stalls != (err != nil) || stalls != conn.ping.silent.Load() {
				t.Errorf("stalls %t: %v", stalls, err)
			}
			_ = conn.Close()
		})
	}
}

// TestPingAfterLargeWrite checks that no ping is sent while a large message may be in the buffers of the
// system.
func TestPingAfterLargeWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, _ := pipe(t)
		conn.watch()
		go func() { _ = conn.Read(t.Context(), new(cdproto.Message)) }()
		synctest.Wait() // the endpoint has responded to the first ping
		before := conn.net.written.Add(2 * largeWrite)
		time.Sleep(pingInterval + pingInterval/2)
		if n := conn.net.written.Load(); n != before {
			t.Error("a ping was sent directly after the message")
		}
		time.Sleep(pingInterval)
		if n := conn.net.written.Load(); n == before {
			t.Error("no ping was sent later")
		}
		_ = conn.Close()
	})
}

// pipe returns a connection to a fake endpoint in memory, and the endpoint's side of it.
func pipe(t *testing.T) (conn *webSocket, remote *farConn) {
	t.Helper()
	l := &pipeListener{conns: make(chan net.Conn, 1), done: make(chan struct{})}
	handled := make(chan struct{})
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(handled)
		ws, err := websocket.Accept(w, r, nil)
		if err == nil {
			ws.SetReadLimit(-1)
			for err == nil {
				_, _, err = ws.Read(context.Background()) // responds to pings
			}
			_ = ws.CloseNow()
		}
	})}
	go server.Serve(l)
	t.Cleanup(func() {
		_ = server.Close()
		<-handled
	})
	conn, err := dialWebSocket(t.Context(), "ws://browser/", nil, func(context.Context, string, string) (net.Conn, error) {
		local, far := net.Pipe()
		remote = &farConn{Conn: far}
		l.conns <- remote
		return local, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return conn, remote
}
