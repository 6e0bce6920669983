package server

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
)

// maxSocketPath is the longest path of a Unix socket that all systems support, in bytes.
const maxSocketPath = 103

// SocketPath returns the path of the socket of the server that uses a data directory. Only the
// user can access its directory.
func SocketPath(dataDir string) string { return filepath.Join(dataDir, "server", "socket") }

// Listen listens on the socket of a data directory. It returns ErrBackpressure if another server
// uses the directory. The socket of a server that was killed is replaced.
func Listen(dataDir string) (net.Listener, error) {
	path := SocketPath(dataDir)
	if len(path) > maxSocketPath {
		return nil, errs.Errorf(errs.ErrBadArgs, "Use a data directory with a shorter path.", "the path of the socket %s is longer than %d bytes", path, maxSocketPath)
	}
	l, err := listen(path)
	if err != nil && errs.CodeOf(err) == errs.ErrInternal {
		err = errs.Errorf(errs.ErrLaunchFailed, "Check the data directory, or use another one.", "server socket: %w", err)
	}
	return l, err
}

func listen(path string) (net.Listener, error) {
	if err := owneronly.MakePrivateDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	// Two servers that start at the same time must not remove each other's sockets.
	unlock, err := lockedfile.MutexAt(path + ".lock").Lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	conn, err := net.DialTimeout("unix", path, time.Second)
	if timeout := errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, syscall.EAGAIN); err == nil || timeout { // the backlog of the other server is full
		if conn != nil {
			conn.Close()
		}
		return nil, errs.Errorf(errs.ErrBackpressure, "Use that server, stop it, or use another data directory.", "another server uses the data directory %s", filepath.Dir(filepath.Dir(path)))
	}
	if info, err := os.Lstat(path); err == nil {
		if err := checkSocket(info); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// checkSocket returns an error unless info describes a socket of this user.
func checkSocket(info fs.FileInfo) error {
	if info.Mode()&fs.ModeSocket == 0 && info.Mode()&fs.ModeIrregular == 0 { // Windows reports sockets as irregular files
		return errors.New("not a socket")
	}
	return owneronly.CheckOwner(info)
}
