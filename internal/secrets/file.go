package secrets

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
)

// FileName is the name of the secrets file in the data directory.
const FileName = "secrets.json"

// maxFile is the maximum size of the secrets file, in bytes.
const maxFile = 4 << 20

// A file is the content of the secrets file: which secrets exist, where they may be typed, and the
// values that are in no other store.
type file struct {
	Version int            `json:"version"`
	Secrets []storedSecret `json:"secrets"`
}

// version is the version of the format of the secrets file.
const version = 1

// readFile returns the secrets in the file at path, or none if the file does not exist.
func readFile(path string) ([]storedSecret, error) {
	data, err := owneronly.ReadFile(path, maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, owneronly.ErrMode):
		return nil, &FileError{path, err, "Run `chmod 600` on it. If another user may have read it, change the passwords in it."}
	case err != nil:
		return nil, &FileError{path, err, "Check that the file and its directory belong to you and that others cannot write to them."}
	}
	var f file
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		// The error of the decoder is dropped: it can contain a part of a value.
		return nil, &FileError{path, fmt.Errorf("%s is not valid JSON of this format", path), "Correct it, or remove it and set the secrets again."}
	}
	if f.Version != version {
		return nil, &FileError{path, fmt.Errorf("%s has version %d, not %d", path, f.Version, version), "Use the version of the program that wrote it."}
	}
	for i := range f.Secrets {
		s := &f.Secrets[i]
		err := s.check()
		if err == nil && indexOf(f.Secrets[:i], s.Name) >= 0 {
			err = fmt.Errorf("secret %s exists twice", s.Name)
		}
		if err != nil {
			return nil, &FileError{path, fmt.Errorf("%s: %w", path, err), "Correct the file, or remove the secret and set it again."}
		}
	}
	return f.Secrets, nil
}

// writeFile writes the secrets to the file at path, with mode 0600.
func writeFile(path string, all []storedSecret) error {
	slices.SortFunc(all, func(a, b storedSecret) int { return strings.Compare(a.Name, b.Name) })
	for i := range all {
		if err := all[i].check(); err != nil {
			return err
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(file{version, all}); err != nil {
		return err
	}
	if err := owneronly.MakeDir(filepath.Dir(path)); err != nil {
		return err
	}
	_, err := owneronly.WriteFile(path, b.Bytes())
	return err
}

// A FileError reports that the file of secrets cannot be used.
type FileError struct {
	Path string
	Err  error
	Hint string // what to do next
}

func (e *FileError) Error() string { return "secrets: " + e.Err.Error() }
func (e *FileError) Unwrap() error { return e.Err }
