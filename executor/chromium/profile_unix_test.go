//go:build unix

package chromium

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// TestProfileOfAnotherUser checks that a profile is not created in a directory that others can
// write to or that another user owns.
func TestProfileOfAnotherUser(t *testing.T) {
	for _, isolated := range []bool{false, true} {
		for _, name := range []string{"", filepath.Join("profiles", "default"), "tmp"} {
			if isolated != (name == "tmp") && name != "" {
				continue
			}
			o := Options{DataDir: filepath.Join(t.TempDir(), "data"), Isolated: isolated}
			o, err := o.withDefaults()
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(o.DataDir, name)
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			want := "may be written to by others"
			if os.Geteuid() == 0 {
				if err := os.Chown(dir, 65534, 65534); err != nil {
					t.Fatal(err)
				}
				want = "belongs to another user"
			}
			p, err := acquireProfile(t.Context(), &o)
			if err == nil {
				p.release(t.Context())
			}
			if executor.CodeOf(err) != executor.ErrLaunchFailed || !strings.Contains(err.Error(), want) {
				t.Errorf("isolated %v, directory %q: %v, want %q", isolated, name, err, want)
			}
		}
	}
}
