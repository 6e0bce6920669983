package connlimit

import (
	"bufio"
	"net"
	"net/http"
)

// A HijackRecorder records the connection that a handler hijacks, such as for a WebSocket: after its
// closing handshake has begun, a WebSocket cannot be closed immediately.
type HijackRecorder struct {
	http.ResponseWriter
	Hijacked net.Conn // nil before
}

// Hijack implements http.Hijacker.
func (h *HijackRecorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	h.Hijacked = conn
	return conn, rw, err
}
