// Package upload reads the files that a client wants to give to a page: from
// one folder, and nothing else of this machine.
package upload

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// A File is one that was read whole. Nothing can be put in its place any more.
type File struct {
	executor.UploadedFile
	Modified time.Time
	Data     []byte
}

// Read reads files of the folder dir, all or none. paths are relative to it,
// or absolute and inside it; a symbolic link may lead to a file in the folder.
// A file with more than one name is refused: the other may be outside.
//
// It returns ErrPolicyDenied without a folder and for a path that leads out of
// it, and ErrBadArgs for what is no plain file, is named twice, or is more than
// executor.MaxUploadFiles or executor.MaxUploadBytes.
func Read(dir string, paths []string) ([]File, error) {
	if dir == "" {
		return nil, executor.Errorf(executor.ErrPolicyDenied, "The user can allow it by starting chrome-mcp with --uploads-dir DIR.", "there is no folder to upload files from")
	}
	if len(paths) == 0 || len(paths) > executor.MaxUploadFiles {
		return nil, executor.Errorf(executor.ErrBadArgs, "Name the files to upload.", "%d files, of 1 to %d that can be uploaded at once", len(paths), executor.MaxUploadFiles)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, executor.Errorf(executor.ErrBadArgs, "The user has to make it, or start chrome-mcp with another --uploads-dir.", "the folder of uploads cannot be opened: %w", cause(err))
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
			return nil, executor.Errorf(executor.ErrBadArgs, "Name it once.", "%q is named twice", path)
		}
		seen[name] = true
		f, err := read(root, name, left)
		if err != nil {
			return nil, explain(err, dir, path)
		}
		left -= f.Bytes
		files = append(files, f)
	}
	return files, nil
}

// within returns path as one relative to dir.
func within(dir, path string) (string, error) {
	name := filepath.Clean(path)
	if filepath.IsAbs(path) {
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			rel = ".." // of another volume
		}
		name = rel
	}
	switch {
	case path == "" || strings.ContainsRune(path, 0):
		return "", executor.Errorf(executor.ErrBadArgs, "Name a file.", "path %q is not a file's", path)
	case !filepath.IsLocal(name):
		return "", outside(dir, path)
	}
	return name, nil
}

func outside(dir, path string) error {
	return executor.Errorf(executor.ErrPolicyDenied, fmt.Sprintf("Only files in %s can be uploaded; the user can put it there.", dir), "%q is outside of the upload directory", path)
}

var (
	errNotPlain = errors.New("is not a plain file")
	errLinked   = errors.New("has more than one name (hard links)")
	errTooLarge = fmt.Errorf("is too large: the files of one upload may have %d MB together", executor.MaxUploadBytes>>20)
)

// read reads one file that has at most limit bytes.
func read(root *os.Root, name string, limit int64) (File, error) {
	// What is no plain file may do something when it is opened, so look first;
	// and look again at what was opened, for which a pipe must not keep us waiting.
	info, err := root.Stat(name)
	if err != nil {
		return File{}, err
	}
	if !info.Mode().IsRegular() {
		return File{}, errNotPlain
	}
	f, err := root.OpenFile(name, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return File{}, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return File{}, err
	}
	if !info.Mode().IsRegular() {
		return File{}, errNotPlain
	}
	// Another name of the file may be outside of the directory.
	if n, err := names(f); err != nil || n != 1 {
		return File{}, cmp.Or(err, errLinked)
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

// explain says what is wrong with a file that could not be read.
func explain(err error, dir, path string) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return executor.Errorf(executor.ErrBadArgs, "Paths are relative to that folder; the user can put the file there.", "there is no file %q in %s", path, dir)
	case errors.Is(err, errLinked):
		return executor.Errorf(executor.ErrPolicyDenied, "The user can put a copy of it there.", "%q %w, so it may be a file outside of the upload directory", path, err)
	case errors.Is(err, errNotPlain), errors.Is(err, errTooLarge):
		return executor.Errorf(executor.ErrBadArgs, "Name another file.", "%q %w", path, err)
	case errors.Is(err, fs.ErrPermission):
		return executor.Errorf(executor.ErrBadArgs, "Only the user can change that.", "%q may not be read", path)
	}
	if what := cause(err); strings.Contains(what.Error(), "escapes") { // os.Root has no error of its own to ask for
		return outside(dir, path)
	}
	return executor.Errorf(executor.ErrBadArgs, "Name another file.", "%q cannot be read: %w", path, cause(err))
}

// cause returns what the system said, without the name it said it of.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
