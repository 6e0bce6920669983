//go:build unix

package owneronly

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

const (
	// NoFollow makes opening a symbolic link fail.
	NoFollow = syscall.O_NOFOLLOW
	// nonBlock prevents opening a pipe from waiting for a reader.
	nonBlock = syscall.O_NONBLOCK
)

// CheckOwner returns an error if this user is not the owner of a file, or if others
// can write to it.
func CheckOwner(info fs.FileInfo) error {
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return errors.New("belongs to another user")
	}
	if info.Mode()&0o022 != 0 {
		return &modeError{"written to", info.Mode()}
	}
	return nil
}

// CheckOnlyName returns an error if this user is not the owner of a file, or if the
// file has another hard link. It ignores the mode.
func CheckOnlyName(info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok || int(st.Uid) != os.Geteuid():
		return errors.New("belongs to another user")
	case st.Nlink > 1:
		return errors.New("has more than one hard link")
	}
	return nil
}

// Private reports whether other users have no permissions for a file.
func Private(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 == 0 }
