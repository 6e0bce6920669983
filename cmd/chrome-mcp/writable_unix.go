//go:build unix

package main

import (
	"io/fs"
	"syscall"
)

// writable asks, without trying, whether files can be made in dir.
func writable(dir string) error {
	const write, search = 2, 1 // W_OK and X_OK
	if err := syscall.Access(dir, write|search); err != nil {
		return &fs.PathError{Op: "write to", Path: dir, Err: err}
	}
	return nil
}
