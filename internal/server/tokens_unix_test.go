//go:build unix

package server

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
)

// TestTokenFilePermissions checks that a file that others can read is rejected.
func TestTokenFilePermissions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.json")
	for _, mode := range []os.FileMode{0o644, 0o640, 0o604, 0o620} {
		if err := os.WriteFile(path, []byte(`{"tokens": [{"name": "ci", "token": "`+testToken+`"}]}`), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		for name, read := range map[string]func(string) error{
			"token file": func(path string) error { _, err := ReadTokenFile(path); return err },
			"one token":  func(path string) error { _, err := ReadToken(path); return err },
		} {
			err := read(path)
			wantError(t, err, errs.ErrBadArgs, fmt.Sprintf("may be read by others (mode %04o)", mode))
			if e := err.(*errs.Error); e.Hint != "Run chmod 600 "+path+"." {
				t.Errorf("%s: hint %q", name, e.Hint)
			}
		}
	}
}
