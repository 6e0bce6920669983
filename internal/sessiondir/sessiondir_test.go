package sessiondir

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
	var usages Usages
	dirs := func(name, principal string, token bool) Dirs {
		return Dirs{name, principal, token, &usages}
	}
	used := func() (bytes int64, files int) {
		u := dirs("a", "ann", true).OutputUsage(data)
		if !u.Reserve(0, 0, 1<<20, 1<<20) { // counts
			t.Fatal("too many files")
		}
		return u.Used()
	}
	if bytes, files := used(); bytes != 0 || files != 0 {
		t.Errorf("without files: %d bytes, %d files", bytes, files)
	}
	write(dirs("a", "ann", true).Output(data), "one")
	write(dirs("B", "ann", true).Output(data), "deep/two")
	write(dirs("a", "joann", true).Output(data), "x")
	write(dirs("a", "Ann", true).Output(data), "x")
	write(dirs("ann", "", false).Output(data), "x")
	write(dirs("a", "ann", true).Downloads(data), "x")
	write(dirs("a", "ann", true).Output(data), "deep/.partial-x")
	write(dirs("a", "ann", true).Output(data), ".staging/guid")
	if bytes, files := used(); bytes != 40 || files != 7 { // with directories; no reservation is for the unfinished files
		t.Errorf("%d bytes, %d files, want 40 and 7", bytes, files)
	}
	if u := dirs("a", "chat", false).OutputUsage(data); u != nil {
		t.Error("the files of a chat are counted")
	}
	if a, b := dirs("a", "ann", true).OutputUsage(data), dirs("b", "ann", true).OutputUsage(data); a != b {
		t.Error("two sessions of a principal have separate limits")
	}
	if a, b := dirs("a", "ann", true).Downloads(data), dirs("a", "bob", true).Downloads(data); a == b {
		t.Errorf("the downloads of two principals are in %s", a)
	}
}
