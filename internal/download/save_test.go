package download

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
)

// testLimit is a maximum size that no file of the tests exceeds.
const testLimit = 100 << 20

func open(t *testing.T, maxBytes int64) *Dir {
	t.Helper()
	d, err := Open(filepath.Join(t.TempDir(), "data", "downloads"), maxBytes)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// files returns the names of all files in the directory and its staging directory.
func files(t *testing.T, d *Dir) []string {
	t.Helper()
	names := []string{}
	err := filepath.WalkDir(d.Path(), func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			name, _ := filepath.Rel(d.Path(), path)
			names = append(names, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func wantFiles(t *testing.T, d *Dir, want ...string) {
	t.Helper()
	slices.Sort(want)
	if got := files(t, d); !slices.Equal(got, want) {
		t.Errorf("files are %q, want %q", got, want)
	}
}

func wantCode(t *testing.T, err error, code errs.Code, text string) *errs.Error {
	t.Helper()
	var e *errs.Error
	if !errors.As(err, &e) || e.Code != code || !strings.Contains(e.Error(), text) {
		t.Fatalf("error is %v (%v), want %s with %q", err, errs.CodeOf(err), code, text)
	}
	return e
}

func wantContent(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s contains %q (%v), want %q", path, got, err, want)
	}
}

func TestSave(t *testing.T) {
	d := open(t, testLimit)
	f, err := d.Save("../a.txt", strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	if want := (File{Path: filepath.Join(d.Path(), "a.txt"), Name: "a.txt", Bytes: 5}); f != want {
		t.Errorf("Save = %+v, want %+v", f, want)
	}
	wantContent(t, f.Path, "hello")
	if runtime.GOOS != "windows" {
		for path, want := range map[string]fs.FileMode{f.Path: 0o600, d.Path(): 0o700} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: mode %v (%v), want %v", path, info.Mode().Perm(), err, want)
			}
		}
	}
	for _, want := range []string{"a (1).txt", "a (2).txt"} {
		if f, err := d.Save("a.txt", strings.NewReader("other")); err != nil || f.Name != want {
			t.Errorf("Save = %+v, %v, want name %q", f, err, want)
		}
	}
	wantContent(t, f.Path, "hello")
	wantFiles(t, d, "a.txt", "a (1).txt", "a (2).txt")
}

func TestNumbered(t *testing.T) {
	for name, want := range map[string]string{
		"a.pdf": "a (1).pdf", "a": "a (1)", "a.tar.gz": "a (1).tar.gz", "a.exe.download": "a.exe (1).download", "tar.gz": "tar (1).gz",
	} {
		if got := numbered(name, 1); got != want {
			t.Errorf("numbered(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestSaveSizeLimit(t *testing.T) {
	d := open(t, 1<<20)
	if f, err := d.Save("exact", bytes.NewReader(make([]byte, 1<<20))); err != nil || f.Bytes != 1<<20 {
		t.Fatalf("a file of exactly the limit: %+v, %v", f, err)
	}
	e := wantCode(t, errOf(d.Save("more", bytes.NewReader(make([]byte, 1<<20+1)))), errs.ErrDownloadFailed, "larger than 1 MB")
	if !strings.Contains(e.Hint, "Options.MaxDownloadBytes") {
		t.Errorf("hint %q does not name the option", e.Hint)
	}
	// Save stops reading an endless stream when it is too long.
	wantCode(t, errOf(d.Save("endless", zeros{})), errs.ErrDownloadFailed, "larger than 1 MB")
	wantFiles(t, d, "exact")
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func errOf[T any](_ T, err error) error { return err }

func TestSaveReaderFails(t *testing.T) {
	d := open(t, 4)
	broken := errors.New("secret of https://ann@x.test/")
	for name, r := range map[string]io.Reader{
		"immediately":  iotest.ErrReader(broken),
		"halfway":      io.MultiReader(strings.NewReader("ab"), iotest.ErrReader(broken)),
		"at the limit": io.MultiReader(strings.NewReader("abcd"), iotest.ErrReader(broken)),
	} {
		err := errOf(d.Save(name, r))
		wantCode(t, err, errs.ErrDownloadFailed, "interrupted after")
		if !errors.Is(err, broken) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v does not wrap its cause, or contains it", name, err)
		}
	}
	wantFiles(t, d)
}

// TestConcurrentSaves starts twenty saves that choose a name at the same time.
func TestConcurrentSaves(t *testing.T) {
	for _, tt := range []struct {
		name  string
		links bool
	}{{"hard links", true}, {"no hard links", false}} {
		t.Run(tt.name, func(t *testing.T) {
			d := open(t, testLimit)
			if !tt.links {
				d.link = func(string, string) error { return errors.ErrUnsupported }
			}
			const n = 20
			var ready, done sync.WaitGroup
			ready.Add(n)
			var mu sync.Mutex
			paths := map[string]string{}
			for i := range n {
				content := strconv.Itoa(i)
				done.Go(func() {
					last := readerFunc(func([]byte) (int, error) {
						ready.Done()
						ready.Wait()
						return 0, io.EOF
					})
					f, err := d.Save("report.pdf", io.MultiReader(strings.NewReader(content), last))
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					defer mu.Unlock()
					paths[f.Path] = content
				})
			}
			done.Wait()
			if len(paths) != n {
				t.Fatalf("%d paths, want %d", len(paths), n)
			}
			for path, content := range paths {
				wantContent(t, path, content)
			}
			want := []string{"report.pdf"}
			for i := 1; i < n; i++ {
				want = append(want, numbered("report.pdf", i))
			}
			wantFiles(t, d, want...)
		})
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestSaveNameInUseByLink(t *testing.T) {
	for _, links := range []bool{true, false} {
		d := open(t, testLimit)
		if !links {
			d.link = func(string, string) error { return errors.ErrUnsupported }
		}
		victim := filepath.Join(t.TempDir(), "victim")
		if err := os.WriteFile(victim, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		symlink(t, victim, filepath.Join(d.Path(), "a.txt"))
		symlink(t, filepath.Join(t.TempDir(), "missing"), filepath.Join(d.Path(), "a (1).txt"))
		f, err := d.Save("a.txt", strings.NewReader("theirs"))
		if err != nil || f.Name != "a (2).txt" {
			t.Errorf("Save = %+v, %v", f, err)
		}
		wantContent(t, victim, "mine")
		wantContent(t, f.Path, "theirs")
	}
}

func symlink(t *testing.T, to, at string) {
	t.Helper()
	if err := os.Symlink(to, at); err != nil {
		t.Fatal(err)
	}
}

func TestOpenRejects(t *testing.T) {
	parent := t.TempDir()
	real := filepath.Join(parent, "real")
	wide := filepath.Join(parent, "wide")
	file := filepath.Join(parent, "file")
	if err := errors.Join(os.Mkdir(real, 0o700), os.Mkdir(wide, 0o700), os.Chmod(wide, 0o770), os.WriteFile(file, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	symlink(t, real, filepath.Join(parent, "link"))
	symlink(t, filepath.Join(parent, "nowhere"), filepath.Join(parent, "dangling"))
	for name, why := range map[string]string{"link": "symbolic link", "dangling": "", "wide": "written to by others (mode 0770)", "file": ""} {
		if runtime.GOOS == "windows" && name == "wide" {
			continue
		}
		wantCode(t, errOf(Open(filepath.Join(parent, name), testLimit)), errs.ErrDownloadFailed, why)
	}
	if _, err := os.Lstat(filepath.Join(parent, "nowhere")); err == nil {
		t.Error("the target of a dangling link was created")
	}
	wantCode(t, errOf(Open(real, -1)), errs.ErrBadArgs, "not positive")
}

func stage(t *testing.T, d *Dir, name, content string) string {
	t.Helper()
	dir, err := d.Staging()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAdopt(t *testing.T) {
	for _, links := range []bool{true, false} {
		d := open(t, 10)
		if !links {
			d.link = func(string, string) error { return errors.ErrUnsupported }
		}
		if _, err := d.Save("a.sh.download", strings.NewReader("first")); err != nil {
			t.Fatal(err)
		}
		f, err := d.Adopt(stage(t, d, "guid-1", "second"), "x/a.sh", nil)
		if want := (File{Path: filepath.Join(d.Path(), "a.sh (1).download"), Name: "a.sh (1).download", Bytes: 6}); err != nil || f != want {
			t.Fatalf("Adopt = %+v, %v, want %+v", f, err, want)
		}
		wantContent(t, f.Path, "second")
		if info, err := os.Stat(f.Path); runtime.GOOS != "windows" && (err != nil || info.Mode().Perm() != 0o600) {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
		wantCode(t, errOf(d.Adopt(stage(t, d, "guid-2", "eleven byte"), "b.txt", nil)), errs.ErrDownloadFailed, "larger than 10 bytes")
		wantFiles(t, d, "a.sh.download", "a.sh (1).download")
	}
}

func TestAdoptRejects(t *testing.T) {
	d := open(t, testLimit)
	staging, err := d.Staging()
	if err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "outside")
	beside := filepath.Join(d.Path(), "beside")
	for _, path := range []string{outside, beside} {
		if err := os.WriteFile(path, []byte("mine"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	symlink(t, outside, filepath.Join(staging, "out"))
	symlink(t, filepath.Join("..", "beside"), filepath.Join(staging, "in"))
	for path, why := range map[string]string{
		outside:                         "outside its staging directory",
		beside:                          "outside its staging directory",
		staging + "/../beside":          "outside its staging directory",
		filepath.Join(staging, "out"):   "not a regular file",
		filepath.Join(staging, "in"):    "not a regular file",
		filepath.Join(staging, "never"): "saving the file",
	} {
		wantCode(t, errOf(d.Adopt(path, "a.txt", nil)), errs.ErrDownloadFailed, why)
	}
	wantFiles(t, d, "beside") // only the links were removed, not their targets
	wantContent(t, outside, "mine")
	wantContent(t, beside, "mine")
}

func TestStagingReplacedByLink(t *testing.T) {
	d := open(t, testLimit)
	elsewhere := t.TempDir()
	path := filepath.Join(elsewhere, "file")
	if err := os.WriteFile(path, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	symlink(t, elsewhere, filepath.Join(d.Path(), stagingName))
	wantCode(t, errOf(d.Staging()), errs.ErrDownloadFailed, "symbolic link")
	wantCode(t, errOf(d.Adopt(filepath.Join(d.Path(), stagingName, "file"), "a", nil)), errs.ErrDownloadFailed, "symbolic link")
	wantContent(t, path, "mine")
}

func TestClosed(t *testing.T) {
	d := open(t, testLimit)
	path := stage(t, d, "guid", "x")
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	wantCode(t, errOf(d.Save("a", strings.NewReader("a"))), errs.ErrDownloadFailed, "closed")
	wantCode(t, errOf(d.Adopt(path, "a", nil)), errs.ErrDownloadFailed, "closed")
}

// TestSweep checks that Open removes old partial files of killed processes, and no other files.
func TestSweep(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "downloads")
	if err := os.MkdirAll(filepath.Join(dir, stagingName), 0o700); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * sweepAge)
	kept := map[string]bool{
		"report.pdf": true, partialPrefix + "OLD": false, partialPrefix + "NEW": true,
		stagingName + "/old": false, stagingName + "/old.crdownload": false, stagingName + "/new": true,
	}
	for name := range kept {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strings.ToLower(name), "new") {
			if err := os.Chtimes(path, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	d, err := Open(dir, testLimit)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for name, want := range kept {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: %v, want preserved: %v", name, err, want)
		}
	}
}
