//go:build unix

package fileserver

import (
	"path/filepath"
	"syscall"
	"testing"
)

// TestPipe checks that a pipe without a writer does not delay the response.
func TestPipe(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Skip(err)
	}
	s := start(t, dir)
	if resp, _ := send(t, s, "GET /pipe", s.host); resp.StatusCode != 404 {
		t.Errorf("status %d", resp.StatusCode)
	}
}
