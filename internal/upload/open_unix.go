//go:build unix

package upload

import (
	"os"
	"syscall"
)

// nonBlocking prevents opening a pipe from waiting for a writer.
const nonBlocking = syscall.O_NONBLOCK

// linkCount returns the number of hard links to the file.
func linkCount(f *os.File) (uint64, error) {
	var stat syscall.Stat_t
	if err := syscall.Fstat(int(f.Fd()), &stat); err != nil {
		return 0, err
	}
	return uint64(stat.Nlink), nil
}
