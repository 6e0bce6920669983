//go:build unix

package chromium

import (
	"os/exec"
	"syscall"
)

func stopProcess(pid int) error      { return syscall.Kill(pid, syscall.SIGSTOP) }
func forceKill(pid int) error        { return syscall.Kill(pid, syscall.SIGKILL) }
func terminateProcess(pid int) error { return syscall.Kill(pid, syscall.SIGTERM) }
func setProcessGroup(cmd *exec.Cmd)  { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
