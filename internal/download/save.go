package download

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// maxSameName bounds the files of one name, and with them the names that are
// tried.
const maxSameName = 10_000

// A File is a complete file in a [Dir].
type File struct {
	Path  string // absolute
	Name  string // its last element: the cleaned name, numbered when that was taken
	Bytes int64
}

// Save reads r to its end and keeps that as a file of mode 0600, called name
// (as [CleanName] cleans it) or, when that is taken, "name (1)" and so on.
// Other files are never touched, and on failure nothing is left.
//
// It returns ErrDownloadFailed when r fails or holds more than the cap, or
// when the file cannot be written. An error of r is in the chain of Save's.
func (d *Dir) Save(name string, r io.Reader) (File, error) {
	partial := partialPrefix + rand.Text()
	f, err := d.root.OpenFile(partial, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return File{}, notKept(err)
	}
	defer d.root.Remove(partial) // gone already, when all went well
	n, err := d.fill(f, r)
	if err != nil {
		f.Close()
		return File{}, err
	}
	info, err := f.Stat()
	if err := errors.Join(err, f.Close()); err != nil {
		return File{}, notKept(err)
	}
	final, err := d.place(partial, CleanName(name, "", ""), info)
	if err != nil {
		return File{}, notKept(err)
	}
	return File{Path: filepath.Join(d.path, final), Name: final, Bytes: n}, nil
}

// Keep is Save for a file that was made here, and counted as a download: a name
// that has not the extension gets it.
func (d *Dir) Keep(name, ext string, r io.Reader) (File, error) {
	share, err := d.all.Begin()
	if err != nil {
		return File{}, err
	}
	var f File
	defer func() { share.End(f) }()
	if name = cmp.Or(clean(name), "page"); !strings.EqualFold(filepath.Ext(name), ext) {
		name += ext
	}
	f, err = d.Save(name, r)
	return f, err
}

// fill copies r to f, up to the cap.
func (d *Dir) fill(f *os.File, r io.Reader) (int64, error) {
	limit := min(d.max, d.all.Room())
	src := &source{r: io.LimitReader(r, limit)}
	n, err := io.Copy(f, src)
	switch {
	case src.err != nil:
		return n, unread(src.err, n)
	case err != nil:
		return n, notKept(err)
	case n < limit:
		return n, nil
	}
	// Exactly the cap is fine, so look whether there is more.
	switch m, err := io.ReadFull(r, make([]byte, 1)); {
	case m > 0:
		return n, d.fits(n + 1)
	case err != io.EOF:
		return n, unread(err, n)
	}
	return n, nil
}

// A source remembers the error of its reader, which io.Copy mixes with those
// of the writer.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// Adopt takes the file at path, which the browser wrote directly into the
// folder that [Dir.Staging] returned, into place, under the same rules as
// Save. The file must be closed by its writer. It is no longer at path
// afterwards, whether Adopt succeeds or not; a path that is not in the staging
// folder is left alone.
//
// It returns ErrDownloadFailed when there is no such file, when it is not a
// regular file (a symbolic link is not followed), or when it is larger than
// the cap.
func (d *Dir) Adopt(path, name string) (File, error) {
	if filepath.Dir(filepath.Clean(path)) != filepath.Join(d.path, stagingName) {
		return File{}, executor.Errorf(executor.ErrDownloadFailed, "", "the browser wrote outside of its staging folder")
	}
	// The folder itself may have been replaced by a link since.
	if err := d.makeStaging(); err != nil {
		return File{}, notKept(err)
	}
	staged := filepath.Join(stagingName, filepath.Base(path))
	defer d.root.Remove(staged)
	info, err := d.tighten(staged)
	if err != nil {
		return File{}, notKept(err)
	}
	if err := d.fits(info.Size()); err != nil {
		return File{}, err
	}
	final, err := d.place(staged, CleanName(name, "", ""), info)
	if err != nil {
		return File{}, notKept(err)
	}
	return File{Path: filepath.Join(d.path, final), Name: final, Bytes: info.Size()}, nil
}

// tighten gives a staged file mode 0600, and returns what it is.
func (d *Dir) tighten(staged string) (fs.FileInfo, error) {
	named, err := d.root.Lstat(staged)
	if err != nil {
		return nil, err
	}
	if !named.Mode().IsRegular() {
		return nil, errors.New("what the browser wrote is not a regular file")
	}
	f, err := d.root.Open(staged)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// Open follows a link that was put there since.
	info, err := f.Stat()
	if err == nil && !os.SameFile(named, info) {
		err = errReplaced
	}
	if err != nil {
		return nil, err
	}
	return info, f.Chmod(0o600)
}

var errReplaced = errors.New("was replaced while it was taken")

// place gives the file old, which is info, the first free name like name, and
// returns that. It never replaces anything: a hard link fails where the name
// is taken, by a symbolic link too, and of two that come at once one fails.
func (d *Dir) place(old, name string, info fs.FileInfo) (string, error) {
	for i := range maxSameName {
		final := numbered(name, i)
		err := d.link(old, final)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			// FAT and some network folders have no hard links.
			err = d.reserve(old, final)
		}
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		if placed, err := d.root.Lstat(final); err != nil {
			return "", err
		} else if !os.SameFile(placed, info) {
			d.root.Remove(final)
			return "", errReplaced
		}
		// The old name, if it is still there, goes with the caller's return.
		return final, nil
	}
	return "", fmt.Errorf("there are %d files of that name", maxSameName)
}

// reserve takes the name final with an empty file, and renames old over that.
func (d *Dir) reserve(old, final string) error {
	f, err := d.root.OpenFile(final, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = f.Close()
	if err == nil {
		err = d.root.Rename(old, final)
	}
	if err != nil {
		d.root.Remove(final)
		// Not ErrExist, whatever it was: the name was ours.
		return fmt.Errorf("taking a name: %v", cause(err))
	}
	return nil
}

// numbered returns the i-th variant of a name: "report (1).pdf".
func numbered(name string, i int) string {
	if i == 0 {
		return name
	}
	stem, ext := splitExt(name)
	if base, ok := strings.CutSuffix(stem, ".tar"); ok && base != "" {
		stem, ext = base, ".tar"+ext
	}
	return fmt.Sprintf("%s (%d)%s", stem, i, ext)
}

// notKept is the error of a file that could not be written or put into place.
func notKept(err error) error {
	hint := "Look whether the folder for downloads is there, writable, and on a disk with room."
	if errors.Is(err, os.ErrClosed) {
		hint = ""
	}
	return executor.Errorf(executor.ErrDownloadFailed, hint, "file could not be kept: %w", cause(err))
}

// unread is the error of a stream that broke off after n bytes.
func unread(err error, n int64) error {
	var e *executor.Error
	if errors.As(err, &e) {
		return e
	}
	failed := &executor.Error{Code: executor.ErrDownloadFailed, Retryable: true, Hint: "Try again."}
	failed.Err = quiet{fmt.Sprintf("file broke off after %d bytes: %s", n, plainly(err)), err}
	return failed
}
