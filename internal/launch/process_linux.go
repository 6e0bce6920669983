package launch

import (
	"os"
	"os/exec"
	"syscall"
)

// ownProcess makes the browser exit with this process, and starts it in a separate session. Ctrl-C
// in a terminal then reaches only us, and we close the browser in order. A stopped browser is not
// continued when we exit.
//
// If this process is killed, the closed pipe is usually enough. The signal is for a browser that
// hangs or has not opened its pipe yet. With a named profile it is SIGTERM, on which Chromium saves
// its data.
func ownProcess(cmd *exec.Cmd, temporary bool) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if _, ok := os.LookupEnv("LAMBDA_TASK_ROOT"); ok {
		return // AWS Lambda cannot start a process with Pdeathsig
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM
	if temporary {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
}

// killTree kills the browser and all processes in its group. pid must not have been waited for yet.
func killTree(pid int) {
	_ = syscall.Kill(-pid, syscall.SIGKILL)
	_ = syscall.Kill(pid, syscall.SIGKILL)
}
