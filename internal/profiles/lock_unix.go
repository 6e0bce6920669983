//go:build !windows

package profiles

import (
	"errors"
	"os"
	"syscall"
)

// flock is changed by tests.
var flock = syscall.Flock

// lockInSystem is lockFile for other processes. A file that its owner has removed in the meantime counts
// as locked. On a file system without locks, lockInSystem always succeeds.
func lockInSystem(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	switch {
	case err == nil && !isAt(f, path):
		err = errLocked
	case err == nil, errors.Is(err, syscall.ENOTSUP), errors.Is(err, syscall.ENOLCK), errors.Is(err, syscall.ENOSYS):
		return f, nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = errLocked
	}
	f.Close()
	return nil, err
}

// isAt reports whether f is the file at path.
func isAt(f *os.File, path string) bool {
	opened, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Lstat(path)
	return err == nil && os.SameFile(opened, now)
}
