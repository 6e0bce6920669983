package chromium

import (
	"os/exec"
	"syscall"
)

// ownProcess starts the browser in a separate process group. Ctrl-C in a console then reaches only
// us, and we close the browser in order. If this process is killed, the browser exits because its
// pipe is closed.
func ownProcess(cmd *exec.Cmd, _ bool) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// killTree kills the browser and its children.
func killTree(pid int) { _ = killProcess(pid) }

// endHelpers kills the helper processes that outlived the browser on a temporary profile: Windows
// cannot remove a file that a process has open.
func endHelpers(_ int, p *profile) {
	if !p.temporary {
		return
	}
	ctx, cancel := cleanupContext(removeLimit)
	defer cancel()
	killProfileUsers(ctx, p.dir, func(int) bool { return true })
}
