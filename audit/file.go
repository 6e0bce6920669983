package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
	"github.com/chrome-mcp/chrome-mcp/internal/patherror"
)

// A file is a text file that several processes append lines to. The file is opened and checked for
// each line. So a line never goes to a file that another process has rotated or deleted, and
// Windows allows the file to be renamed.
type file struct {
	path string
	max  int64 // size at which the file is rotated, in bytes
	keep int   // number of rotated files that are kept
}

// append writes one complete line, or returns an error.
func (f *file) append(line []byte) error {
	if err := f.rotate(int64(len(line))); err != nil {
		return err
	}
	w, err := f.open()
	if err != nil {
		return patherror.Cause(err)
	}
	defer w.Close()
	torn, err := endsMidLine(w)
	if err != nil {
		return patherror.Cause(err)
	}
	if torn { // a full disk truncated the last write
		line = append([]byte{'\n'}, line...)
	}
	if _, err := w.Write(line); err != nil {
		return patherror.Cause(err)
	}
	return patherror.Cause(w.Close())
}

// open opens the file, or creates it.
func (f *file) open() (*os.File, error) {
	if err := checkPath(f.path); err != nil { // before opening: to open a named pipe can block
		return nil, err
	}
	w, err := os.OpenFile(f.path, os.O_RDWR|os.O_APPEND|os.O_CREATE|owneronly.NoFollow, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := w.Stat()
	if err == nil {
		err = check(info)
	}
	if err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// check returns an error if a file is not suitable for the log.
func check(info fs.FileInfo) error {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return errors.New("is a symbolic link")
	case !info.Mode().IsRegular():
		return errors.New("is not a regular file")
	case !owneronly.Private(info):
		return fmt.Errorf("may be read by others (mode %04o); run chmod 600", info.Mode().Perm())
	}
	return owneronly.CheckOnlyName(info)
}

// endsMidLine reports whether the file ends with an incomplete line. The result can be wrong while
// another process writes a line. The log then gets an empty line, which readers ignore.
func endsMidLine(w *os.File) (bool, error) {
	info, err := w.Stat()
	if err != nil || info.Size() == 0 {
		return false, err
	}
	var last [1]byte
	_, err = w.ReadAt(last[:], info.Size()-1)
	return err == nil && last[0] != '\n', err
}

// rotatedLayout is the layout of the time in the name of a rotated file. The names sort by time.
const rotatedLayout = "20060102T150405.000000000Z"

// rotate renames the file if n more bytes would make it too large, and removes the oldest rotated
// files. If two processes do so at the same time, the second renames a new, small file; no entry is
// lost.
func (f *file) rotate(n int64) error {
	info, err := os.Lstat(f.path)
	if err != nil || info.Size() == 0 || info.Size()+n <= f.max {
		return nil // open reports errors of Lstat, and creates a missing file
	}
	if err := check(info); err != nil {
		return err
	}
	stem, ext := f.stem()
	rotated := fmt.Sprintf("%s%s-%d%s", stem, time.Now().UTC().Format(rotatedLayout), os.Getpid(), ext)
	err = os.Rename(f.path, rotated)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // another process has renamed it
		return nil // on Windows, while a process reads the file: it grows until it can be renamed
	}
	files := f.rotatedFiles()
	for _, old := range files[:max(0, len(files)-f.keep)] {
		os.Remove(old)
	}
	return nil
}

// stem returns the prefix and the suffix of the paths of rotated files.
func (f *file) stem() (stem, ext string) {
	ext = filepath.Ext(f.path)
	return strings.TrimSuffix(f.path, ext) + "-", ext
}

// rotatedFiles returns the paths of the rotated files, oldest first.
func (f *file) rotatedFiles() []string {
	entries, err := os.ReadDir(filepath.Dir(f.path))
	if err != nil {
		return nil
	}
	stem, ext := f.stem()
	var list []string
	for _, e := range entries {
		path := filepath.Join(filepath.Dir(f.path), e.Name())
		rest, ok := strings.CutPrefix(path, filepath.Clean(stem))
		rest, ends := strings.CutSuffix(rest, ext)
		at, _, dash := strings.Cut(rest, "-")
		if _, err := time.Parse(rotatedLayout, at); ok && ends && dash && err == nil && e.Type().IsRegular() {
			list = append(list, path)
		}
	}
	slices.Sort(list)
	return list
}

// Check returns the error with which [Open] would reject the file at path, or nil. It changes
// nothing.
func Check(path string) error { return patherror.Cause(checkPath(path)) }

// checkPath returns an error if the log cannot be at path. A missing file is created.
func checkPath(path string) error {
	if err := owneronly.CheckParents(path); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	return check(info)
}

// Files returns the paths of the files of the log at path: the rotated files, oldest first, and
// path itself if it exists.
func Files(path string) []string {
	list := (&file{path: path}).rotatedFiles()
	if _, err := os.Stat(path); err == nil {
		list = append(list, path)
	}
	return list
}
