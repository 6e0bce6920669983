package cli

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
	if err := checkCreatable(filepath.Join(dir, "a", "b", "c")); err != nil {
		t.Errorf("three directories deep: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("the check created %v", left)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := checkCreatable(filepath.Join(file, "a")); err == nil {
		t.Error("a directory can be created in a file")
	}
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		return // root can write everywhere, and Windows is not checked
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	if err := checkCreatable(filepath.Join(dir, "a")); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("in a read-only directory: %v", err)
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
		if IsTerminal(in) {
			t.Errorf("%s counts as a terminal", name)
		}
	}
}
