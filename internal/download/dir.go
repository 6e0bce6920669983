// Package download fetches files and saves them in a directory.
//
// The content, the name and the declared size of a file come from a page that may be hostile. So a
// [Dir] works through an [os.Root]. A saved file has a name that no system runs as a program
// ([CleanName]), is readable only by its user, is not larger than the limit, never replaces another
// file, and is always complete.
//
// [Dir.Save] saves a stream, [Dir.Adopt] a file that the browser wrote, and [Dir.Fetch] a URL, each
// hop of which is checked before it is dialed.
package download

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
	"github.com/chrome-mcp/chrome-mcp/internal/patherror"
)

const (
	stagingName   = ".staging"
	partialPrefix = ".partial-"

	dirHint = "Choose another download directory, or make this one writable only by you."
)

// A Dir is a download directory. It is safe for concurrent use, also by several processes. After
// Close its methods fail.
type Dir struct {
	path string // absolute
	root *os.Root
	max  int64
	all  *Quota // of all downloads together; nil means no quota

	// link is root.Link. Tests replace it to simulate a file system without hard links.
	link func(oldname, newname string) error
}

// Open opens the directory dir. It creates dir with mode 0700, and missing parents. It does not
// change an existing directory, and returns ErrDownloadFailed if dir is a symbolic link, belongs to
// another user, or is writable by others.
//
// maxBytes limits the size of one file.
func Open(dir string, maxBytes int64) (*Dir, error) {
	if maxBytes <= 0 {
		return nil, errs.Errorf(errs.ErrBadArgs, "", "download limit of %d bytes is not positive", maxBytes)
	}
	path, err := filepath.Abs(dir)
	if err != nil {
		return nil, errs.Errorf(errs.ErrDownloadFailed, dirHint, "download directory %s: %w", dir, err)
	}
	root, err := openRoot(path)
	if err != nil {
		return nil, errs.Errorf(errs.ErrDownloadFailed, dirHint, "download directory %s: %w", path, patherror.Cause(err))
	}
	d := &Dir{path: path, root: root, max: maxBytes, link: root.Link}
	d.sweep()
	return d, nil
}

// OpenShared is like Open, and makes the downloads count toward q, which other directories can
// share.
func OpenShared(dir string, maxBytes int64, q *Quota) (*Dir, error) {
	d, err := Open(dir, maxBytes)
	if err == nil {
		d.all = q
	}
	return d, err
}

// sweepAge is the age at which a partial file counts as abandoned. No download takes as long.
// Younger files may belong to other processes, which use the same directory.
const sweepAge = 24 * time.Hour

// sweep removes the partial files of downloads whose process was killed.
func (d *Dir) sweep() {
	for _, sub := range []string{".", stagingName} {
		if info, err := d.root.Lstat(sub); err != nil || !info.IsDir() {
			continue
		}
		entries, _ := fs.ReadDir(d.root.FS(), sub)
		for _, e := range entries {
			info, err := e.Info()
			if sub == "." && !strings.HasPrefix(e.Name(), partialPrefix) || err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) < sweepAge {
				continue
			}
			_ = d.root.Remove(filepath.Join(sub, e.Name()))
		}
	}
}

func openRoot(path string) (*os.Root, error) {
	if err := owneronly.CheckParents(path); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	named, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if err := checkPrivate(named); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	if err := checkSame(root, named); err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}

// checkPrivate returns an error if other users can access the directory.
func checkPrivate(info fs.FileInfo) error {
	if info.Mode()&fs.ModeSymlink != 0 {
		return errors.New("is a symbolic link")
	}
	return owneronly.CheckDir(info)
}

// Path returns the absolute path of the directory.
func (d *Dir) Path() string { return d.path }

// Close closes the directory. Its files remain.
func (d *Dir) Close() error { return d.root.Close() }

// Staging returns the absolute path of the staging directory, to which the browser writes
// downloads. It is below d and has mode 0700. [Dir.Adopt] moves files out of it.
func (d *Dir) Staging() (string, error) {
	if _, err := d.mkdir(stagingName); err != nil {
		return "", errs.Errorf(errs.ErrDownloadFailed, dirHint,
			"directory %s: %w", filepath.Join(d.path, stagingName), patherror.Cause(err))
	}
	return filepath.Join(d.path, stagingName), nil
}

// checkSize returns an error if a file of n bytes is larger than maxBytes or than the share allows. It
// reserves space for it.
func checkSize(n, maxBytes int64, share *Share) error {
	if n > maxBytes {
		return errs.Errorf(errs.ErrDownloadFailed, "The user can allow more with Options.MaxDownloadBytes.", "file is larger than %s", SizeText(maxBytes))
	}
	return share.Grow(n)
}

// SizeText formats a size as the user wrote it: in MB if it is a multiple of 2^20 or 10^6 bytes,
// otherwise in bytes.
func SizeText(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MB", n>>20)
	case n >= 1e6 && n%1e6 == 0:
		return fmt.Sprintf("%d MB", n/1e6)
	}
	return fmt.Sprintf("%d bytes", n)
}
