//go:build unix

package policy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestParseFileOfOthers reads policy files that other users can change or replace.
func TestParseFileOfOthers(t *testing.T) {
	for name, tt := range map[string]struct {
		mode, dirMode os.FileMode
		want          string
	}{
		"readable by others":          {0o644, 0o755, ""},
		"writable by others":          {0o646, 0o755, "may be written to by others (mode 0646)"},
		"in a directory of others":    {0o644, 0o777, "which others may write to (mode 0777)"},
		"in a directory such as /tmp": {0o644, 0o777 | os.ModeSticky, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "dir")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, "policy.json")
			if err := os.WriteFile(file, []byte(`{"all_domains": true}`), 0o600); err != nil {
				t.Fatal(err)
			}
			for path, mode := range map[string]os.FileMode{dir: tt.dirMode, file: tt.mode} {
				if err := os.Chmod(path, mode); err != nil {
					t.Fatal(err)
				}
			}
			c, err := ParseFile(file)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.HasPrefix(err.Error(), file+": ") || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if c.AllDomains != (tt.want == "") {
				t.Errorf("got %+v", c)
			}
		})
	}
}
