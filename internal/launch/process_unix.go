//go:build !windows && !linux

package launch

import (
	"os/exec"
	"syscall"
)

// ownProcess starts the browser in a separate session. Ctrl-C in a terminal then reaches only us,
// and we close the browser in order. If this process is killed, the browser exits because its pipe
// is closed.
func ownProcess(cmd *exec.Cmd, _ bool) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
}

// killTree kills the browser and all processes in its group. pid must not have been waited for yet.
func killTree(pid int) {
	_ = syscall.Kill(-pid, syscall.SIGKILL)
}
