// Package upload reads the files that a client uploads to a page. All of them are from one
// directory.
package upload

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/patherror"
)

// A File is a file in memory. Later changes on disk do not affect it.
type File struct {
	executor.UploadedFile
	Modified time.Time
	Data     []byte
}

// Read reads files of the directory dir. It returns all of them or an error. paths are relative to
// dir, or absolute and inside dir. A symbolic link may point to a file in dir. Read rejects a file
// with several hard links, because another link may be outside dir.
//
// It returns ErrPolicyDenied if dir is empty, for a path outside dir and for a file with several
// hard links. It returns ErrBadArgs for a file that is not a regular file, a path that occurs
// twice, and more than executor.MaxUploadFiles or executor.MaxUploadBytes.
func Read(dir string, paths []string) ([]File, error) {
	if dir == "" {
		return nil, noDirError()
	}
	if len(paths) == 0 || len(paths) > executor.MaxUploadFiles {
		return nil, executor.Errorf(executor.ErrBadArgs, "Name the files to upload.", "%d files; from 1 to %d can be uploaded at the same time", len(paths), executor.MaxUploadFiles)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, dirError(err)
	}
	defer root.Close()
	var files []File
	seen := make(map[string]bool)
	left := int64(executor.MaxUploadBytes)
	for _, path := range paths {
		name, err := within(dir, path)
		if err != nil {
			return nil, err
		}
		if seen[name] {
			return nil, executor.Errorf(executor.ErrBadArgs, "Name each file once.", "%q is named twice", path)
		}
		seen[name] = true
		f, err := read(root, name, left)
		if err != nil {
			return nil, readError(err, dir, path)
		}
		left -= f.Bytes
		files = append(files, f)
	}
	return files, nil
}

// within returns path relative to dir.
func within(dir, path string) (string, error) {
	name := filepath.Clean(path)
	if filepath.IsAbs(path) {
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			rel = ".." // on another volume
		}
		name = rel
	}
	switch {
	case path == "" || strings.ContainsRune(path, 0):
		return "", executor.Errorf(executor.ErrBadArgs, "Name a file.", "path %q is not a file", path)
	case !filepath.IsLocal(name):
		return "", outsideDirError(dir, path)
	}
	return name, nil
}

func outsideDirError(dir, path string) error {
	return executor.Errorf(executor.ErrPolicyDenied, fmt.Sprintf("Only files in %s can be uploaded. The user can put the file there.", dir), "%q is outside the upload directory", path)
}

var (
	errNotRegularFile = errors.New("is not a regular file")
	errLinked         = errors.New("has several hard links")
	errTooLarge       = fmt.Errorf("is too large: the files of one upload may have %d MB in total", executor.MaxUploadBytes>>20)
)

// read reads one file of at most limit bytes.
func read(root *os.Root, name string, limit int64) (File, error) {
	f, err := open(root, name)
	if err != nil {
		return File{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return File{}, err
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return File{}, err
	}
	if int64(len(data)) > limit {
		return File{}, errTooLarge
	}
	base := filepath.Base(name)
	return File{
		UploadedFile: executor.UploadedFile{Name: base, Bytes: int64(len(data)), MIMEType: typeOf(base)},
		Modified:     info.ModTime(), Data: data,
	}, nil
}

// readError is the error of a file that could not be read.
func readError(err error, dir, path string) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return executor.Errorf(executor.ErrBadArgs, "Paths are relative to that directory. The user can put the file there.", "file %q not found in %s", path, dir)
	case errors.Is(err, errLinked):
		return executor.Errorf(executor.ErrPolicyDenied, "The user can put a copy of the file there.", "%q %w, so it may be a file outside the upload directory", path, err)
	case errors.Is(err, errNotRegularFile), errors.Is(err, errTooLarge):
		return executor.Errorf(executor.ErrBadArgs, "Name another file.", "%q %w", path, err)
	case errors.Is(err, fs.ErrPermission):
		return executor.Errorf(executor.ErrBadArgs, "Only the user can change that.", "%q may not be read", path)
	}
	if what := patherror.Cause(err); strings.Contains(what.Error(), "escapes") { // os.Root does not export this error
		return outsideDirError(dir, path)
	}
	return executor.Errorf(executor.ErrBadArgs, "Name another file.", "%q cannot be read: %w", path, patherror.Cause(err))
}
