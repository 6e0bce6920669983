package download

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
)

// maxPathElements limits the directories that one file can create.
const maxPathElements = 8

// PathRule describes the paths that [CheckPath] accepts.
const PathRule = "a relative path of letters, digits, dots, dashes and underscores"

// CheckPath returns an error unless [Dir.SaveAt] can save a file at path: up to 8 elements,
// separated by slashes, of ASCII letters, digits, dots, dashes and underscores, with at most 150
// bytes in total. No element begins or ends with a dot or is a Windows device name.
//
// The error completes a sentence whose subject is the path.
func CheckPath(path string) error {
	if len(path) > maxNameBytes {
		return fmt.Errorf("must have at most %d bytes, got %d", maxNameBytes, len(path))
	}
	elements := strings.Split(path, "/")
	if len(elements) > maxPathElements {
		return fmt.Errorf("must have at most %d elements, got %d", maxPathElements, len(elements))
	}
	for _, e := range elements {
		switch {
		case e == "", strings.ContainsFunc(e, func(r rune) bool { return !inPath(r) }):
			return errors.New("must be " + PathRule)
		case strings.HasPrefix(e, "."), strings.HasSuffix(e, "."):
			return errors.New("must have no element that begins or ends with a dot")
		case reserved(e):
			return errors.New("must not contain the name of a device or system file")
		}
	}
	return nil
}

func inPath(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("._-", r)
}

// SaveAt is like [Dir.Save] for a path below d that [CheckPath] accepts. It creates missing
// directories with mode 0700, and follows no links. If the file name has no extension, SaveAt
// appends ext. Names of directories are cleaned like those of files: some systems run a directory
// as a program.
func (d *Dir) SaveAt(path, ext string, r io.Reader) (File, error) {
	if err := CheckPath(path); err != nil {
		return File{}, errs.Errorf(errs.ErrBadArgs, "", "path %w", err)
	}
	elements := strings.Split(path, "/")
	last := len(elements) - 1
	name := elements[last]
	if _, given := splitExt(name); given == "" {
		name += ext
	}
	in := d
	for _, e := range elements[:last] {
		next, err := in.sub(CleanName(e, "", ""))
		if in != d {
			in.Close()
		}
		if err != nil {
			return File{}, saveError(err)
		}
		in = next
	}
	if in != d {
		defer in.Close()
	}
	return in.Save(name, r)
}

// sub opens the directory name in d, and creates it if it does not exist.
func (d *Dir) sub(name string) (*Dir, error) {
	named, err := d.mkdir(name)
	if err != nil {
		return nil, err
	}
	root, err := d.root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if err := checkSame(root, named); err != nil {
		root.Close()
		return nil, err
	}
	sub := &Dir{path: filepath.Join(d.path, name), root: root, max: d.max, all: d.all, link: root.Link}
	sub.sweep()
	return sub, nil
}

// mkdir creates the directory name in d with mode 0700 unless it exists, and returns its FileInfo.
// It returns an error if name is a link, or if other users can write to the directory.
func (d *Dir) mkdir(name string) (fs.FileInfo, error) {
	if err := d.root.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	info, err := d.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	return info, checkPrivate(info)
}

// checkSame returns an error if root is not the directory that named describes: another directory
// may have replaced it before it was opened.
func checkSame(root *os.Root, named fs.FileInfo) error {
	opened, err := root.Stat(".")
	if err == nil && !os.SameFile(named, opened) {
		err = errors.New("was replaced while it was opened")
	}
	return err
}
