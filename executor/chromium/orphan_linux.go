package chromium

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/chrome-mcp/chrome-mcp/internal/processid"
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

// usersOf lists the processes that have the profile in dir in their command line: a browser and the
// helper processes that it passes the switch to.
func usersOf(dir string) []int {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && usesProfile(pid, dir) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// terminate requests a process to exit.
func terminate(pid int) error { return syscall.Kill(pid, syscall.SIGTERM) }

// killProcess kills a process immediately.
func killProcess(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }

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
