package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFileNameOfSession checks that different names of sessions have different directories, which all
// systems can create.
func TestFileNameOfSession(t *testing.T) {
	seen := map[string]string{}
	for _, name := range []string{"work", "Work", "WORK", "a", "A", "a.", "a..", "con", "CON", "con.txt", "com1", "LPT9.log", "nul", "content", "company", "a.b", "_x"} {
		got := fileName(name)
		if other, ok := seen[strings.ToLower(got)]; ok {
			t.Errorf("%q and %q have the file name %q", name, other, got)
		}
		seen[strings.ToLower(got)] = name
		if strings.HasSuffix(got, ".") || strings.ContainsAny(got, "@/\\:") {
			t.Errorf("%q has the file name %q", name, got)
		}
	}
	for _, name := range []string{"work", "content", "company", "a.b", "_x"} {
		if got := fileName(name); got != name {
			t.Errorf("%q has the file name %q", name, got)
		}
	}
}

// TestFilesOfPrincipal checks that the files of all sessions of a principal count, and no others.
func TestFilesOfPrincipal(t *testing.T) {
	data := t.TempDir()
	write := func(dir, name string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, 10), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	used := sessionDirs{"a", "ann", true}.outputUsed(data)
	if bytes, files := used(); bytes != 0 || files != 0 {
		t.Errorf("without files: %d bytes, %d files", bytes, files)
	}
	write(sessionDirs{"a", "ann", true}.output(data), "one")
	write(sessionDirs{"B", "ann", true}.output(data), "deep/two")
	write(sessionDirs{"a", "joann", true}.output(data), "x")
	write(sessionDirs{"a", "Ann", true}.output(data), "x")
	write(sessionDirs{"ann", "", false}.output(data), "x")
	write(sessionDirs{"a", "ann", true}.downloads(data), "x")
	if bytes, files := used(); bytes != 20 || files != 3 { // with a directory
		t.Errorf("%d bytes, %d files, want 20 and 3", bytes, files)
	}
	if used := (sessionDirs{"a", "chat", false}).outputUsed(data); used != nil {
		t.Error("the files of a chat are counted")
	}
	if a, b := (sessionDirs{"a", "ann", true}).downloads(data), (sessionDirs{"a", "bob", true}).downloads(data); a == b {
		t.Errorf("the downloads of two principals are in %s", a)
	}
}
