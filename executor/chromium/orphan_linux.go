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
func commandLine(pid int) ([]string, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return nil, err
	}
	return strings.Split(string(bytes.TrimSuffix(b, []byte{0})), "\x00"), nil
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
	want := []byte("--user-data-dir=" + dir)
	var pids []int
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		b, err := os.ReadFile("/proc/" + name + "/cmdline")
		if err != nil || !bytes.Contains(b, want) {
			continue
		}
		for arg := range bytes.SplitSeq(b, []byte{0}) {
			if bytes.Equal(arg, want) {
				pids = append(pids, pid)
				break
			}
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
