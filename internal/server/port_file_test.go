package server

import (
	"net"
	"os"
	"testing"
)

// publishPort publishes the port of an HTTP listener in a new data directory.
func publishPort(t *testing.T) (dir string, port int) {
	t.Helper()
	dir = shortDir(t)
	l, err := Listen(t.Context(), dir) // creates the directory
	if err != nil {
		t.Fatal(err)
	}
	l.Release()
	listener, err := ListenHTTP(HTTPOptions{Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	wantPort(t, dir, 0)
	if err := listener.PublishPort(dir); err != nil {
		t.Fatal(err)
	}
	return dir, listener.listener.Addr().(*net.TCPAddr).Port
}

// wantPort checks the port of the running server of a data directory.
func wantPort(t *testing.T, dir string, want int) {
	t.Helper()
	if port, err := ListeningPort(dir); err != nil || port != want {
		t.Errorf("port %d, %v, want %d", port, err, want)
	}
}

// TestListeningPort checks whether the server that published its port counts as running.
func TestListeningPort(t *testing.T) {
	dir, port := publishPort(t)
	wantPort(t, dir, 0) // without a socket
	l, err := net.Listen("unix", SocketPath(dir))
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	wantPort(t, dir, port)
	l.Close()
	wantPort(t, dir, 0) // its server was killed
	for _, text := range []string{"", "x"} {
		if err := os.WriteFile(portPath(dir), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if port, err := ListeningPort(dir); err == nil {
			t.Errorf("a file with %q: port %d", text, port)
		}
	}
}
