//go:build unix

package audit

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestOpenRejectsUnsafeFiles checks that Open rejects files that are not suitable for the log and
// does not change them.
func TestOpenRejectsUnsafeFiles(t *testing.T) {
	for name, tt := range map[string]struct {
		make func(t *testing.T, path string) error
		want string
	}{
		"symbolic link": {func(t *testing.T, path string) error {
			target := filepath.Join(t.TempDir(), "target")
			if err := os.WriteFile(target, nil, 0o600); err != nil {
				return err
			}
			t.Cleanup(func() {
				if info, err := os.Stat(target); err != nil || info.Size() > 0 {
					t.Errorf("target of the link: %v, %v", info, err)
				}
			})
			return os.Symlink(target, path)
		}, "is a symbolic link"},
		"dangling link": {func(_ *testing.T, path string) error { return os.Symlink(path+".none", path) }, "is a symbolic link"},
		"hard link": {func(_ *testing.T, path string) error {
			if err := os.WriteFile(path+".other", nil, 0o600); err != nil {
				return err
			}
			return os.Link(path+".other", path)
		}, "hard link"},
		"directory":     {func(_ *testing.T, path string) error { return os.Mkdir(path, 0o700) }, "is not a regular file"},
		"pipe":          {func(_ *testing.T, path string) error { return syscall.Mkfifo(path, 0o600) }, "is not a regular file"},
		"readable file": {func(_ *testing.T, path string) error { return os.WriteFile(path, nil, 0o644) }, "may be read by others (mode 0644)"},
		"writable directory": {func(t *testing.T, path string) error {
			t.Cleanup(func() { os.Chmod(filepath.Dir(path), 0o700) })
			return os.Chmod(filepath.Dir(path), 0o777)
		}, "others may write to"},
		"missing directory": {func(_ *testing.T, path string) error { return os.Remove(filepath.Dir(path)) }, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "logs", "audit.jsonl")
			if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := tt.make(t, path); err != nil {
				t.Fatal(err)
			}
			l, err := Open(path, nil)
			if err == nil {
				l.Close()
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Open: %v, want %q", err, tt.want)
			}
		})
	}
}

// TestStickyDir checks that a writable directory with the sticky bit is accepted, because only the
// owner of a file can replace it there.
func TestStickyDir(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	open(t, filepath.Join(dir, "audit.jsonl"), nil)
}

// TestFileReplacedBySymlink checks that the log does not follow a link that replaces its file while
// it is open.
func TestFileReplacedBySymlink(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	target := filepath.Join(t.TempDir(), "target")
	if err := os.WriteFile(target, []byte("precious\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := open(t, path, nil)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	l.Record(Entry{Event: EventCall})
	if err := l.Ready(); err == nil {
		t.Error("Ready: nil")
	}
	if data, err := os.ReadFile(target); err != nil || string(data) != "precious\n" {
		t.Errorf("%q, %v", data, err)
	}
}

// TestDiskFull checks that the log recovers from an incomplete write. It runs in a separate process
// with a limit on the file size, which truncates a write as a full disk does.
func TestDiskFull(t *testing.T) {
	const inner = "AUDIT_TEST_DISK_FULL"
	path := os.Getenv(inner)
	if path == "" {
		path = filepath.Join(t.TempDir(), "audit.jsonl")
		cmd := exec.Command(os.Args[0], "-test.run=^TestDiskFull$")
		cmd.Env = append(os.Environ(), inner+"="+path)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if info, err := os.Stat(path); err != nil || info.Size() != 1000 {
			t.Fatalf("the inner test did not fill the file: %v, %v", info, err)
		}
		// There is space again: the incomplete line does not affect the next line.
		open(t, path, nil)
		data, err := os.ReadFile(path)
		lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
		if last := lines[len(lines)-1]; err != nil || !strings.HasPrefix(last, "{") || !strings.Contains(last, `"start"`) {
			t.Errorf("%q, %v", last, err)
		}
		return
	}
	l := open(t, path, nil)
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1000, Max: 1000}); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		l.Record(Entry{Event: EventCall, Tool: "navigate"})
	}
	if err := l.Ready(); err == nil {
		t.Error("Ready: nil")
	}
	if err := l.Close(); err == nil || !strings.Contains(err.Error(), "could not be written") {
		t.Errorf("Close: %v", err)
	}
}
