package hostconfig

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
)

// maxBytes is the maximum size of a configuration file. Claude Code keeps the history of projects
// in its file.
const maxBytes = 64 << 20

// A Change is a change of a configuration file that was not written yet.
type Change struct {
	Path          string
	Found         *FoundEntry // the entry before the change; nil if there is none
	Before, After []byte

	at   Location
	info fs.FileInfo // nil if the file does not exist
}

// Empty reports whether the change leaves the file as it is.
func (c *Change) Empty() bool { return bytes.Equal(c.Before, c.After) }

// Diff returns the change as a unified diff. Characters that a terminal would not print are escaped.
func (c *Change) Diff() string {
	text := diff.Diff(c.Path, c.Before, c.Path, c.After)
	_, text, _ = bytes.Cut(text, []byte("\n")) // the command line of diff
	return Printable(string(text))
}

// Printable returns text with escapes instead of control and format characters, except for newlines
// and tabs.
func Printable(text string) string {
	var b strings.Builder
	for _, r := range strings.ReplaceAll(text, "\r\n", "\n") {
		if r == '\n' || r == '\t' || unicode.IsGraphic(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "<%U>", r)
		}
	}
	return b.String()
}

// read reads the file at a location, which need not exist.
func read(at Location) (*Change, error) {
	c := &Change{Path: at.File(), at: at}
	root, err := os.OpenRoot(at.Base)
	if errors.Is(err, fs.ErrNotExist) && !at.Project {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	c.Before, c.info, err = readIn(root, at)
	return c, err
}

// readIn reads the file at a location in root, which is the base of the location. If there is no
// file, info is nil. It returns ErrSymlink if the path contains a symbolic link.
func readIn(root *os.Root, at Location) (data []byte, info fs.FileInfo, err error) {
	parts := strings.Split(at.Path, "/")
	for i := range parts {
		name := path.Join(parts[:i+1]...)
		file := filepath.Join(at.Base, filepath.FromSlash(name))
		info, err = root.Lstat(name)
		switch last := i == len(parts)-1; {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil, nil
		case err != nil:
			return nil, nil, err
		case info.Mode()&fs.ModeSymlink != 0:
			target, _ := root.Readlink(name)
			return nil, nil, fmt.Errorf("%s %w to %s", file, ErrSymlink, Printable(target))
		case !last && !info.IsDir():
			return nil, nil, fmt.Errorf("%s is not a directory", file)
		case last && !info.Mode().IsRegular():
			return nil, nil, fmt.Errorf("%s is not a regular file", file)
		}
	}
	if err := owneronly.CheckOnlyName(info); err != nil {
		return nil, nil, fmt.Errorf("%s %w", at.File(), err)
	}
	f, err := root.Open(at.Path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	data, err = io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err == nil && len(data) > maxBytes {
		err = fmt.Errorf("%s is larger than %d bytes", at.File(), maxBytes)
	}
	return data, info, err
}

// Write replaces the file atomically, with the same mode, and returns the path of a backup of the
// file before the change, if there was a file. It returns ErrChanged, and changes nothing, if the
// file is not the one that the change was computed for.
func (c *Change) Write() (backup string, err error) {
	mode, dirMode := fs.FileMode(0o600), fs.FileMode(0o700)
	if c.at.Project {
		mode, dirMode = 0o644, 0o755
	}
	if c.info != nil {
		mode = c.info.Mode().Perm()
	}
	if !c.at.Project {
		if err := os.MkdirAll(c.at.Base, dirMode); err != nil {
			return "", err
		}
	}
	root, err := os.OpenRoot(c.at.Base)
	if err != nil {
		return "", err
	}
	defer root.Close()
	if err := c.unchanged(root); err != nil { // also checks the directories that are created next
		return "", err
	}
	if err := root.MkdirAll(path.Dir(c.at.Path), dirMode); err != nil {
		return "", err
	}
	temporary := path.Join(path.Dir(c.at.Path), ".new-"+rand.Text())
	if err := create(root, temporary, c.After, mode); err != nil {
		return "", err
	}
	defer root.Remove(temporary) // fails after a successful rename
	if c.info != nil {
		name := c.at.Path + "." + time.Now().UTC().Format("20060102-150405.000000") + ".bak"
		if err := create(root, name, c.Before, mode); err != nil {
			return "", err
		}
		defer func() {
			if err != nil {
				root.Remove(name)
			}
		}()
		backup = filepath.Join(c.at.Base, filepath.FromSlash(name))
	}
	if err := c.unchanged(root); err != nil {
		return "", err
	}
	if err := root.Rename(temporary, c.at.Path); err != nil {
		return "", err
	}
	return backup, nil
}

// unchanged returns ErrChanged if the file is not the one that was read.
func (c *Change) unchanged(root *os.Root) error {
	data, info, err := readIn(root, c.at)
	if err != nil {
		return err
	}
	if (info == nil) != (c.info == nil) || !bytes.Equal(data, c.Before) || info != nil && info.Mode() != c.info.Mode() {
		return fmt.Errorf("%s %w", c.Path, ErrChanged)
	}
	return nil
}

// create writes a new file to the disk.
func create(root *os.Root, name string, data []byte, mode fs.FileMode) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		root.Remove(name)
	}
	return err
}
