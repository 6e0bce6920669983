//go:build unix

package server

import (
	"os"
	"path/filepath"
	"testing"
)

// TestSocketIsPrivate checks that only the user can connect, whatever the umask.
func TestSocketIsPrivate(t *testing.T) {
	dir := shortDir(t)
	if err := os.MkdirAll(filepath.Dir(SocketPath(dir)), 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := Listen(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	for path, want := range map[string]os.FileMode{SocketPath(dir): 0o600, filepath.Dir(SocketPath(dir)): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, %v, want %v", path, info.Mode().Perm(), err, want)
		}
	}
}
