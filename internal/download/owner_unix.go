//go:build unix

package download

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// owned says why a folder is not this user's alone to write to, or returns
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
