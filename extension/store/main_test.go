package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/userbrowser"
)

// TestWrite writes the files twice, and checks that the zip has the files of the extension and no
// others, with a manifest without a key.
func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	var last []byte
	for range 2 {
		if err := write(dir, filepath.Join("..", "..", "docs", "privacy.md")); err != nil {
			t.Fatal(err)
		}
		zips, err := filepath.Glob(filepath.Join(dir, "chrome-mcp-[0-9]*.zip"))
		if err != nil || len(zips) != 1 {
			t.Fatalf("wrote %v, %v", zips, err)
		}
		data, err := os.ReadFile(zips[0])
		if err != nil {
			t.Fatal(err)
		}
		if last != nil && !bytes.Equal(data, last) {
			t.Error("the second zip differs from the first")
		}
		last = data
	}
	got := unzip(t, last)
	var names []string
	err := fs.WalkDir(extension.Files(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		names = append(names, name)
		want, err := fs.ReadFile(extension.Files(), name)
		if name != "manifest.json" && !bytes.Equal(got[name], want) {
			t.Errorf("%s in the zip differs", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(names) {
		t.Errorf("the zip has %d files, want %d", len(got), len(names))
	}
	var with, without map[string]any
	manifest, err := fs.ReadFile(extension.Files(), "manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	if json.Unmarshal(manifest, &with) != nil || json.Unmarshal(got["manifest.json"], &without) != nil {
		t.Fatalf("the manifest is %s", got["manifest.json"])
	}
	if without["key"] != nil || with["key"] == nil || len(without) != len(with)-1 {
		t.Errorf("the manifest is %s", got["manifest.json"])
	}
	for _, name := range []string{"permissions.md", "privacy.md"} {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || len(data) == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPermissions checks that there is a text for each permission of the manifest, and for no other.
func TestPermissions(t *testing.T) {
	var manifest struct {
		Permissions []string `json:"permissions"`
	}
	data, err := fs.ReadFile(extension.Files(), "manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &manifest); err != nil {
		t.Fatal(err)
	}
	var explained []string
	for _, m := range regexp.MustCompile("(?m)^\\* `([A-Za-z]+)`: \\S").FindAllSubmatch(permissions, -1) {
		explained = append(explained, string(m[1]))
	}
	slices.Sort(manifest.Permissions)
	slices.Sort(explained)
	if !slices.Equal(manifest.Permissions, explained) {
		t.Errorf("the manifest has the permissions %v, permissions.md explains %v", manifest.Permissions, explained)
	}
}

// TestNoVersion checks that a manifest without a version is not packed.
func TestNoVersion(t *testing.T) {
	for _, manifest := range []string{`{}`, `{"version": 1}`} {
		if _, err := writeZip(io.Discard, fstest.MapFS{"manifest.json": {Data: []byte(manifest)}}); err == nil {
			t.Errorf("%s was packed", manifest)
		}
	}
}

// TestZipLoads loads the extension of the zip in Chromium, which derives its id from its directory.
// Its worker runs with all permissions, and Chromium reports no error of its manifest.
func TestZipLoads(t *testing.T) {
	userbrowser.Find(t)
	var archive bytes.Buffer
	if _, err := writeZip(&archive, extension.Files()); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "extension")
	for name, data := range unzip(t, archive.Bytes()) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	home, err := os.MkdirTemp("", "store-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	b := userbrowser.Start(t, userbrowser.Options{Profile: filepath.Join(home, "profile"), Extensions: []string{dir}, Env: append(os.Environ(), "HOME="+home)})
	worker := b.Find(t, "service_worker", "/worker.js")
	b.WithSession(t, worker.ID, func(session string) {
		await.Until(t, "the worker to begin", func() bool {
			var begun bool
			b.Eval(t, session, "typeof chrome === 'object' && !!chrome.debugger && !!chrome.contextMenus && !!chrome.notifications", &begun)
			return begun
		})
		var id string
		b.Eval(t, session, "chrome.runtime.id", &id)
		if id == extension.ID() {
			t.Error("the extension has the id of the key")
		}
	})
}

// unzip returns the files of an archive.
func unzip(t *testing.T, data []byte) map[string][]byte {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, f := range r.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(in)
		in.Close()
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name] = content
	}
	return files
}
