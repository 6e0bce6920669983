package chromium

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/chromedp/cdproto"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/chromedp"
	"github.com/coder/websocket"

	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// A pipeTransport sends and receives messages over the pipes of a browser. Each message ends with a
// zero byte. Unlike chromedp.PipeConn, it does not store messages over the limit.
type pipeTransport struct {
	*chromedp.PipeConn // writes and closes
	r                  *bufio.Reader
	m                  cdpconn.Message // the message being read
}

func newPipeTransport(r io.ReadCloser, w io.WriteCloser) *pipeTransport {
	return &pipeTransport{PipeConn: chromedp.NewPipeConn(r, w), r: bufio.NewReaderSize(r, 64<<10)}
}

// Read reads the next message.
func (p *pipeTransport) Read(_ context.Context, msg *cdproto.Message) error {
	m := &p.m
	m.Reset()
	for {
		part, err := p.r.ReadSlice(0)
		switch {
		case err == nil:
			_, _ = m.Write(part[:len(part)-1])
			if !m.Empty() {
				return m.Decode(msg)
			}
		case errors.Is(err, bufio.ErrBufferFull):
			_, _ = m.Write(part)
		case errors.Is(err, io.EOF) && (len(part) > 0 || !m.Empty()):
			return io.ErrUnexpectedEOF
		default:
			return err
		}
	}
}

// A webSocketTransport sends and receives messages over the WebSocket of an
// attached browser. It does not store messages over the limit.
type webSocketTransport struct {
	conn *websocket.Conn
	m    cdpconn.Message // the message being read
	part []byte          // buffer for a part of m
}

// A handshakeError is the error of a server that did not accept a WebSocket.
type handshakeError struct{ status int } // HTTP status

func (e *handshakeError) Error() string {
	return fmt.Sprintf("the WebSocket handshake failed with HTTP %d", e.status)
}

// dialWebSocket connects to a WebSocket. Its errors do not contain the address, which can have
// secrets.
func dialWebSocket(ctx context.Context, address string, header http.Header) (*webSocketTransport, error) {
	// Use a separate client, so that no proxy of the environment sees the URL.
	client := &http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{Timeout: timing.Current().Connect}).DialContext}}
	if header != nil { // a redirect would pass it to another host
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	conn, response, err := websocket.Dial(ctx, address, &websocket.DialOptions{HTTPClient: client, HTTPHeader: header})
	if err != nil {
		if ue, ok := errors.AsType[*url.Error](err); ok {
			err = ue.Err
		}
		if response != nil && response.StatusCode != http.StatusSwitchingProtocols {
			err = &handshakeError{response.StatusCode}
		}
		return nil, err
	}
	conn.SetReadLimit(-1) // Message enforces the limits
	return &webSocketTransport{conn: conn, part: make([]byte, 64<<10)}, nil
}

// Read reads the next message. It ignores the context: the end of a call's
// context would close the connection.
func (t *webSocketTransport) Read(_ context.Context, msg *cdproto.Message) error {
	kind, r, err := t.conn.Reader(context.Background())
	if err != nil {
		return err
	}
	if kind != websocket.MessageText {
		return errors.New("the browser sent a binary message")
	}
	t.m.Reset()
	if _, err := io.CopyBuffer(&t.m, r, t.part); err != nil {
		return err
	}
	return t.m.Decode(msg)
}

// Write writes one message.
func (t *webSocketTransport) Write(_ context.Context, msg *cdproto.Message) error {
	data, err := jsonv2.Marshal(msg, chromedp.DefaultMarshalOptions)
	if err != nil {
		return fmt.Errorf("encoding a command: %w", err)
	}
	return t.conn.Write(context.Background(), websocket.MessageText, data)
}

// Close closes the connection immediately. Read and Write then return.
func (t *webSocketTransport) Close() error { return t.conn.CloseNow() }
