//go:build linux || darwin

package child

import "syscall"

// confine limits this process permanently: it opens no file or socket, writes no
// file or core dump, and has at most memory bytes of data.
func confine(memory uint64) error {
	for resource, limit := range map[int]uint64{
		syscall.RLIMIT_DATA:   memory,
		syscall.RLIMIT_FSIZE:  0,
		syscall.RLIMIT_CORE:   0,
		syscall.RLIMIT_NOFILE: 0,
	} {
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
			return err
		}
	}
	return nil
}
