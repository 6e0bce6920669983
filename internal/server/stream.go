package server

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
)

// streamProtocol is the name of MCP's stdio transport in the header Upgrade.
const streamProtocol = "mcp-stdio"

// serveStream serves MCP's stdio transport on the connection of a request.
func (s *Server) serveStream(ws *workspace, w http.ResponseWriter, _ *http.Request) error {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n",
		streamProtocol)
	if err == nil {
		err = ws.ServeStream(&Stream{conn, buffered.Reader})
	}
	if err != nil {
		conn.Close()
		s.log.Warn("client disconnected", "session", ws.key.name, "error", err)
	}
	return nil
}

// A Stream is a connection to a workspace over MCP's stdio transport.
type Stream struct {
	net.Conn
	in *bufio.Reader // may have read more than the headers of the upgrade
}

// Read implements net.Conn.
func (s *Stream) Read(p []byte) (int, error) { return s.in.Read(p) }

// CloseWrite ends the output, but not the input. After the requests of a client, the server sends
// its last response and closes the stream.
func (s *Stream) CloseWrite() error {
	if half, ok := s.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}
