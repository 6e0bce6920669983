package server

import (
	"net"
	"syscall"
	"testing"
)

// TestListeningPortOfBusyServer checks that a server counts as running while the backlog of its
// socket is full.
func TestListeningPortOfBusyServer(t *testing.T) {
	dir, port := publishPort(t)
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: SocketPath(dir)}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	for {
		conn, err := net.Dial("unix", SocketPath(dir))
		if err != nil {
			break
		}
		defer conn.Close()
	}
	wantPort(t, dir, port)
	if _, err := Listen(t.Context(), dir); err == nil {
		t.Error("another server listens")
	}
}
