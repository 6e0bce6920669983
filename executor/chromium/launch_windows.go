package chromium

import (
	"os/exec"
	"syscall"
)

// ownProcess puts the browser in a process group of its own, so that Ctrl-C
// in a console reaches us only and we end it in order. When this process is
// killed, the end of the pipe ends the browser.
func ownProcess(cmd *exec.Cmd, _ bool) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// killTree ends the browser and its children.
func killTree(pid int) { _ = killProcess(pid) }

// endHelpers ends the helpers that outlived the browser on a temporary
// profile: Windows removes no file that one of them has open.
func endHelpers(_ int, p *profile) {
	if !p.temporary {
		return
	}
	ctx, cancel := detached(removeLimit)
	defer cancel()
	endUsers(ctx, p.dir, func(int) bool { return true })
}
