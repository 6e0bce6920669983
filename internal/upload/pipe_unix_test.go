//go:build unix

package upload

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestReadNeverWaits: a pipe that nobody writes to is refused at once.
func TestReadNeverWaits(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := Read(dir, []string{"pipe"}); err == nil || !strings.Contains(err.Error(), "not a plain file") {
		t.Error(err)
	}
}
