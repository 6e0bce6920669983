//go:build unix && !linux

package chat

import "syscall"

// endWithThread does nothing: on this system, an agent ends with this process only if it exits when its
// input ends.
func endWithThread(*syscall.SysProcAttr) {}
