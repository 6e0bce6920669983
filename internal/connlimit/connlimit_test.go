package connlimit

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// open opens a connection and returns it with the end that the listener accepted, and the context
// of its requests.
func open(t *testing.T, l *Listener) (client net.Conn, conn net.Conn, requests context.Context) {
	t.Helper()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if conn, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		conn.Close()
	})
	return client, conn, WithConn(t.Context(), conn)
}

func listen(t *testing.T, limit int) *Listener {
	t.Helper()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := New(tcp, limit)
	t.Cleanup(func() { l.Close() })
	return l
}

// wantClosed checks that the listener has closed a connection.
func wantClosed(t *testing.T, client net.Conn) {
	t.Helper()
	if _, err := client.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("reading from a connection: %v", err)
	}
}

// wantOpen checks that the listener has not closed a connection.
func wantOpen(t *testing.T, client, conn net.Conn) {
	t.Helper()
	if _, err := conn.Write([]byte("x")); err != nil {
		t.Error(err)
	}
	if n, err := client.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Error(n, err)
	}
}

// TestEvict checks that connections without an owner are closed for new ones, and others are not.
func TestEvict(t *testing.T) {
	l := listen(t, 3)
	first, firstConn, requests := open(t, l)
	SetOwner(requests, "a", 0)
	second, secondConn, requests := open(t, l)
	SetOwner(requests, "b", 0)
	for range 100 {
		third, _, _ := open(t, l)
		next, _, _ := open(t, l)
		wantClosed(t, third)
		next.Close()
	}
	wantOpen(t, first, firstConn)
	wantOpen(t, second, secondConn)
}

// TestOwnerLimit checks that an owner has at most its number of connections, which includes each
// connection once and no closed ones.
func TestOwnerLimit(t *testing.T) {
	l := listen(t, 10)
	_, one, first := open(t, l)
	_, _, second := open(t, l)
	_, two, third := open(t, l)
	for range 3 {
		if !SetOwner(first, "a", 2) || !SetOwner(second, "a", 2) {
			t.Fatal("a connection within the limit has no owner")
		}
		if SetOwner(third, "a", 2) {
			t.Fatal("a connection exceeds the limit")
		}
	}
	if !SetOwner(third, "b", 2) {
		t.Error("the limit of one owner applies to another one")
	}
	if !SetOwner(second, "b", 2) || !SetOwner(third, "a", 2) {
		t.Error("a connection counts for its first owner")
	}
	for range 2 {
		one.Close()
	}
	if !SetOwner(second, "a", 2) {
		t.Error("a closed connection counts")
	}
	SetOwner(first, "a", 1) // a request of the closed connection
	two.Close()
	_, _, fourth := open(t, l)
	if !SetOwner(fourth, "a", 2) {
		t.Error("a closed connection counts after a request")
	}
}

// TestFull checks that Accept waits if all connections have owners.
func TestFull(t *testing.T) {
	l := listen(t, 1)
	_, conn, requests := open(t, l)
	SetOwner(requests, "a", 0)
	accepted := make(chan error, 1)
	accept := func() {
		client, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Error(err)
		}
		t.Cleanup(func() { client.Close() })
		go func() {
			conn, err := l.Accept()
			if err == nil {
				SetOwner(WithConn(context.Background(), conn), "a", 0)
			}
			accepted <- err
		}()
	}
	accept()
	conn.Close()
	if err := <-accepted; err != nil {
		t.Fatal(err)
	}
	accept()
	l.Close()
	if err := <-accepted; !errors.Is(err, net.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// TestCloseConns checks that the connections of one owner are closed, those below TLS too.
func TestCloseConns(t *testing.T) {
	l := listen(t, 10)
	first, firstConn, requests := open(t, l)
	SetOwner(requests, "a", 0)
	second, secondConn, _ := open(t, l)
	SetOwner(WithConn(t.Context(), tls.Server(secondConn, nil)), "b", 0)
	third, thirdConn, _ := open(t, l)
	l.CloseConns("b")
	wantClosed(t, second)
	wantOpen(t, first, firstConn)
	wantOpen(t, third, thirdConn)
}

// An acceptor is a listener with one connection.
type acceptor struct {
	net.Listener
	conn net.Conn
}

func (a acceptor) Accept() (net.Conn, error) { return a.conn, nil }

// TestCloseIdle checks that a connection without an owner is closed when it had no request for the given
// time, and one with an owner, or with a request in progress, is not.
func TestCloseIdle(t *testing.T) {
	for name, tt := range map[string]struct {
		states []http.ConnState
		owner  any
		closed bool
	}{
		"idle":              {[]http.ConnState{http.StateActive, http.StateIdle}, nil, true},
		"idle after others": {[]http.ConnState{http.StateActive, http.StateIdle, http.StateActive, http.StateIdle}, nil, true},
		"request":           {[]http.ConnState{http.StateActive, http.StateIdle, http.StateActive}, nil, false},
		"owner":             {[]http.ConnState{http.StateActive, http.StateIdle}, "a", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, server := net.Pipe()
				defer client.Close()
				conn, err := New(acceptor{conn: server}, 1).Accept()
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				if tt.owner != nil {
					SetOwner(WithConn(t.Context(), conn), tt.owner, 0)
				}
				hook := CloseIdle(time.Second)
				for _, state := range tt.states {
					hook(conn, state)
					time.Sleep(time.Second / 2)
				}
				time.Sleep(time.Minute)
				client.SetReadDeadline(time.Now().Add(time.Second))
				if _, err := client.Read(make([]byte, 1)); (err == io.EOF) != tt.closed {
					t.Errorf("reading: %v", err)
				}
			})
		})
	}
}

// TestHTTP2 checks that the requests of HTTP/2 know their connection.
func TestHTTP2(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !SetOwner(r.Context(), "a", 1) {
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}))
	srv.Listener = New(srv.Listener, 10)
	srv.Config.ConnContext = WithConn
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	for _, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
		client := &http.Client{Transport: srv.Client().Transport.(*http.Transport).Clone()}
		defer client.CloseIdleConnections()
		for range 2 {
			resp, err := client.Get(srv.URL)
			if err != nil {
				t.Fatal(err)
			}
			if resp.Body.Close(); resp.StatusCode != want || resp.ProtoMajor != 2 {
				t.Errorf("%s %s, want %d", resp.Proto, resp.Status, want)
			}
		}
	}
}
