//go:build unix

package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// noFollow makes the opening of a symbolic link fail.
const noFollow = syscall.O_NOFOLLOW

// private says why a file is not this user's alone to read and write, or
// returns nil.
func private(info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok || int(st.Uid) != os.Geteuid():
		return errors.New("belongs to another user")
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("may be read by others (mode %04o); chmod 600 it", info.Mode().Perm())
	case st.Nlink > 1:
		return errors.New("has another name as well, by a hard link")
	}
	return nil
}

// shielded says why others may replace what is in a folder, or returns nil.
// Where everybody may make files, as in /tmp, only their owners can rename
// them.
func shielded(info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok || int(st.Uid) != os.Geteuid() && st.Uid != 0:
		return errors.New("is in a folder of another user")
	case info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0:
		return fmt.Errorf("is in a folder that others may write to (mode %04o)", info.Mode().Perm())
	}
	return nil
}
