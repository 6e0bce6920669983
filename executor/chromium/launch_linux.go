package chromium

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/timing"
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

// endHelpers kills the helper processes that outlived the browser with process pid on profile p,
// because they would write to a profile that is being removed. On a named profile they first get
// time to save their data, such as cookies. Another browser may already have started on it, so there
// only the processes in our browser's group are killed.
func endHelpers(pid int, p *profile) {
	ctx, cancel := context.WithTimeout(context.Background(), timing.Current().RemoveProfile)
	defer cancel()
	ours := func(user int) bool { return p.temporary || processGroup(user) == pid }
	if !p.temporary {
		saving, cancel := context.WithTimeout(ctx, timing.Current().OrphanExit)
		defer cancel()
		poll(saving, 10*time.Millisecond, func() bool { return !slices.ContainsFunc(usersOf(p.dir), ours) })
	}
	killProfileUsers(ctx, p.dir, ours)
}
