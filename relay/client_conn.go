package relay

import (
	"context"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

const (
	// writeTimeout limits the time until a client has read one message. During that time, further
	// messages wait in the queue of the CDPConn, which is limited.
	writeTimeout = 30 * time.Second
	// closeTimeout limits the closing handshake of a WebSocket.
	closeTimeout = time.Second
	// maxBuffer is the capacity of the write buffer that is kept, in bytes.
	maxBuffer = 1 << 20
)

// A clientConn is the connection to a client.
type clientConn struct {
	ws  *websocket.Conn
	net net.Conn // of ws

	mu     sync.Mutex // guards buffer, and serializes writes
	buffer []byte
}

// write writes a reply or an event.
func (c *clientConn) write(m executor.CDPMessage) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.buffer = appendMessage(c.buffer[:0], m)
	err := c.writeLocked(c.buffer)
	if cap(c.buffer) > maxBuffer {
		c.buffer = nil
	}
	return err
}

// writeRaw writes a message that is encoded already.
func (c *clientConn) writeRaw(data []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writeLocked(data)
}

// writeLocked writes a message. c.mu must be held.
func (c *clientConn) writeLocked(data []byte) error {
	// When the context is done, the WebSocket closes the connection, so a client that does not read
	// is disconnected.
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	return c.ws.Write(ctx, websocket.MessageText, data)
}

// close closes the connection, with a status code and a reason for the client.
func (c *clientConn) close(code websocket.StatusCode, reason string) {
	timer := time.AfterFunc(closeTimeout, func() { _ = c.net.Close() })
	defer timer.Stop()
	_ = c.ws.Close(code, strings.ToValidUTF8(reason[:min(len(reason), 120)], ""))
	_ = c.ws.CloseNow()
}
