// Package download keeps the files that a browser session fetches in one
// folder, and fetches them.
//
// What a file holds, what it is called and how large it says it is come from
// a page that may be hostile. So a [Dir] works through an [os.Root], and
// whatever it keeps has a name that no system takes for a program
// ([CleanName]), is readable by its user only, is never larger than the cap,
// never replaces another file, and is either complete or not there.
//
// [Dir.Save] keeps a stream, [Dir.Adopt] a file that the browser wrote, and
// [Dir.Fetch] a URL, each hop of which is asked about before it is dialed.
package download

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
)

const (
	// DefaultMaxBytes is the cap on one file when [Open] is given none.
	DefaultMaxBytes = 100 << 20

	stagingName   = ".staging"
	partialPrefix = ".partial-"

	dirHint = "Name another folder for downloads, or make this one a plain folder of your own that nobody else may write to."
)

// A Dir is a folder of downloads. It is safe for concurrent use, by several
// processes too. After Close its methods fail.
type Dir struct {
	path string // absolute
	root *os.Root
	max  int64
	all  *Quota // of all downloads together; nil is none

	// link is root.Link; a test puts a file system without hard links here.
	link func(oldname, newname string) error
}

// Open makes folder dir, with mode 0700, and its parents where they are
// missing, and holds on to it. An existing folder is left as it is, and
// refused with ErrDownloadFailed when it is a symbolic link, belongs to
// another user, or may be written to by others.
//
// maxBytes bounds the size of one file; 0 means [DefaultMaxBytes].
func Open(dir string, maxBytes int64) (*Dir, error) {
	if maxBytes == 0 {
		maxBytes = DefaultMaxBytes
	}
	if maxBytes < 0 {
		return nil, executor.Errorf(executor.ErrBadArgs, "", "download limit of %d bytes is negative", maxBytes)
	}
	path, err := filepath.Abs(dir)
	if err != nil {
		return nil, executor.Errorf(executor.ErrDownloadFailed, dirHint, "download folder %s: %w", dir, err)
	}
	root, err := openRoot(path)
	if err != nil {
		return nil, executor.Errorf(executor.ErrDownloadFailed, dirHint, "download folder %s: %w", path, cause(err))
	}
	d := &Dir{path: path, root: root, max: maxBytes, link: root.Link}
	d.sweep()
	return d, nil
}

// sweepAge is how old a partial file is that nobody writes to any more. No
// download takes as long, and other processes have theirs in the same folder.
const sweepAge = 24 * time.Hour

// sweep removes what was left of downloads whose process was killed.
func (d *Dir) sweep() {
	for _, folder := range []string{".", stagingName} {
		if info, err := d.root.Lstat(folder); err != nil || !info.IsDir() {
			continue
		}
		entries, _ := fs.ReadDir(d.root.FS(), folder)
		for _, e := range entries {
			info, err := e.Info()
			if folder == "." && !strings.HasPrefix(e.Name(), partialPrefix) || err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) < sweepAge {
				continue
			}
			_ = d.root.Remove(filepath.Join(folder, e.Name()))
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
	if err := private(named); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	// The name may have been pointed elsewhere since; what counts is what is
	// open now.
	opened, err := root.Stat(".")
	if err == nil && !os.SameFile(named, opened) {
		err = errors.New("was replaced while it was opened")
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}

// private says why a folder is not fit to keep files in, or returns nil.
func private(info fs.FileInfo) error {
	if info.Mode()&fs.ModeSymlink != 0 {
		return errors.New("is a symbolic link")
	}
	return owneronly.CheckDir(info)
}

// Share has the downloads into d count against q, as others do that q is told of.
// Call it before d is used.
func (d *Dir) Share(q *Quota) { d.all = q }

// Path returns the folder's absolute path.
func (d *Dir) Path() string { return d.path }

// Close lets go of the folder. Its files stay.
func (d *Dir) Close() error { return d.root.Close() }

// Staging returns the absolute path of a folder, below d and with mode 0700,
// for the browser to write into; [Dir.Adopt] takes files from there.
func (d *Dir) Staging() (string, error) {
	if err := d.makeStaging(); err != nil {
		return "", executor.Errorf(executor.ErrDownloadFailed, dirHint,
			"folder %s: %w", filepath.Join(d.path, stagingName), cause(err))
	}
	return filepath.Join(d.path, stagingName), nil
}

func (d *Dir) makeStaging() error {
	if err := d.root.Mkdir(stagingName, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := d.root.Lstat(stagingName)
	if err != nil {
		return err
	}
	return private(info)
}

// cause returns what the system said, without the name it said it of: that
// is an inner one which tells a user nothing.
func cause(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

// tooLarge is the error of a file that exceeds the cap.
func (d *Dir) tooLarge() error {
	return executor.Errorf(executor.ErrDownloadFailed, "Start chrome-mcp with a larger --max-download.",
		"file is larger than %s", sizeText(d.max))
}

// fits returns why a file of n bytes is too large, or nil.
func (d *Dir) fits(n int64) error {
	switch {
	case n > d.max:
		return d.tooLarge()
	case n > d.all.Room():
		return d.all.exhausted()
	}
	return nil
}

// sizeText writes a size as its user wrote it: in whole MB, of 2^20 or of
// 10^6 bytes, where it is that, else in bytes.
func sizeText(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MB", n>>20)
	case n >= 1e6 && n%1e6 == 0:
		return fmt.Sprintf("%d MB", n/1e6)
	}
	return fmt.Sprintf("%d bytes", n)
}
