//go:build unix

package owneronly

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxLinks limits the symbolic links on the way to a file, as Linux does.
const maxLinks = 40

// CheckParents returns an error if a user other than this one and root can replace
// what is at path: if they own a directory above it or a symbolic link on the way,
// or can write to such a directory and it is not sticky. path need not exist.
func CheckParents(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	dir, rest := "/", strings.Split(path, "/")
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..": // of a link; dir contains none
			dir = filepath.Dir(dir)
			continue
		}
		info, err := os.Lstat(dir)
		if err == nil {
			err = checkParent(dir, info)
		}
		if err != nil {
			return err
		}
		next := filepath.Join(dir, name)
		info, err = os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case info.Mode()&fs.ModeSymlink == 0:
			dir = next
			continue
		}
		if links++; links > maxLinks {
			return &fs.PathError{Op: "open", Path: path, Err: syscall.ELOOP}
		}
		if !ours(info) {
			return fmt.Errorf("is reached by the symbolic link %s, which belongs to another user", next)
		}
		target, err := os.Readlink(next)
		if err != nil {
			return err
		}
		if filepath.IsAbs(target) {
			dir = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return nil
}

// checkParent checks one directory above a file.
func checkParent(dir string, info fs.FileInfo) error {
	switch {
	case isReadOnly(dir):
		return nil
	case !ours(info):
		return fmt.Errorf("is below the directory %s, which belongs to another user", dir)
	case info.Mode()&fs.ModeSticky == 0 && othersWrite(info):
		return fmt.Errorf("is below the directory %s, which others may write to (mode %04o)", dir, info.Mode().Perm())
	}
	return nil
}

// CheckTrusted returns an error if a user other than this one and root can write to
// or replace the file at path. info describes the file after it was opened.
func CheckTrusted(path string, info fs.FileInfo) error {
	switch {
	case isReadOnly(path):
	case !ours(info):
		return errors.New("belongs to another user")
	case othersWrite(info):
		return &modeError{"written to", info.Mode()}
	}
	return CheckParents(path)
}

// ours reports whether a file belongs to this user or root.
func ours(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && (st.Uid == 0 || int(st.Uid) == os.Geteuid() || isUnmapped(st.Uid))
}

// othersWrite reports whether the mode of a file lets others write to it. The group
// of root and the private group of a user have no other members; their IDs equal that of the user.
func othersWrite(info fs.FileInfo) bool {
	mask := fs.FileMode(0o022)
	if st, ok := info.Sys().(*syscall.Stat_t); ok && (st.Gid == 0 || int(st.Gid) == os.Geteuid() && os.Getegid() == os.Geteuid()) {
		mask = 0o002
	}
	return info.Mode().Perm()&mask != 0
}
