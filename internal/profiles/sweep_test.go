package profiles

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestSweepIgnoresForeignDirs(t *testing.T) {
	data := t.TempDir()
	mk := func(name string) string {
		dir := filepath.Join(data, "tmp", name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	fresh, old, foreign := mk("profile-fresh"), mk("profile-old"), mk("download-1")
	// Between the creation of its lock file and the lock, a profile looks like this.
	unowned := mk("profile-unowned")
	if err := os.WriteFile(filepath.Join(unowned, lockName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	past := time.Now().Add(-2 * unownedAge)
	for _, dir := range []string{old, foreign} {
		if err := os.Chtimes(dir, past, past); err != nil {
			t.Fatal(err)
		}
	}
	elsewhere := t.TempDir()
	if err := os.Symlink(elsewhere, filepath.Join(data, "tmp", "profile-link")); err != nil {
		t.Fatal(err)
	}
	removed, _, err := Sweep(t.Context(), data)
	if err != nil || !slices.Equal(removed, []string{old}) {
		t.Errorf("Sweep = %q, %v, want only %s", removed, err, old)
	}
	if !exists(fresh) || !exists(unowned) || !exists(foreign) || !exists(elsewhere) || exists(old) {
		t.Error("the wrong directories are left")
	}
	if removed, _, err := Sweep(t.Context(), filepath.Join(data, "nothing")); err != nil || len(removed) > 0 {
		t.Errorf("Sweep of a missing directory = %q, %v", removed, err)
	}
}

// TestSocketWithoutLink checks the cleanup after a browser that was killed while it exited: it has
// removed the link to its socket, but not the directory of the socket.
func TestSocketWithoutLink(t *testing.T) {
	p, err := NewTemporary(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "org.chromium.Chromium.abcdef")
	p.socket = filepath.Join(dir, "SingletonSocket")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"SingletonSocket", "SingletonCookie"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Release(t.Context()); err != nil || exists(dir) || exists(p.Dir) {
		t.Errorf("release: %v; socket directory exists: %v, profile exists: %v", err, exists(dir), exists(p.Dir))
	}
}
