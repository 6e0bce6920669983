package bridge

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/coder/websocket"
)

// A stream sends and receives text messages. Only one goroutine may call Read at a time. If the
// context of a call is done, the stream ends.
type stream interface {
	Read(context.Context) ([]byte, error)
	Write(context.Context, []byte) error
	SetReadLimit(bytes int64)
	// Close sends a code and a reason to the other side if possible, and returns within
	// closeTimeout.
	Close(code int, reason string)
}

// Close codes of RFC 6455.
const (
	closeNormal      = int(websocket.StatusNormalClosure)
	closeGoingAway   = int(websocket.StatusGoingAway)
	closeUnsupported = int(websocket.StatusUnsupportedData)
	closeTooBig      = int(websocket.StatusMessageTooBig)
)

// closeTimeout is how long the other side has to confirm the close. Connections must end within a
// second.
const closeTimeout = 300 * time.Millisecond

// The errors of messages that are not decoded.
var (
	errBinary  = errors.New("binary message")
	errTooLong = errors.New("message too long")
)

// A socket is a stream over a WebSocket.
type socket struct {
	ws   *websocket.Conn
	conn net.Conn // below ws
}

func (s *socket) Read(ctx context.Context) ([]byte, error) {
	kind, data, err := s.ws.Read(ctx)
	switch {
	case errors.Is(err, websocket.ErrMessageTooBig):
		return nil, errTooLong
	case err == nil && kind != websocket.MessageText:
		return nil, errBinary
	}
	return data, err
}

func (s *socket) Write(ctx context.Context, data []byte) error {
	return s.ws.Write(ctx, websocket.MessageText, data)
}

func (s *socket) SetReadLimit(bytes int64) { s.ws.SetReadLimit(bytes) }

func (s *socket) Close(code int, reason string) {
	// The library waits up to 10 s, and its CloseNow waits for its Close.
	force := time.AfterFunc(closeTimeout, func() { s.conn.Close() })
	defer force.Stop()
	_ = s.ws.Close(websocket.StatusCode(code), reason)
}
