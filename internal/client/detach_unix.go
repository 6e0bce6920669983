//go:build unix

package client

import (
	"os/exec"
	"syscall"
)

// detach makes a program survive this one and its terminal.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
