package server

import (
	"bufio"
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"testing"
)

// A pipeListener accepts in-memory connections, whose deadlines use the clock of synctest.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	addr   net.Addr
}

func newPipeListener(addr net.Addr) *pipeListener {
	return &pipeListener{make(chan net.Conn), make(chan struct{}), addr}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error   { close(l.closed); return nil }
func (l *pipeListener) Addr() net.Addr { return l.addr }

// dial returns a connection, as soon as the listener accepts it.
func (l *pipeListener) dial() net.Conn {
	client, server := net.Pipe()
	l.conns <- server
	return client
}

// otherToken is the token of another principal than that of testToken.
const otherToken = "other-token-other-token-other-token-other-0"

// listenPipe returns an HTTP listener for in-memory connections.
func listenPipe(t *testing.T) (*HTTPListener, *pipeListener) {
	t.Helper()
	listener, err := ListenHTTP(HTTPOptions{Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	for name, token := range map[string]string{"ci": testToken, "other": otherToken} {
		listener.AddTokens(Credential{sha256.Sum256([]byte(token)), &Principal{Name: name, Settings: Settings{}}})
	}
	listener.listener.Close()
	l := newPipeListener(listener.listener.Addr())
	listener.listener = l
	return listener, l
}

// startPipe starts a server whose socket is an in-memory listener.
func startPipe(t *testing.T, opts Options) (*fixture, *pipeListener) {
	t.Helper()
	socket := newPipeListener(&net.UnixAddr{Name: "socket", Net: "unix"})
	client := NewClient("")
	client.http.Transport = &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return socket.dial(), nil }}
	return serve(t, opts, socket, func() {}, client), socket
}

// openStream opens a stream of a session on an in-memory connection.
func openStream(t *testing.T, socket *pipeListener, session string) {
	t.Helper()
	conn := socket.dial()
	t.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "POST /v1/sessions/%s/stream HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", session, streamProtocol)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(resp, err)
	}
}
