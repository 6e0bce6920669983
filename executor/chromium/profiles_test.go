package chromium

import (
	"errors"
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

// TestProfiles lists, empties and removes profiles, of which a browser uses one.
func TestProfiles(t *testing.T) {
	data, ctx := t.TempDir(), t.Context()
	if all, err := Profiles(data); err != nil || len(all) != 0 {
		t.Errorf("without profiles: %v, %v", all, err)
	}
	start := time.Now().AddDate(0, 0, -1)
	acquire := func(name string) *profile {
		t.Helper()
		o, err := Options{DataDir: data, Profile: name}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		p, err := acquireProfile(ctx, &o)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(p.dir, "Default"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(p.dir, "Default", "Cookies"), make([]byte, 1000), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	used := acquire("used")
	for _, name := range []string{"a", "b"} {
		if err := acquire(name).release(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(data, "profiles", "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	list := func() (names []string) {
		t.Helper()
		all, err := Profiles(data)
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
	if all, _ := Profiles(data); all[0].Bytes != 1000 || all[2].Bytes < 1000 {
		t.Errorf("sizes of %+v", all)
	}

	for name, change := range map[string]func(string) error{
		"reset":  func(name string) error { return ResetProfile(ctx, data, name) },
		"remove": func(name string) error { return RemoveProfile(ctx, data, name) },
	} {
		if err := change("used"); !errors.Is(err, ErrProfileInUse) {
			t.Errorf("%s of a profile in use: %v", name, err)
		}
		for _, bad := range []string{"none", "..", "", "file", "a/Default"} {
			if err := change(bad); executor.CodeOf(err) != executor.ErrBadArgs {
				t.Errorf("%s of %q: %v", name, bad, err)
			}
		}
	}
	if !exists(filepath.Join(used.dir, "Default", "Cookies")) {
		t.Error("a profile in use was emptied")
	}
	if err := ResetProfile(ctx, data, "a"); err != nil {
		t.Error(err)
	}
	if err := RemoveProfile(ctx, data, "b"); err != nil {
		t.Error(err)
	}
	if got := list(); !slices.Equal(got, []string{"a", "used"}) || exists(filepath.Join(data, "profiles", "a", "Default")) {
		t.Errorf("profiles %q", got)
	}
	if err := used.release(ctx); err != nil {
		t.Fatal(err)
	}
	if err := RemoveProfile(ctx, data, "used"); err != nil {
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
