package statefile

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

func open(t *testing.T, dir string) *Dir {
	t.Helper()
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

func TestSaveAndLoad(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	state := State{
		Cookies: []Cookie{{Name: "sid", Value: "1", Domain: ".shop.example", Path: "/", Expires: -1, HTTPOnly: true, Secure: true, SameSite: "Lax"}},
		Origins: []Origin{{Origin: "https://shop.example", Items: []Item{{"theme", "dark"}}}},
	}
	for range 2 { // the second call replaces the file
		if err := d.Save("ann", state); err != nil {
			t.Fatal(err)
		}
	}
	got, err := d.Load("ann.json")
	if err != nil || !reflect.DeepEqual(*got, state) {
		t.Errorf("%+v, %v", got, err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	if info, err := files[0].Info(); err != nil || info.Mode().Perm() != 0o600 || info.Name() != "ann.json" {
		t.Errorf("%v, %v", info, err)
	}
}

func TestHostileNames(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "states")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(parent, "outside.json")
	if err := os.WriteFile(outside, []byte(`{"cookies":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../outside.json", filepath.Join(dir, "link.json")); err != nil {
		t.Skip(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "directory.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	d := open(t, dir)
	for _, name := range []string{"", ".", "..", "../outside", "..\\outside", outside, "a/b", "a\x00b", ".hidden", "a b", "ü", "-rf", strings.Repeat("a", 65), "a.txt", "link", "directory"} {
		if err := d.Save(name, State{}); executor.CodeOf(err) != executor.ErrBadArgs {
			t.Errorf("save %q: %v", name, err)
		}
		if _, err := d.Load(name); executor.CodeOf(err) != executor.ErrBadArgs {
			t.Errorf("load %q: %v", name, err)
		}
	}
	if data, err := os.ReadFile(outside); err != nil || string(data) != `{"cookies":[]}` {
		t.Errorf("%s, %v", data, err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 2 {
		t.Errorf("%v, %v", files, err)
	}
	if _, err := Open(""); executor.CodeOf(err) != executor.ErrPolicyDenied {
		t.Error(err)
	}
	if _, err := Open(filepath.Join(dir, "nosuch")); executor.CodeOf(err) != executor.ErrBadArgs {
		t.Error(err)
	}
}

func TestInvalidFiles(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	for text, want := range map[string]string{
		``:                                   "not the JSON",
		`{"cookies": 7}`:                     "not the JSON",
		`{"cookies": [{"value": "s3cr3t"}]}`: "number 1",
		`{"cookies": [{"name": "a", "domain": "x.com/s3cr3t"}]}`:      "number 1",
		`{"cookies": [{"name": "a", "domain": "x.com:80"}]}`:          "number 1",
		`{"origins": [{"origin": "https://x.com/s3cr3t"}]}`:           "invalid origin",
		`{"origins": [{"origin": "file:///s3cr3t"}]}`:                 "invalid origin",
		`{"origins": [{"origin": "https://user:s3cr3t@x.com"}]}`:      "invalid origin",
		`{"cookies": "` + strings.Repeat("s3cr3t", maxBytes/6) + `"}`: "more than",
	} {
		if err := os.WriteFile(filepath.Join(dir, "bad.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := d.Load("bad")
		if executor.CodeOf(err) != executor.ErrBadArgs || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%.60s: %v", text, err)
		}
	}
}
