//go:build unix

package testlog

import (
	"syscall"
	"testing"
	"time"
)

// childrenTime returns the CPU time of the child processes that exited.
func childrenTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
