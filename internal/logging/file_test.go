package logging

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestOpenLog checks that a log stays below a limit, and that the latest entries are kept.
func TestOpenLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	for _, size := range []int{maxBytes, 1, 5} {
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Write(make([]byte, size))
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]int64{path: 5, path + ".old": maxBytes + 1} {
		if info, err := os.Stat(name); err != nil || info.Size() != want {
			t.Errorf("%s: %v, %v, want %d bytes", name, info, err, want)
		}
	}
}
