//go:build !windows && !linux

package chromium

import (
	"os/exec"
	"syscall"
)

// ownProcess puts the browser in a session of its own, so that Ctrl-C in a
// terminal reaches us only and we end it in order. When this process is
// killed, the end of the pipe ends the browser.
func ownProcess(cmd *exec.Cmd, _ bool) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
}

// killTree ends the browser and everything in its group. pid must not have
// been waited for yet.
func killTree(pid int) {
	_ = syscall.Kill(-pid, syscall.SIGKILL)
}

// endHelpers ends the helpers that outlived the browser on a temporary
// profile. On one that stays they end by themselves when their browser is
// gone.
func endHelpers(_ int, p *profile) {
	if !p.temporary {
		return
	}
	ctx, cancel := detached(removeLimit)
	defer cancel()
	endUsers(ctx, p.dir, func(int) bool { return true })
}
