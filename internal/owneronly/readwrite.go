package owneronly

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// ReadFile reads a file that others can neither read nor replace. It follows links of the user. It
// returns an error if the file has more than limit bytes.
func ReadFile(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|nonBlock, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = CheckFile(info)
	}
	if err == nil {
		err = CheckParents(path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %w", path, err)
	}
	return readAll(f, limit)
}

// ReadTrusted reads a file that no user other than this one and root can change or replace. It
// returns an error if the file has more than limit bytes.
func ReadTrusted(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = CheckTrusted(path, info)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return readAll(f, limit)
}

func readAll(f *os.File, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s is larger than %d bytes", f.Name(), limit)
	}
	return data, err
}

// A File is a file that [WriteFile] wrote.
type File struct {
	path string
	info fs.FileInfo
}

// Path returns the path of the file.
func (f *File) Path() string { return f.path }

// Replaced reports whether the file was deleted or replaced. It returns false if f is nil.
func (f *File) Replaced() bool {
	if f == nil {
		return false
	}
	info, err := os.Lstat(f.path)
	return err != nil || !os.SameFile(info, f.info)
}

// Remove deletes the file unless it was replaced. f may be nil.
func (f *File) Remove() {
	if f != nil && !f.Replaced() {
		os.Remove(f.path)
	}
}

// WriteFile writes a file atomically, with mode 0600. It replaces a file or link at path. Others must
// not be able to write to the directory.
func WriteFile(path string, data []byte) (*File, error) {
	temporary := filepath.Join(filepath.Dir(path), ".new-"+rand.Text())
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	defer os.Remove(temporary) // fails after a successful rename
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if err := os.Rename(temporary, path); err != nil {
		return nil, err
	}
	info, err := os.Lstat(path)
	if err == nil {
		err = CheckFile(info)
	}
	if err != nil {
		os.Remove(path)
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return &File{path, info}, nil
}
