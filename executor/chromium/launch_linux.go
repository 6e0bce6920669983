package chromium

import (
	"os"
	"os/exec"
	"syscall"
)

// ownProcess makes the browser die with this process, and puts it in a
// session of its own: Ctrl-C in a terminal reaches us only, and we end it in
// order, and a browser that stands still is not woken by our end.
//
// The pipe alone ends it, when this process is killed; the signal is for the
// browser that has hung or has not opened its pipe yet. On a profile that
// stays it is SIGTERM, with which Chromium saves what it has.
func ownProcess(cmd *exec.Cmd, temporary bool) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if _, ok := os.LookupEnv("LAMBDA_TASK_ROOT"); ok {
		return // AWS Lambda starts no process with Pdeathsig
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM
	if temporary {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
}

// killTree ends the browser and everything in its group. pid must not have
// been waited for yet.
func killTree(pid int) {
	_ = syscall.Kill(-pid, syscall.SIGKILL)
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// endHelpers ends the helpers that outlived the browser with process pid on
// the profile in dir: they would write into a profile that is being removed.
// On a profile that stays, another browser may already have begun, so there
// only those in our browser's group are ours.
func endHelpers(pid int, p *profile) {
	ctx, cancel := detached(removeLimit)
	defer cancel()
	endUsers(ctx, p.dir, func(user int) bool { return p.temporary || processGroup(user) == pid })
}
