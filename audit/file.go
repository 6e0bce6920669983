package audit

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
)

// A file is a file of lines that several processes append to. Each line is
// opened for, checked and written by itself: so whoever put the file aside, or
// deleted it, nothing is written into the wrong one, and Windows lets it be
// renamed.
type file struct {
	path string
	max  int64 // bytes, at which it is put aside
	keep int   // files that were put aside
}

// append writes one line, all of it or it fails.
func (f *file) append(line []byte) error {
	if err := f.rotate(int64(len(line))); err != nil {
		return err
	}
	w, err := f.open()
	if err != nil {
		return plain(err)
	}
	defer w.Close()
	torn, err := unended(w)
	if err != nil {
		return plain(err)
	}
	if torn { // a write that a full disk cut short
		line = append([]byte{'\n'}, line...)
	}
	if _, err := w.Write(line); err != nil {
		return plain(err)
	}
	return plain(w.Close())
}

// open opens the file, and makes it when it is not there.
func (f *file) open() (*os.File, error) {
	if err := owneronly.CheckParents(f.path); err != nil {
		return nil, err
	}
	if info, err := os.Lstat(f.path); err == nil {
		if err := check(info); err != nil { // before it is opened: that of a pipe may never return
			return nil, err
		}
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

// check says why a file is none to write the log to, or returns nil.
func check(info fs.FileInfo) error {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return errors.New("is a symbolic link")
	case !info.Mode().IsRegular():
		return errors.New("is not a plain file")
	case !owneronly.Private(info):
		return fmt.Errorf("may be read by others (mode %04o); chmod 600 it", info.Mode().Perm())
	}
	return owneronly.CheckOnlyName(info)
}

// unended reports whether the file ends within a line. Where another process is
// just writing one it may be wrong, and an empty line comes of that, which
// readers pass over.
func unended(w *os.File) (bool, error) {
	info, err := w.Stat()
	if err != nil || info.Size() == 0 {
		return false, err
	}
	var last [1]byte
	_, err = w.ReadAt(last[:], info.Size()-1)
	return err == nil && last[0] != '\n', err
}

// asideLayout is the time in the name of a file that was put aside. As text,
// the names are in the order of their times.
const asideLayout = "20060102T150405.000000000Z"

// rotate puts the file aside when n more bytes would make it too large. Of two
// processes that do so at once the second puts aside a new file with little in
// it; nothing is lost by that.
func (f *file) rotate(n int64) error {
	info, err := os.Lstat(f.path)
	if err != nil || info.Size() == 0 || info.Size()+n <= f.max {
		return nil // one that is not there, or cannot be looked at, is open's affair
	}
	if err := check(info); err != nil {
		return err
	}
	stem, ext := f.stem()
	aside := fmt.Sprintf("%s%s-%d%s", stem, time.Now().UTC().Format(asideLayout), os.Getpid(), ext)
	err = os.Rename(f.path, aside)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // another process was quicker
		return nil // on Windows while somebody reads it: it grows until it can be renamed
	}
	for _, old := range f.aside()[:max(0, len(f.aside())-f.keep)] {
		os.Remove(old)
	}
	return nil
}

// stem returns what the paths of files that were put aside begin and end with.
func (f *file) stem() (stem, ext string) {
	ext = filepath.Ext(f.path)
	return strings.TrimSuffix(f.path, ext) + "-", ext
}

// aside lists the files that were put aside, the oldest first.
func (f *file) aside() []string {
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
		if _, err := time.Parse(asideLayout, at); ok && ends && dash && err == nil && e.Type().IsRegular() {
			list = append(list, path)
		}
	}
	slices.SortFunc(list, func(a, b string) int { return cmp.Compare(a, b) })
	return list
}

// Check returns why [Open] would refuse the file at path, nil if it would not. It
// changes nothing.
func Check(path string) error {
	if err := owneronly.CheckParents(path); err != nil {
		return plain(err)
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return plain(err)
	}
	return check(info)
}

// Files lists the files that the log at path is in: those that were put aside,
// the oldest first, and path itself if it is there.
func Files(path string) []string {
	list := (&file{path: path}).aside()
	if _, err := os.Stat(path); err == nil {
		list = append(list, path)
	}
	return list
}

// plain returns what the system said, without the path: whoever is told knows
// it.
func plain(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
