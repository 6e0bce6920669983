// Command store writes what the Chrome Web Store needs, except for the images:
//
//	go run ./extension/store -dir dist/store -privacy docs/privacy.md
//
// These are the zip file of the extension, the texts about its permissions, and the privacy page.
package main

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"

	"github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/internal/lazyregexp"
)

// permissions is the text about the permissions.
//
//go:embed permissions.md
var permissions []byte

func main() {
	log.SetFlags(0)
	dir := flag.String("dir", filepath.Join("dist", "store"), "write the files to this directory")
	privacy := flag.String("privacy", filepath.Join("docs", "privacy.md"), "the privacy page")
	flag.Parse()
	if err := write(*dir, *privacy); err != nil {
		log.Fatal(err)
	}
}

// links matches a link of a document. The store shows the privacy page without the other documents.
var links = lazyregexp.New(`\[([^\]]+)\]\([^)]*\)`)

// write writes the files to dir. It removes none.
func write(dir, privacy string) error {
	page, err := os.ReadFile(privacy)
	if err != nil {
		return err
	}
	var archive bytes.Buffer
	version, err := writeZip(&archive, extension.Files())
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, data := range map[string][]byte{
		"chrome-mcp-" + version + ".zip": archive.Bytes(),
		"permissions.md":                 permissions,
		"privacy.md":                     links().ReplaceAll(page, []byte("$1")),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// writeZip writes the extension as the store requires it: its manifest has no key, because the store
// has its own. The same files give the same zip. It returns the version of the extension.
func writeZip(out io.Writer, files fs.FS) (version string, err error) {
	archive := zip.NewWriter(out)
	err = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		if name == "manifest.json" {
			if data, version, err = storeManifest(data); err != nil {
				return err
			}
		}
		file, err := archive.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
		if err != nil {
			return err
		}
		_, err = file.Write(data)
		return err
	})
	if err != nil {
		return "", err
	}
	return version, archive.Close()
}

// storeManifest returns the manifest without its key, and the version in it.
func storeManifest(data []byte) (without []byte, version string, err error) {
	var manifest map[string]any
	if err := json.Unmarshal(data, &manifest); err != nil {
		return nil, "", fmt.Errorf("manifest: %w", err)
	}
	delete(manifest, "key")
	if version, _ = manifest["version"].(string); version == "" {
		return nil, "", errors.New("manifest has no version")
	}
	without, err = json.MarshalIndent(manifest, "", "  ")
	return append(without, '\n'), version, err
}
