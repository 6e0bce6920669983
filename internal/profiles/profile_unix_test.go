//go:build unix

package profiles

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// TestSweepWithoutLocks checks that on a file system without locks, a sweep does not remove a temporary
// profile that this process uses, and that it removes the one that it no longer uses.
func TestSweepWithoutLocks(t *testing.T) {
	t.Cleanup(func() { flock = syscall.Flock })
	flock = func(int, int) error { return syscall.ENOLCK }
	data := t.TempDir()
	p, err := NewTemporary(data)
	if err != nil {
		t.Fatal(err)
	}
	if removed, _, err := Sweep(t.Context(), data); err != nil || len(removed) > 0 || !exists(p.Dir) {
		t.Errorf("swept %q, %v", removed, err)
	}
	p.unlock()
	if removed, _, err := Sweep(t.Context(), data); err != nil || len(removed) != 1 || exists(p.Dir) {
		t.Errorf("swept %q, %v; want %s", removed, err, p.Dir)
	}
}

// TestProfileOfAnotherUser checks that a profile is not created in a directory that others can
// write to or that another user owns.
func TestProfileOfAnotherUser(t *testing.T) {
	for _, isolated := range []bool{false, true} {
		for _, name := range []string{"", filepath.Join("profiles", "default"), "tmp"} {
			if isolated != (name == "tmp") && name != "" {
				continue
			}
			data := filepath.Join(t.TempDir(), "data")
			dir := filepath.Join(data, name)
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
			var p *Profile
			var err error
			if isolated {
				p, err = NewTemporary(data)
			} else {
				p, err = Acquire(t.Context(), data, "default", slog.New(slog.DiscardHandler))
			}
			if err == nil {
				p.Release(t.Context())
			}
			if executor.CodeOf(err) != executor.ErrLaunchFailed || !strings.Contains(err.Error(), want) {
				t.Errorf("isolated %v, directory %q: %v, want %q", isolated, name, err, want)
			}
		}
	}
}
