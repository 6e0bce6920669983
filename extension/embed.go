// Package extension carries the browser extension: what a user loads into
// their own Chrome so that agents can work in the tabs that they share. It is
// plain JavaScript, loaded as it is, so that a program which imports this
// package has all of it.
package extension

import (
	"crypto/sha256"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

//go:embed manifest.json *.js *.html *.css icons/*.png
var files embed.FS

// Files returns the files of the extension.
func Files() fs.FS { return files }

// ID returns the id that browsers give the extension, which follows from the
// key in its manifest. The key's other half was thrown away: the id tells
// this extension from others, it proves nothing.
func ID() string { return id() }

var id = sync.OnceValue(func() string {
	data, err := files.ReadFile("manifest.json")
	if err != nil {
		panic(err) // embedded
	}
	var manifest struct {
		Key []byte `json:"key"` // encoding/json reads base64
	}
	if err := json.Unmarshal(data, &manifest); err != nil {
		panic(err) // a test reads it too
	}
	return idOf(manifest.Key)
})

// idOf returns the id of an extension with a public key in DER: the first 16
// bytes of its hash, in the letters a to p.
func idOf(key []byte) string {
	sum := sha256.Sum256(key)
	out := make([]byte, 0, 32)
	for _, b := range sum[:16] {
		out = append(out, 'a'+b>>4, 'a'+b&15)
	}
	return string(out)
}

// Write puts the extension into dir, for a browser to load unpacked. A file
// that is there already is replaced whole, so that a browser which reads it
// meanwhile sees the old one or the new one; files of an older version that
// the extension no longer has are left, and nothing refers to them.
func Write(dir string) error {
	return fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if d.IsDir() {
			return os.MkdirAll(path, 0o755)
		}
		data, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		if err := replace(path, data); err != nil {
			return fmt.Errorf("writing the extension: %w", err)
		}
		return nil
	})
}

// replace writes a file beside path and renames it.
func replace(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if e := f.Chmod(0o644); err == nil {
		err = e
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
