package compose

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/secrets"
)

// TestLogFile checks that the log file is not a symbolic link and is readable
// only by its user.
func TestLogFile(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "log"), filepath.Join(dir, "link")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if _, _, err := NewLogger(&cli.Settings{LogFile: link}, secrets.Open(dir), io.Discard); err == nil || !strings.Contains(err.Error(), "is a symbolic link") {
		t.Errorf("a link: %v", err)
	}
	log, closeLog, err := NewLogger(&cli.Settings{LogFile: path}, secrets.Open(dir), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	log.Error("it was written")
	closeLog()
	if data, err := os.ReadFile(path); err != nil || !strings.Contains(string(data), "it was written") {
		t.Errorf("%q, %v", data, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}
