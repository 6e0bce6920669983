package profiles

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// TestNamedProfiles lists, empties and removes profiles, of which a browser uses one.
func TestNamedProfiles(t *testing.T) {
	data, ctx := t.TempDir(), t.Context()
	if all, err := List(data); err != nil || len(all) != 0 {
		t.Errorf("without profiles: %v, %v", all, err)
	}
	start := time.Now().AddDate(0, 0, -1)
	acquire := func(name string) *Profile {
		t.Helper()
		p, err := Acquire(ctx, data, name, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(p.Dir, "Default"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(p.Dir, "Default", "Cookies"), make([]byte, 1000), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	used := acquire("used")
	for _, name := range []string{"a", "b"} {
		if err := acquire(name).Release(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(data, "profiles", "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	list := func() (names []string) {
		t.Helper()
		all, err := List(data)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range all {
			names = append(names, p.Name)
			if p.InUse != (p.Name == "used") || p.LastUsed.Before(start) {
				t.Errorf("profile %+v", p)
			}
		}
		return names
	}
	if got := list(); !slices.Equal(got, []string{"a", "b", "used"}) {
		t.Errorf("profiles %q", got)
	}
	if all, _ := List(data); all[0].Bytes != 1000 || all[2].Bytes < 1000 {
		t.Errorf("sizes of %+v", all)
	}

	for name, change := range map[string]func(string) error{
		"reset":  func(name string) error { return Reset(ctx, data, name) },
		"remove": func(name string) error { return Remove(ctx, data, name) },
	} {
		if err := change("used"); !errors.Is(err, ErrInUse) {
			t.Errorf("%s of a profile in use: %v", name, err)
		}
		for _, bad := range []string{"none", "..", "", "file", "a/Default"} {
			if err := change(bad); executor.CodeOf(err) != executor.ErrBadArgs {
				t.Errorf("%s of %q: %v", name, bad, err)
			}
		}
	}
	if !exists(filepath.Join(used.Dir, "Default", "Cookies")) {
		t.Error("a profile in use was emptied")
	}
	if err := Reset(ctx, data, "a"); err != nil {
		t.Error(err)
	}
	if err := Remove(ctx, data, "b"); err != nil {
		t.Error(err)
	}
	if got := list(); !slices.Equal(got, []string{"a", "used"}) || exists(filepath.Join(data, "profiles", "a", "Default")) {
		t.Errorf("profiles %q", got)
	}
	if err := used.Release(ctx); err != nil {
		t.Fatal(err)
	}
	if err := Remove(ctx, data, "used"); err != nil {
		t.Error(err)
	}
}

// TestLockOfRemovedFile checks that one process at a time has the lock of a profile, also while
// profiles are removed.
func TestLockOfRemovedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), lockName)
	var holders, locked atomic.Int32
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() {
			for range 2000 {
				f, err := lockFile(path)
				if err != nil {
					continue // another goroutine has it
				}
				locked.Add(1)
				if holders.Add(1) > 1 {
					t.Error("two holders")
				}
				runtime.Gosched()
				holders.Add(-1)
				_ = os.Remove(path) // Windows does not remove an open file
				f.Close()
			}
		})
	}
	running.Wait()
	if locked.Load() == 0 {
		t.Error("no lock was acquired")
	}
}

func exists(path string) bool { _, err := os.Lstat(path); return err == nil }
