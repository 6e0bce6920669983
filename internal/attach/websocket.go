package attach

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"

	"github.com/chromedp/cdproto"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/chromedp"
	"github.com/coder/websocket"

	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

// A webSocket sends and receives messages over the WebSocket of an
// attached browser. It does not store messages over the limit.
type webSocket struct {
	conn *websocket.Conn
	net  *countedConn    // of conn
	m    cdpconn.Message // the message being read
	part []byte          // buffer for a part of m
	ping pinger

	writing atomic.Bool // Write is waiting for the network
}

// A HandshakeError is the error of a server that did not accept a WebSocket.
type HandshakeError struct{ Status int } // of HTTP

func (e *HandshakeError) Error() string {
	return fmt.Sprintf("the WebSocket handshake failed with HTTP %d", e.Status)
}

// dialWebSocket connects to a WebSocket. Its errors do not contain the address, which can have
// secrets. dial connects to its host.
func dialWebSocket(ctx context.Context, address string, header http.Header, dial dialFunc) (*webSocket, error) {
	var network *countedConn
	// Use a separate transport, so that no connection stays open after a failed handshake and no proxy of
	// the environment sees the URL.
	tr := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, kind, address string) (net.Conn, error) {
		conn, err := dial(ctx, kind, address)
		if err != nil {
			return nil, err
		}
		network = &countedConn{Conn: conn}
		return network, nil
	}}
	defer tr.CloseIdleConnections()
	// A redirect would pass the headers to another host, and could lead to an unencrypted connection.
	client := &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	conn, response, err := websocket.Dial(ctx, address, &websocket.DialOptions{HTTPClient: client, HTTPHeader: header})
	if err != nil {
		if ue, ok := errors.AsType[*url.Error](err); ok {
			err = ue.Err
		}
		if response != nil && response.StatusCode != http.StatusSwitchingProtocols {
			err = &HandshakeError{response.StatusCode}
		}
		return nil, err
	}
	conn.SetReadLimit(-1) // Message enforces the limits
	return &webSocket{conn: conn, net: network, part: make([]byte, 64<<10)}, nil
}

// A dialFunc is the function of a net.Dialer.
type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// Read reads the next message. It ignores the context: the end of a call's
// context would close the connection.
func (t *webSocket) Read(_ context.Context, msg *cdproto.Message) error {
	kind, r, err := t.conn.Reader(context.Background())
	if err != nil {
		return t.reason(err)
	}
	if kind != websocket.MessageText {
		return errors.New("the browser sent a binary message")
	}
	t.m.Reset()
	if _, err := io.CopyBuffer(&t.m, r, t.part); err != nil {
		return t.reason(err)
	}
	return t.m.Decode(msg)
}

// Write writes one message.
func (t *webSocket) Write(_ context.Context, msg *cdproto.Message) error {
	data, err := jsonv2.Marshal(msg, chromedp.DefaultMarshalOptions)
	if err != nil {
		return fmt.Errorf("encoding a command: %w", err)
	}
	t.writing.Store(true)
	defer t.writing.Store(false)
	return t.conn.Write(context.Background(), websocket.MessageText, data)
}

// Close closes the connection immediately. Read and Write then return.
func (t *webSocket) Close() error {
	t.ping.stop()
	err := t.conn.CloseNow()
	t.ping.wg.Wait()
	return err
}
