package main

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestCanMake(t *testing.T) {
	dir := t.TempDir()
	if err := canMake(filepath.Join(dir, "a", "b", "c")); err != nil {
		t.Errorf("three folders down: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("looking made %v", left)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := canMake(filepath.Join(file, "a")); err == nil {
		t.Error("a folder can be made in a file")
	}
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		return // nothing is closed to root, and Windows is not asked
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	if err := canMake(filepath.Join(dir, "a")); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("in a folder that is read-only: %v", err)
	}
}

func TestIsTerminal(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	for name, in := range map[string]io.Reader{"null": null, "pipe": r, "no file": strings.NewReader("")} {
		if isTerminal(in) {
			t.Errorf("%s is taken for a terminal", name)
		}
	}
}

func TestDoctorTellsJoinedFromStarted(t *testing.T) {
	if got := launched(&settings{cdpEndpoint: "http://127.0.0.1:9222"}); !strings.HasPrefix(got, "joined") || strings.Contains(got, "ended") {
		t.Errorf("of a joined browser doctor says %q", got)
	}
	if got := launched(&settings{}); !strings.HasPrefix(got, "started") {
		t.Errorf("of a launched browser doctor says %q", got)
	}
}
