//go:build unix

package upload

import (
	"os"
	"syscall"
)

// nonBlocking keeps the opening of a pipe from waiting for a writer.
const nonBlocking = syscall.O_NONBLOCK

// names returns how many names the file has.
func names(f *os.File) (uint64, error) {
	var stat syscall.Stat_t
	if err := syscall.Fstat(int(f.Fd()), &stat); err != nil {
		return 0, err
	}
	return uint64(stat.Nlink), nil
}
