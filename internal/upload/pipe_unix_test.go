//go:build unix

package upload

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestReadNeverWaits reads a pipe without a writer, which must fail immediately.
func TestReadNeverWaits(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := Read(dir, []string{"pipe"}); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Error(err)
	}
}
