// Package extension embeds the browser extension, which a user loads into their own Chrome so
// that agents can work in the tabs that the user shares. It is plain JavaScript without a build
// step, so a program that imports this package contains all of it.
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

// ID returns the id that browsers give the extension, which they derive from the key in its
// manifest. The private key was discarded: the id distinguishes this extension from others but
// proves nothing.
func ID() string { return id() }

// StoreID is the id that the Chrome Web Store gave the extension, or empty while it is not
// published. The native messaging host and the bridge accept it like ID.
const StoreID = ""

// IDs returns the ids that the extension can have: ID, and StoreID unless it is empty.
func IDs() []string {
	if StoreID == "" {
		return []string{ID()}
	}
	return []string{ID(), StoreID}
}

var id = sync.OnceValue(func() string {
	data, err := files.ReadFile("manifest.json")
	if err != nil {
		panic(err) // cannot happen: the file is embedded
	}
	var manifest struct {
		Key []byte `json:"key"` // encoding/json reads base64
	}
	if err := json.Unmarshal(data, &manifest); err != nil {
		panic(err) // cannot happen: a test reads it
	}
	return idOf(manifest.Key)
})

// idOf returns the id of an extension with a public key in DER: the first 16
// bytes of its SHA-256 hash, as letters from a to p.
func idOf(key []byte) string {
	sum := sha256.Sum256(key)
	out := make([]byte, 0, 32)
	for _, b := range sum[:16] {
		out = append(out, 'a'+b>>4, 'a'+b&15)
	}
	return string(out)
}

// Write writes the extension to dir, for a browser to load unpacked. It replaces existing files
// atomically, so that a browser that reads one concurrently sees the old or the new version.
// Files of an older version that the extension no longer has remain, but nothing refers to them.
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

// replace writes a file next to path and renames it.
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
