package chromefortesting

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
)

// A zipFile is a file of a test archive. A name that ends with / is a directory.
type zipFile struct {
	name, content string
	mode          fs.FileMode
}

const fakeChrome = "#!/bin/sh\necho Google Chrome for Testing 140.0.1.2\n"

// chromeFiles are the files of an archive for linux64.
var chromeFiles = []zipFile{
	{"chrome-linux64/", "", fs.ModeDir | 0o755},
	{"chrome-linux64/chrome", fakeChrome, 0o755},
	{"chrome-linux64/locales/en-US.pak", "pak", 0o644},
	{"chrome-linux64/current", "locales", fs.ModeSymlink | 0o777},
}

func archiveOf(t testing.TB, files ...zipFile) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate}
		h.SetMode(f.mode)
		w, err := z.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, f.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// goodSums returns the header of a storage server for an archive.
func goodSums(archive []byte) string {
	crc := binary.BigEndian.AppendUint32(nil, crc32.Checksum(archive, crc32.MakeTable(crc32.Castagnoli)))
	sum := md5.Sum(archive)
	return "crc32c=" + base64.StdEncoding.EncodeToString(crc) + ",md5=" + base64.StdEncoding.EncodeToString(sum[:])
}

// A site serves the versions and one archive.
type site struct {
	*httptest.Server
	version   string
	archive   []byte
	sums      string                                       // values of the header, separated by spaces; empty means no header
	serve     func(w http.ResponseWriter, r *http.Request) // replaces the response with the archive, if not nil
	downloads atomic.Int32
}

func newSite(t testing.TB, archive []byte) *site {
	s := &site{version: "140.0.1.2", archive: archive, sums: goodSums(archive)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/versions.json" {
			fmt.Fprintf(w, `{"timestamp": "2026-01-01T00:00:00.000Z", "channels": {"Stable": {"channel": "Stable", "version": %q, "downloads": {
				"chrome": [{"platform": "mac-x64", "url": "%s/mac.zip"}, {"platform": "linux64", "url": "%s/chrome.zip"}],
				"chromedriver": [{"platform": "linux64", "url": "%s/driver.zip"}]}}}}`, s.version, s.URL, s.URL, s.URL)
			return
		}
		s.downloads.Add(1)
		for sums := range strings.FieldsSeq(s.sums) {
			w.Header().Add("X-Goog-Hash", sums)
		}
		if s.serve != nil {
			s.serve(w, r)
			return
		}
		w.Write(s.archive)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *site) options(dataDir string) Options {
	return Options{DataDir: dataDir, VersionsURL: s.URL + "/versions.json", platform: "linux64"}
}

// checkNothingLeft checks that a failed installation left no files except the lock.
func checkNothingLeft(t *testing.T, dataDir string) {
	t.Helper()
	entries, _ := os.ReadDir(directory(dataDir))
	for _, e := range entries {
		if e.Name() != "lock" {
			t.Errorf("%s is left", e.Name())
		}
	}
	if b, ok := find(dataDir, "linux64"); ok {
		t.Errorf("found %v", b)
	}
}

func TestInstall(t *testing.T) {
	s := newSite(t, archiveOf(t, chromeFiles...))
	data := filepath.Join(t.TempDir(), "data")
	o := s.options(data)
	var received, total int64
	o.Progress = func(version string, r, n int64) { received, total = r, n }
	b, installed, err := Install(t.Context(), o)
	if err != nil || !installed || b.Version != "140.0.1.2" {
		t.Fatalf("Install = %v, %v, %v", b, installed, err)
	}
	if size := int64(len(s.archive)); received != size || total != size {
		t.Errorf("progress ended with %d of %d, want %d", received, total, size)
	}
	if found, ok := find(data, "linux64"); !ok || found != b {
		t.Errorf("find = %v, %v, want %v", found, ok, b)
	}
	if runtime.GOOS != "windows" {
		out, err := exec.Command(b.Path, "--version").Output()
		if err != nil || !strings.Contains(string(out), "140.0.1.2") {
			t.Errorf("%s: %q, %v", b.Path, out, err)
		}
		if text, err := os.ReadFile(filepath.Join(filepath.Dir(b.Path), "current", "en-US.pak")); string(text) != "pak" {
			t.Errorf("link: %q, %v", text, err)
		}
	}
	again, installed, err := Install(t.Context(), o)
	if err != nil || installed || again != b || s.downloads.Load() != 1 {
		t.Errorf("second Install = %v, %v, %v after %d downloads", again, installed, err, s.downloads.Load())
	}

	// Force replaces the same version, and adds a newer one.
	o.Force = true
	mark := filepath.Join(filepath.Dir(b.Path), "mark")
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if again, installed, err = Install(t.Context(), o); err != nil || !installed || again != b {
		t.Errorf("Install with Force = %v, %v, %v", again, installed, err)
	}
	if _, err := os.Stat(mark); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old files are still there: %v", err)
	}
	s.version = "140.0.1.10"
	newer, _, err := Install(t.Context(), o)
	if found, _ := find(data, "linux64"); err != nil || newer.Version != s.version || found != newer {
		t.Errorf("newer version: %v, %v; found %v", newer, err, found)
	}
	if left, _ := filepath.Glob(filepath.Join(directory(data), ".*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestInstallBadArchive(t *testing.T) {
	good := archiveOf(t, chromeFiles...)
	with := func(files ...zipFile) []byte { return archiveOf(t, append(slices.Clone(chromeFiles), files...)...) }
	for _, c := range []struct {
		name    string
		archive []byte
		change  func(s *site, o *Options)
		want    string
	}{
		{"truncated", good, func(s *site, _ *Options) {
			s.serve = func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Length", fmt.Sprint(len(good)))
				w.Write(good[:len(good)/2])
			}
		}, "unexpected EOF"},
		{"truncated without length", good, func(s *site, _ *Options) {
			s.serve = func(w http.ResponseWriter, r *http.Request) {
				w.Write(good[:len(good)/2])
				w.(http.Flusher).Flush()
			}
		}, "does not match its crc32c checksum"},
		{"truncated with its checksum", good[:len(good)/2], nil, "not a valid zip file"},
		{"wrong md5", good, func(s *site, _ *Options) { s.sums = "md5=" + base64.StdEncoding.EncodeToString(make([]byte, 16)) }, "does not match its md5 checksum"},
		{"wrong crc32c", good, func(s *site, _ *Options) { s.sums = "crc32c=AAAAAA==" + goodSums(good)[len("crc32c=AAAAAA=="):] }, "does not match its crc32c checksum"},
		{"malformed checksum", good, func(s *site, _ *Options) { s.sums = "md5=?" }, "does not match its md5 checksum"},
		{"empty checksum", good, func(s *site, _ *Options) { s.sums = "md5=" }, "does not match its md5 checksum"},
		{"wrong md5 in a second header", good, func(s *site, _ *Options) {
			s.sums = strings.Split(goodSums(good), ",")[0] + " md5=" + base64.StdEncoding.EncodeToString(make([]byte, 16))
		}, "does not match its md5 checksum"},
		{"no checksum", good, func(s *site, _ *Options) { s.sums = "" }, "sends no checksum"},
		{"unknown checksum", good, func(s *site, _ *Options) { s.sums = "sha1=AAAA" }, "sends no checksum"},
		{"other status", good, func(s *site, _ *Options) {
			s.serve = func(w http.ResponseWriter, r *http.Request) { http.Error(w, "secret text", http.StatusForbidden) }
		}, "responded with status 403"},
		{"redirect to another machine", good, func(s *site, _ *Options) {
			s.serve = func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "http://192.0.2.1/x", http.StatusFound)
			}
		}, "not an https URL"},
		{"wrong platform", archiveOf(t, zipFile{"chrome-mac-x64/chrome", fakeChrome, 0o755}), nil, "no program chrome-linux64/chrome"},
		{"not executable", archiveOf(t, zipFile{"chrome-linux64/chrome", fakeChrome, 0o644}), nil, "no program"},
		{"program is a directory", archiveOf(t, zipFile{"chrome-linux64/chrome/", "", fs.ModeDir | 0o755}), nil, "no program"},
		{"no platform", good, func(_ *site, o *Options) { o.platform = "linux-arm64" }, "no Chrome for Testing for linux-arm64"},
		{"traversal", with(zipFile{"../../evil", "x", 0o644}), nil, "invalid path"},
		{"hidden traversal", with(zipFile{"chrome-linux64/../../evil", "x", 0o644}), nil, "invalid path"},
		{"absolute path", with(zipFile{"/evil", "x", 0o644}), nil, "invalid path"},
		{"backslash", with(zipFile{`chrome-linux64\..\..\evil`, "x", 0o644}), nil, "invalid path"},
		{"same name twice", with(zipFile{"chrome-linux64/chrome", "x", 0o755}), nil, "file exists"},
		{"link to the outside", with(zipFile{"out", "../..", fs.ModeSymlink | 0o777}), nil, "leads out"},
		{"absolute link", with(zipFile{"out", "/etc", fs.ModeSymlink | 0o777}), nil, "leads out"},
		{"chain of links", with(zipFile{"a/b", "../chrome-linux64", fs.ModeSymlink | 0o777}, zipFile{"out", "a/b/../..", fs.ModeSymlink | 0o777}), nil, "leads out"},
		{"file through a link", with(zipFile{"out", "chrome-linux64", fs.ModeSymlink | 0o777}, zipFile{"out/evil", "x", 0o644}), nil, "exists"},
		{"missing target", with(zipFile{"out", "nothing", fs.ModeSymlink | 0o777}), nil, "missing file"},
		{"device", with(zipFile{"dev", "", fs.ModeDevice | 0o644}), nil, "not a file, directory or link"},
		{"version with a path", good, func(s *site, _ *Options) { s.version = "../../1" }, "no valid stable version"},
		{"versions are not JSON", good, func(s *site, o *Options) { o.VersionsURL = s.URL + "/chrome.zip" }, "not a list of versions"},
		{"versions over http", good, func(_ *site, o *Options) { o.VersionsURL = "http://example.com/x" }, "the URL of example.com is not an https URL"},
		{"versions in a file", good, func(_ *site, o *Options) { o.VersionsURL = "file:///etc/passwd" }, "not an https URL"},
		{"no server", good, func(s *site, _ *Options) { s.Close() }, "connection refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, c.archive)
			parent := t.TempDir()
			data := filepath.Join(parent, "data")
			o := s.options(data)
			if c.change != nil {
				c.change(s, &o)
			}
			_, installed, err := Install(t.Context(), o)
			if e, ok := errors.AsType[*errs.Error](err); !ok || installed || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("Install = %v (%+v), want %q", err, e, c.want)
			}
			checkNothingLeft(t, data)
			if _, err := os.Lstat(filepath.Join(parent, "evil")); err == nil {
				t.Error("a file was written outside of the data directory")
			}
			// The same directory is usable afterwards.
			if b, _, err := Install(t.Context(), newSite(t, good).options(data)); err != nil || b.Version != "140.0.1.2" {
				t.Errorf("repeated: %v, %v", b, err)
			}
		})
	}
}

// TestInstallInterrupted cancels an installation during the download, and leaves the files of a
// killed one.
func TestInstallInterrupted(t *testing.T) {
	s := newSite(t, archiveOf(t, chromeFiles...))
	data := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	s.serve = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(s.archive)))
		w.Write(s.archive[:100])
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	o := s.options(data)
	o.Progress = func(string, int64, int64) { cancel() }
	if _, _, err := Install(ctx, o); err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("Install = %v", err)
	}
	checkNothingLeft(t, data)
	if err := os.MkdirAll(filepath.Join(directory(data), temporaryPrefix+"1", "files"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.serve = nil
	if _, installed, err := Install(t.Context(), s.options(data)); err != nil || !installed {
		t.Errorf("repeated: %v, %v", installed, err)
	}
	if left, _ := filepath.Glob(filepath.Join(directory(data), ".*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestInstallConcurrently installs several times in one directory: one downloads, the others wait.
func TestInstallConcurrently(t *testing.T) {
	s := newSite(t, archiveOf(t, chromeFiles...))
	data := t.TempDir()
	var running sync.WaitGroup
	var count atomic.Int32
	for range 4 {
		running.Go(func() {
			_, installed, err := Install(t.Context(), s.options(data))
			if err != nil {
				t.Error(err)
			}
			if installed {
				count.Add(1)
			}
		})
	}
	running.Wait()
	if count.Load() != 1 || s.downloads.Load() != 1 {
		t.Errorf("%d installed, %d downloads", count.Load(), s.downloads.Load())
	}
}

func TestInstallUnusableDirectory(t *testing.T) {
	s := newSite(t, archiveOf(t, chromeFiles...))
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(t.TempDir(), "open")
	if err := os.MkdirAll(directory(open), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(directory(open), 0o777); err != nil {
		t.Fatal(err)
	}
	dirs := map[string]string{file: "not a directory"}
	if runtime.GOOS != "windows" {
		dirs[open] = "written to by others"
	}
	for dir, want := range dirs {
		_, _, err := Install(t.Context(), s.options(dir))
		if e, ok := errors.AsType[*errs.Error](err); !ok || !strings.Contains(err.Error(), want) || e.Hint == "" {
			t.Errorf("%s: %v (%+v), want %q", dir, err, e, want)
		}
	}
	if s.downloads.Load() > 0 {
		t.Error("downloaded an archive that cannot be saved")
	}
}

// TestFindIgnores checks what is not an installed browser.
func TestFindIgnores(t *testing.T) {
	data := t.TempDir()
	program := func(dir string, mode fs.FileMode) {
		path := filepath.Join(directory(data), dir, executable("linux64"))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(fakeChrome), mode); err != nil {
			t.Fatal(err)
		}
	}
	program("9.0.0.1-linux64", 0o700)
	program("10.0.0.1-linux64", 0o700)
	program("11.0.0.1-mac-x64", 0o700)
	program(".new-12.0.0.1-linux64", 0o700)
	program("latest-linux64", 0o700)
	if runtime.GOOS != "windows" {
		program("13.0.0.1-linux64", 0o600)
		program("14.0.0.1-linux64", 0o700)
		if err := os.Chmod(filepath.Join(directory(data), "14.0.0.1-linux64"), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if b, ok := find(data, "linux64"); !ok || b.Version != "10.0.0.1" {
		t.Errorf("find = %v, %v", b, ok)
	}
	if b, ok := find(t.TempDir(), "linux64"); ok {
		t.Errorf("found %v in an empty directory", b)
	}
}

func TestPlatform(t *testing.T) {
	for _, c := range []struct{ goos, goarch, platform, program string }{
		{"linux", "amd64", "linux64", "chrome-linux64/chrome"},
		{"darwin", "arm64", "mac-arm64", "chrome-mac-arm64/Google Chrome for Testing.app/Contents/MacOS/Google Chrome for Testing"},
		{"windows", "amd64", "win64", "chrome-win64/chrome.exe"},
		{"freebsd", "amd64", "", ""},
	} {
		got := platform(c.goos, c.goarch)
		if got != c.platform || got != "" && filepath.ToSlash(executable(got)) != c.program {
			t.Errorf("%s/%s: %q, %q", c.goos, c.goarch, got, executable(got))
		}
	}
}
