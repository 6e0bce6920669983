package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
	if _, _, err := newLogger(&settings{logFile: link}, io.Discard); err == nil || !strings.Contains(err.Error(), "is a symbolic link") {
		t.Errorf("a link: %v", err)
	}
	log, closeLog, err := newLogger(&settings{logFile: path}, io.Discard)
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

// TestOpenLog checks that a log stays below a limit, and that the latest entries are kept.
func TestOpenLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	for _, size := range []int{maxLog, 1, 5} {
		f, err := openLog(path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Write(make([]byte, size))
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]int64{path: 5, path + ".old": maxLog + 1} {
		if info, err := os.Stat(name); err != nil || info.Size() != want {
			t.Errorf("%s: %v, %v, want %d bytes", name, info, err, want)
		}
	}
}
