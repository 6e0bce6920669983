//go:build unix

package bridge

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// owned says why something is not this user's alone to write to, or returns
// nil.
func owned(info fs.FileInfo) error {
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return errors.New("belongs to another user")
	}
	if perm := info.Mode().Perm(); perm&0o022 != 0 {
		return fmt.Errorf("may be written to by others (mode %04o)", perm)
	}
	return nil
}

// onlyOurs reports whether nobody else has a right to it.
func onlyOurs(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 == 0 }
