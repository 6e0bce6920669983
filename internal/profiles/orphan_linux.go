package profiles

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/processid"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// commandLine returns the arguments of a process.
//
// A helper process that Chromium forks replaces its arguments by a title, which joins them with
// spaces. commandLine splits a title before each switch. See
// base/process/set_process_title.cc in Chromium's source.
func commandLine(pid int) ([]string, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return nil, err
	}
	args := strings.Split(string(bytes.TrimSuffix(b, []byte{0})), "\x00")
	if len(args) == 1 {
		args = strings.Split(strings.ReplaceAll(args[0], " --", "\x00--"), "\x00")
	}
	return args, nil
}

// Users lists the processes that have the profile in dir in their command line: a browser and the
// helper processes that it passes the switch to.
func Users(dir string) []int {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && Uses(pid, dir) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// terminate requests a process to exit.
func terminate(pid int) error { return syscall.Kill(pid, syscall.SIGTERM) }

// KillProcess kills a process immediately.
func KillProcess(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }

// isRunning reports whether any thread of a process is still running. The first thread of a killed
// process may have exited while another one is still writing.
func isRunning(pid int) bool {
	threads, _ := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task") // empty if the process has exited
	return slices.ContainsFunc(threads, func(thread os.DirEntry) bool {
		tid, _ := strconv.Atoi(thread.Name())
		st, err := processid.ReadStat(tid)
		return err == nil && !st.Ended()
	})
}

// processGroup returns the process group of a process, or 0 if it has exited.
func processGroup(pid int) int {
	st, err := processid.ReadStat(pid)
	if err != nil {
		return 0
	}
	return st.Group
}

// EndHelpers kills the helper processes that outlived the browser with process pid on the profile,
// because they would write to a profile that is being removed. On a named profile they first get
// time to save their data, such as cookies. Another browser may already have started on it, so there
// only the processes in our browser's group are killed.
func (p *Profile) EndHelpers(pid int) {
	ctx, cancel := context.WithTimeout(context.Background(), timing.Current().RemoveProfile)
	defer cancel()
	ours := func(user int) bool { return p.Temporary || processGroup(user) == pid }
	if !p.Temporary {
		saving, cancel := context.WithTimeout(ctx, timing.Current().OrphanExit)
		defer cancel()
		poll(saving, 10*time.Millisecond, func() bool { return !slices.ContainsFunc(Users(p.Dir), ours) })
	}
	killUsers(ctx, p.Dir, ours)
}
