package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/filelock"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
)

// maxSocketPath is the longest path of a Unix socket that all systems support, in bytes.
const maxSocketPath = 103

// SocketPath returns the path of the socket of the server that uses a data directory. Only the
// user can access its directory.
func SocketPath(dataDir string) string { return filepath.Join(dataDir, "server", "socket") }

// A Socket is the listening socket of the server of a data directory. No other server uses the
// directory until Release.
type Socket struct {
	net.Listener
	unlock func()
}

// Listen listens on the socket of a data directory. It returns ErrBackpressure if another server
// listens there. It waits for a server that is stopping, until ctx is done but at most StopTimeout.
// The socket of a server that was killed is replaced.
func Listen(ctx context.Context, dataDir string) (*Socket, error) {
	path := SocketPath(dataDir)
	if len(path) > maxSocketPath {
		return nil, errs.Errorf(errs.ErrBadArgs, "Use a data directory with a shorter path.",
			"the path of the socket %s is longer than %d bytes", path, maxSocketPath)
	}
	l, err := listen(ctx, path)
	if err != nil && errs.CodeOf(err) == errs.ErrInternal {
		err = errs.Errorf(errs.ErrLaunchFailed, "Check the data directory, or use another one.", "server socket: %w", err)
	}
	return l, err
}

// Release closes the socket and lets another server use the data directory. The caller has closed
// everything that uses the directory, such as the browsers of the workspaces.
func (s *Socket) Release() {
	s.Close()
	s.unlock()
}

func listen(ctx context.Context, path string) (*Socket, error) {
	if err := owneronly.MakePrivateDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	check := func() error {
		if isListening(path) {
			return errDirInUse(path, false)
		}
		return nil
	}
	if err := check(); err != nil { // before it waits
		return nil, err
	}
	wait, cancel := context.WithTimeoutCause(ctx, StopTimeout, errDirInUse(path, true))
	defer cancel()
	unlock, err := filelock.Lock(wait, lockPath(path), check)
	if err != nil {
		return nil, err
	}
	l, err := listenPrivate(path)
	if err != nil {
		unlock()
		return nil, err
	}
	return &Socket{l, sync.OnceFunc(unlock)}, nil
}

// removeStaleTimeout is the time that RemoveStaleSocket waits for the lock, which is free unless a
// server starts or stops.
const removeStaleTimeout = time.Second

// RemoveStaleSocket removes the socket of a data directory if its server was killed. It reports
// whether there was one.
func RemoveStaleSocket(ctx context.Context, dataDir string) (removed bool, err error) {
	path := SocketPath(dataDir)
	info, err := os.Lstat(path)
	if err != nil || isListening(path) {
		return false, nil
	}
	if err := checkSocket(info); err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	ctx, cancel := context.WithTimeout(ctx, removeStaleTimeout)
	defer cancel()
	unlock, err := filelock.Lock(ctx, lockPath(path), nil)
	if err != nil {
		return false, nil // a server that starts or stops has it
	}
	defer unlock()
	if isListening(path) {
		return false, nil
	}
	if err := os.Remove(path); err != nil {
		if errors.Is(err, fs.ErrNotExist) { // removed by a server that has stopped
			err = nil
		}
		return false, err
	}
	return true, nil
}

// isListening reports whether a server listens on a socket.
func isListening(path string) bool {
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		conn.Close()
		return true
	}
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, syscall.EAGAIN) // its backlog is full
}

// connRefused is the Windows equivalent of ECONNREFUSED (WSAECONNREFUSED).
const connRefused = syscall.Errno(10061)

// isNotListening reports whether the error of a connection to a socket shows that no server
// listens. Other errors do not show that: the backlog of the server can be full, and this process
// can have too many open files.
func isNotListening(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, connRefused) || errors.Is(err, fs.ErrNotExist)
}

// listenPrivate listens on a socket that only the user can connect to. It replaces the socket of a
// server that was killed.
func listenPrivate(path string) (net.Listener, error) {
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
