package bridge

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/coder/websocket"
)

// A stream carries whole text messages. Read is called by one goroutine at a
// time; a context that is done ends the stream.
type stream interface {
	Read(context.Context) ([]byte, error)
	Write(context.Context, []byte) error
	SetReadLimit(bytes int64)
	// Close tells the other side a code and why, as far as it listens, and
	// returns soon.
	Close(code int, reason string)
}

// The codes of RFC 6455 that we close with.
const (
	closeNormal      = int(websocket.StatusNormalClosure)
	closeGoingAway   = int(websocket.StatusGoingAway)
	closeUnsupported = int(websocket.StatusUnsupportedData)
	closeTooBig      = int(websocket.StatusMessageTooBig)
)

// closeTimeout is for the other side to confirm that it read why we close.
// Sessions are to end within a second.
const closeTimeout = 300 * time.Millisecond

// What is wrong with a message that is not even looked at.
var (
	errBinary  = errors.New("a frame was binary")
	errTooLong = errors.New("a frame was too long")
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
