package download

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
)

func TestSaveAt(t *testing.T) {
	d := open(t, testLimit)
	for _, c := range []struct{ path, want string }{
		{"page", "page.md"},
		{"page", "page (1).md"},
		{"page.md", "page (2).md"},
		{"page.v2", "page.v2"},
		{"runs/2026-11-24/home_1.txt", "runs/2026-11-24/home_1.txt"},
		{"runs/2026-11-24/home_1.txt", "runs/2026-11-24/home_1 (1).txt"},
		{"setup.exe", "setup.exe.download"},
		{"run.SH", "run.SH.download"},
		{"Evil.app/Contents/run", "Evil.app.download/Contents/run.md"},
		{strings.Repeat("x", 149) + "/y", strings.Repeat("x", 149) + "/y.md"},
	} {
		if len(c.path) > maxNameBytes {
			c.path, c.want = c.path[2:], c.want[2:]
		}
		f, err := d.SaveAt(c.path, ".md", strings.NewReader("hello"))
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
			continue
		}
		if want := filepath.Join(d.Path(), filepath.FromSlash(c.want)); f.Path != want || f.Bytes != 5 {
			t.Errorf("%s: saved %+v, want %s", c.path, f, want)
		}
		wantContent(t, f.Path, "hello")
	}
	if runtime.GOOS != "windows" {
		for path, want := range map[string]fs.FileMode{"runs": 0o700, "runs/2026-11-24": 0o700, "runs/2026-11-24/home_1.txt": 0o600} {
			if info, err := os.Stat(filepath.Join(d.Path(), path)); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: mode %v (%v), want %v", path, info.Mode().Perm(), err, want)
			}
		}
	}
}

func TestCheckPath(t *testing.T) {
	d := open(t, testLimit)
	for _, path := range []string{
		"", "/", "/etc/passwd", "a/", "a//b", "..", "../a", "a/../../b", ".", "./a", ".bashrc", "a/.ssh/key", "a.", "a./b",
		`a\b`, `..\a`, "C:a", "C:/a", "a:b", "a b", "a\nb", "a\x00b", "é.md", "a*", "~", "~/a", "$HOME",
		"con", "NUL.txt", "a/com1.log", "aux/x", "LPT9", "desktop.ini",
		strings.Repeat("x", maxNameBytes+1), strings.Repeat("a/", maxPathElements) + "a",
	} {
		if err := CheckPath(path); err == nil || !strings.HasPrefix(err.Error(), "must ") {
			t.Errorf("CheckPath(%q) = %v", path, err)
		}
		_, err := d.SaveAt(path, ".md", strings.NewReader("hello"))
		wantCode(t, err, errs.ErrBadArgs, "path must ")
	}
	wantFiles(t, d)
}

// TestSaveAtLinks plants links at each place that SaveAt uses.
func TestSaveAtLinks(t *testing.T) {
	d := open(t, testLimit)
	outside, inside := t.TempDir(), filepath.Join(d.Path(), "inside")
	if err := os.Mkdir(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"out": outside, "in": inside, "file.md": filepath.Join(outside, "file.md"), "loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(d.Path(), link)); err != nil {
			t.Skipf("no symbolic links: %v", err) // Windows without the privilege
		}
	}
	for _, path := range []string{"out/a.md", "in/a.md", "in/deeper/a.md", "loop/a.md"} {
		_, err := d.SaveAt(path, ".md", strings.NewReader("hello"))
		wantCode(t, err, errs.ErrDownloadFailed, "is a symbolic link")
	}
	if f, err := d.SaveAt("file.md", ".md", strings.NewReader("hello")); err != nil || f.Name != "file (1).md" {
		t.Errorf("next to a link: %+v, %v", f, err)
	}
	for _, dir := range []string{outside, inside} {
		if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
			t.Errorf("%s has %v, %v", dir, list, err)
		}
	}
	if err := os.WriteFile(filepath.Join(d.Path(), "plain"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := d.SaveAt("plain/x", ".md", strings.NewReader("hello"))
	wantCode(t, err, errs.ErrDownloadFailed, "is not a directory")
}

// TestSaveAtLeavesNothing saves a file that is too large, and finds a partial file of a killed
// process.
func TestSaveAtLeavesNothing(t *testing.T) {
	d := open(t, 5)
	_, err := d.SaveAt("a/b.md", "", strings.NewReader("hello!"))
	wantCode(t, err, errs.ErrDownloadFailed, "file is larger than 5 bytes")
	wantFiles(t, d)
	old := filepath.Join(d.Path(), "a", partialPrefix+"X")
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-2 * sweepAge)
	if err := os.Chtimes(old, long, long); err != nil {
		t.Fatal(err)
	}
	if _, err := d.SaveAt("a/b.md", "", strings.NewReader("hello")); err != nil {
		t.Error(err)
	}
	wantFiles(t, d, "a/b.md")
}
