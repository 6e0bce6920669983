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

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/patherror"
)

// maxSameName limits the numbered names that are tried for a file.
const maxSameName = 10_000

// A File is a complete file in a [Dir].
type File struct {
	Path  string // absolute
	Name  string // last element of Path: the cleaned name, with a number if it was in use
	Bytes int64
}

// Save reads r to its end and saves it as a file with mode 0600. The file is called name, as
// [CleanName] cleans it, or, if that name is in use, "name (1)" and so on. Save never changes other
// files, and leaves no file if it fails.
//
// It returns ErrDownloadFailed if r fails or is larger than the limit, or if the file cannot be
// written. The error wraps the error of r.
func (d *Dir) Save(name string, r io.Reader) (File, error) {
	share, err := d.all.Begin()
	if err != nil {
		return File{}, err
	}
	f, err := d.save(name, r, share)
	share.End(f)
	return f, err
}

// save is Save for a download that has begun.
func (d *Dir) save(name string, r io.Reader, share *Share) (File, error) {
	partial := partialPrefix + rand.Text()
	f, err := d.root.OpenFile(partial, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return File{}, saveError(err)
	}
	defer d.root.Remove(partial) // does not exist after success
	if err := d.fill(f, r, share); err != nil {
		f.Close()
		return File{}, err
	}
	info, err := f.Stat()
	if err := errors.Join(err, f.Close()); err != nil {
		return File{}, saveError(err)
	}
	return d.moveToFreeName(partial, name, info)
}

// SaveGenerated is like Save for a file that this program generates. If name does not have the
// extension ext, SaveGenerated appends it.
func (d *Dir) SaveGenerated(name, ext string, r io.Reader) (File, error) {
	if name = cmp.Or(clean(name), "page"); !strings.EqualFold(filepath.Ext(name), ext) {
		name += ext
	}
	return d.Save(name, r)
}

// fill copies r to f, up to the limits.
func (d *Dir) fill(f *os.File, r io.Reader, share *Share) error {
	src := &source{r: r, max: d.max, share: share}
	n, err := io.Copy(f, src)
	switch {
	case src.limit != nil:
		return src.limit
	case src.err != nil:
		return incompleteError(src.err, n)
	case err != nil:
		return saveError(err)
	}
	return nil
}

// A source reserves space for what it reads. It stores its errors, because io.Copy does not distinguish
// them from the writer's.
type source struct {
	r     io.Reader
	max   int64 // bytes
	share *Share
	n     int64 // bytes read
	limit error // they exceed a limit
	err   error // of r
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.n += int64(n)
	if s.limit = checkSize(s.n, s.max, s.share); s.limit != nil {
		return 0, s.limit
	}
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// Adopt moves the file at path, which the browser wrote into the staging directory that
// [Dir.Staging] returned, into d, by the same rules as Save. The browser must have closed the file.
// Adopt removes it from path even if it fails, but does not touch a path outside the staging
// directory.
//
// share is the share of the download in the quota of d, or nil if it has none. Adopt returns
// ErrDownloadFailed if the file does not exist, is not a regular file (symbolic links are not
// followed), or is larger than a limit.
func (d *Dir) Adopt(path, name string, share *Share) (File, error) {
	if filepath.Dir(filepath.Clean(path)) != filepath.Join(d.path, stagingName) {
		return File{}, errs.Errorf(errs.ErrDownloadFailed, "", "the browser wrote outside its staging directory")
	}
	// A link may have replaced the directory.
	if _, err := d.mkdir(stagingName); err != nil {
		return File{}, saveError(err)
	}
	staged := filepath.Join(stagingName, filepath.Base(path))
	defer d.root.Remove(staged)
	info, err := d.makePrivate(staged)
	if err != nil {
		return File{}, saveError(err)
	}
	if err := checkSize(info.Size(), d.max, share); err != nil {
		return File{}, err
	}
	return d.moveToFreeName(staged, name, info)
}

// makePrivate sets the mode of a staged file to 0600, and returns its FileInfo.
func (d *Dir) makePrivate(staged string) (fs.FileInfo, error) {
	named, err := d.root.Lstat(staged)
	if err != nil {
		return nil, err
	}
	if !named.Mode().IsRegular() {
		return nil, errors.New("the downloaded file is not a regular file")
	}
	f, err := d.root.Open(staged)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// Open follows a link that was created in the meantime.
	info, err := f.Stat()
	if err == nil && !os.SameFile(named, info) {
		err = errReplaced
	}
	if err != nil {
		return nil, err
	}
	return info, f.Chmod(0o600)
}

var errReplaced = errors.New("was replaced while it was moved")

// moveToFreeName gives the file old, whose FileInfo is info, the first free numbered variant of
// name, which it cleans. It never replaces a file: creating a hard link fails if the name is in use,
// also by a symbolic link, and of two concurrent attempts one fails.
func (d *Dir) moveToFreeName(old, name string, info fs.FileInfo) (File, error) {
	name = CleanName(name, "", "")
	for i := range maxSameName {
		final := numbered(name, i)
		err := d.link(old, final)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			// FAT and some network file systems have no hard links.
			err = d.reserve(old, final)
		}
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return File{}, saveError(err)
		}
		if placed, err := d.root.Lstat(final); err != nil {
			return File{}, saveError(err)
		} else if !os.SameFile(placed, info) {
			d.root.Remove(final)
			return File{}, saveError(errReplaced)
		}
		// The caller removes the old name if it still exists.
		return File{Path: filepath.Join(d.path, final), Name: final, Bytes: info.Size()}, nil
	}
	return File{}, saveError(fmt.Errorf("%d files with this name exist", maxSameName))
}

// reserve creates an empty file with the name final, and renames old to final.
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
		// Never return ErrExist: the name was free.
		return fmt.Errorf("reserving a name: %v", patherror.Cause(err))
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

// saveError is the error of a file that could not be written or moved.
func saveError(err error) error {
	hint := "Check that the download directory exists and is writable, and that the disk is not full."
	if errors.Is(err, os.ErrClosed) {
		hint = ""
	}
	return errs.Errorf(errs.ErrDownloadFailed, hint, "saving the file: %w", patherror.Cause(err))
}

// incompleteError is the error of a stream that was interrupted after n bytes.
func incompleteError(err error, n int64) error {
	if e, ok := errors.AsType[*errs.Error](err); ok {
		return e
	}
	return &errs.Error{Code: errs.ErrDownloadFailed, Retryable: true, Hint: "Try again.",
		Err: redactedError{fmt.Sprintf("download interrupted after %d bytes: %s", n, networkErrorText(err)), err}}
}
