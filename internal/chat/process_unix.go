//go:build unix

package chat

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup starts a program in its process group, of which it is the leader.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills all processes in the group of a program.
func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
