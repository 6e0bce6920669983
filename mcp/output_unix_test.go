//go:build unix

package mcp

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOutputDirOfOthers checks that no result is saved, and no script runs, if other users or links
// control the output directory.
func TestOutputDirOfOthers(t *testing.T) {
	var rec recorder
	for what, prepare := range map[string]func(t *testing.T, dir string) error{
		"is a symbolic link": func(t *testing.T, dir string) error { return os.Symlink(t.TempDir(), dir) },
		"may be written to by others": func(_ *testing.T, dir string) error {
			if err := os.Mkdir(dir, 0o700); err != nil {
				return err
			}
			return os.Chmod(dir, 0o777)
		},
		"not a directory":        func(_ *testing.T, dir string) error { return os.WriteFile(dir, nil, 0o600) },
		"is below the directory": func(_ *testing.T, dir string) error { return os.Chmod(filepath.Dir(dir), 0o777) },
	} {
		cs, dir := connectWithOutput(t, canned(&rec), Options{})
		if err := os.Mkdir(filepath.Dir(dir), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := prepare(t, dir); err != nil {
			t.Fatal(err)
		}
		res := callTool(t, cs, "eval", `{"expression":"1+1","file":"value"}`)
		if text := textOf(res); !res.IsError || !strings.HasPrefix(text, "DOWNLOAD_FAILED: Output directory ") || !strings.Contains(text, what) {
			t.Errorf("%s: %s", what, text)
		}
		if called := rec.take(); called != "" {
			t.Errorf("%s: called %s", what, called)
		}
	}
}

// TestOutputIsPrivate checks the modes of directories and files, and that no link is followed.
func TestOutputIsPrivate(t *testing.T) {
	var rec recorder
	cs, dir := connectWithOutput(t, canned(&rec), Options{})
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	for link, target := range map[string]string{"out": elsewhere, "page.html": filepath.Join(elsewhere, "page.html")} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if res := callTool(t, cs, "get_html", `{"file":"page"}`); res.IsError || !strings.Contains(textOf(res), "page (1).html") {
		t.Errorf("next to a link: %s", textOf(res))
	}
	res := callTool(t, cs, "get_html", `{"file":"out/page"}`)
	if want := "DOWNLOAD_FAILED: Saving the result: is a symbolic link."; !res.IsError || !strings.HasPrefix(textOf(res), want) {
		t.Errorf("through a link: %s, want %s", textOf(res), want)
	}
	if list, err := os.ReadDir(elsewhere); err != nil || len(list) > 0 {
		t.Errorf("files behind links: %v, %v", list, err)
	}
	if res := callTool(t, cs, "get_html", `{"file":"a/page"}`); res.IsError {
		t.Error(textOf(res))
	}
	for path, want := range map[string]fs.FileMode{".": 0o700, "a": 0o700, "a/page.html": 0o600, "page (1).html": 0o600} {
		if info, err := os.Stat(filepath.Join(dir, path)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want mode %v", path, info, err, want)
		}
	}
}
