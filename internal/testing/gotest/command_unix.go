//go:build unix

package gotest

import (
	"os/exec"
	"syscall"
	"time"
)

// ownGroup makes a command the leader of a process group, which is signaled when its context ends.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		group := -cmd.Process.Pid
		time.AfterFunc(grace, func() { _ = syscall.Kill(group, syscall.SIGKILL) })
		return syscall.Kill(group, syscall.SIGINT)
	}
}
