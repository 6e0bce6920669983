package compose

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/cli"
)

// TestPolicyDirectories checks that the upload and state directories must be directories.
func TestPolicyDirectories(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{"--uploads-dir", "--state-dir"} {
		for path, want := range map[string]string{dir: "", file: "is not a directory", filepath.Join(dir, "none"): "does not exist", filepath.Join(file, "below"): "not a directory"} {
			s, err := cli.Parse([]string{flag, path}, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Policy(s)
			if usage, ok := errors.AsType[*cli.UsageError](err); want == "" && err != nil || want != "" && (!ok || !strings.Contains(usage.Error(), want)) {
				t.Errorf("%s %s: %v, want %q", flag, path, err, want)
			}
		}
	}
}
