//go:build !windows

package chromium

import (
	"errors"
	"os"
	"syscall"
)

// errLocked is returned by lockFile when another process holds the lock.
var errLocked = errors.New("locked by another process")

// lockFile opens the file at path, creates it if necessary, and locks it without waiting. The lock
// is released when the file is closed or this process exits; child processes do not inherit it. On
// a file system without locks, lockFile always succeeds.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	switch {
	case err == nil, errors.Is(err, syscall.ENOTSUP), errors.Is(err, syscall.ENOLCK), errors.Is(err, syscall.ENOSYS):
		return f, nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = errLocked
	}
	f.Close()
	return nil, err
}
