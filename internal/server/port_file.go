package server

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
)

// portPath returns the path of the file with the port of [HTTPListener.PublishPort].
func portPath(dataDir string) string {
	return filepath.Join(filepath.Dir(SocketPath(dataDir)), "port")
}

// PublishPort writes the port of the listener to a file in a data directory, for [ListeningPort].
// The caller must already listen on the socket of the directory. The listener removes the file when
// it stops.
func (h *HTTPListener) PublishPort(dataDir string) error {
	path := portPath(dataDir)
	file, err := owneronly.WriteFile(path, fmt.Appendln(nil, h.listener.Addr().(*net.TCPAddr).Port))
	if err != nil {
		return errs.Errorf(errs.ErrLaunchFailed, "Check the data directory, or use another one.",
			"the port of the server: %w", err)
	}
	h.files = append(h.files, file)
	return nil
}

// ListeningPort returns the TCP port of the running server of a data directory, or 0. A server that
// does not answer counts as running. After an error, a server may run, and its port is unknown.
func ListeningPort(dataDir string) (int, error) {
	text, err := owneronly.ReadFile(portPath(dataDir), maxPortFile)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("port of the server: %w", err)
	}
	port, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("port of the server: %w", err)
	}
	conn, err := net.DialTimeout("unix", SocketPath(dataDir), time.Second)
	if isNotListening(err) { // the server was killed
		return 0, nil
	}
	if err == nil {
		conn.Close()
	}
	return port, nil
}

// maxPortFile is the maximum size of a file with a port, in bytes.
const maxPortFile = 16
