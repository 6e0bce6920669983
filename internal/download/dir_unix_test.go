//go:build unix

package download

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestParents opens a directory below a directory that others can write to.
func TestParents(t *testing.T) {
	parent := t.TempDir()
	if err := os.Chmod(parent, 0o777); err != nil {
		t.Fatal(err)
	}
	d, err := Open(filepath.Join(parent, "downloads"), testLimit)
	if err == nil {
		d.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "is below the directory "+parent) {
		t.Error(err)
	}
}
