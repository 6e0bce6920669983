//go:build unix

package cli

import (
	"io/fs"
	"syscall"
)

// Writable returns an error if files cannot be created in dir. It creates none.
func Writable(dir string) error {
	const write, search = 2, 1 // W_OK and X_OK
	if err := syscall.Access(dir, write|search); err != nil {
		return &fs.PathError{Op: "write to", Path: dir, Err: err}
	}
	return nil
}
