package chat

import "syscall"

// endWithThread lets the system kill a program that does not exit when its input ends, if this process is
// killed.
func endWithThread(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
