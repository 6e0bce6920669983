// Package owneronly checks and creates directories and files that only their user
// can access. Files that others can read or replace are neither secret nor
// trusted.
package owneronly

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ErrMode is in the chain of the error for a file or directory whose mode gives others access.
var ErrMode = errors.New("its mode gives others access")

// A modeError says what others may do with a file.
type modeError struct {
	may  string
	mode fs.FileMode
}

func (e *modeError) Error() string {
	return fmt.Sprintf("may be %s by others (mode %04o)", e.may, e.mode.Perm())
}

// Is makes the error match ErrMode.
func (e *modeError) Is(target error) bool { return target == ErrMode }

// CheckDir returns an error if others can write to a directory. info describes
// the directory itself, not a link to it.
func CheckDir(info fs.FileInfo) error {
	if !info.IsDir() {
		return errors.New("is not a directory")
	}
	return CheckOwner(info)
}

// CheckFile returns an error if a file is not regular, or if others can read or
// write it.
func CheckFile(info fs.FileInfo) error {
	switch {
	case !info.Mode().IsRegular():
		return errors.New("is not a regular file")
	case !Private(info):
		return &modeError{"read", info.Mode()}
	}
	return CheckOwner(info)
}

// MakeDir creates the directory at path with mode 0700, and its missing parents.
// It returns an error if others can write to the directory or replace it. It
// follows a link to a directory of the user.
func MakeDir(path string) error {
	d, err := openDir(path)
	if err == nil {
		err = d.Close()
	}
	return err
}

// MakePrivateDir is MakeDir for a directory that others must not read. It removes
// their permissions.
func MakePrivateDir(path string) error {
	d, err := openDir(path)
	if err != nil {
		return err
	}
	info, err := d.Stat()
	if err == nil && !Private(info) {
		err = d.Chmod(0o700)
	}
	return errors.Join(err, d.Close())
}

// openDir creates, opens and checks a directory. It checks the open directory,
// because path may refer to another directory later.
func openDir(path string) (*os.File, error) {
	if err := CheckParents(path); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	d, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := d.Stat()
	if err == nil {
		err = CheckDir(info)
	}
	if err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// OpenAppend opens a file for appending, and creates it with mode 0600 if it does
// not exist. It follows no link, and returns an error unless the file is a regular
// file of the user that others cannot replace. It removes the permissions of others.
func OpenAppend(path string) (*os.File, error) {
	if err := CheckParents(path); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY|NoFollow|nonBlock, 0o600)
	if err != nil {
		if info, e := os.Lstat(path); e == nil && info.Mode()&fs.ModeSymlink != 0 {
			err = errors.New("is a symbolic link")
		}
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = errors.New("is not a regular file")
	default:
		err = CheckOnlyName(info)
	}
	if err == nil && !Private(info) {
		err = f.Chmod(0o600)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
