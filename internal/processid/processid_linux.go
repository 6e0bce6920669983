package processid

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

// bootID distinguishes the clock ticks of this boot from those of another boot, so that a record
// from before a reboot matches no process.
var bootID = sync.OnceValue(func() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b))
})

// A Stat contains fields of /proc/<pid>/stat.
type Stat struct {
	State byte
	Group int
	Start string // clock ticks since boot
}

// Ended reports whether the process has exited and only waits to be reaped.
func (s Stat) Ended() bool { return s.State == 'Z' || s.State == 'X' }

// ReadStat reads the Stat of a process.
func ReadStat(pid int) (Stat, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Stat{}, err
	}
	return parseStat(b)
}

// parseStat parses one line of proc_pid_stat(5). The second field is the
// program's name in parentheses, which may contain spaces and parentheses.
func parseStat(b []byte) (Stat, error) {
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return Stat{}, fmt.Errorf("no program name in %q", b)
	}
	fields := strings.Fields(string(b[i+1:])) // begins with field 3
	if len(fields) < 20 {
		return Stat{}, fmt.Errorf("%d fields in %q", len(fields), b)
	}
	group, err := strconv.Atoi(fields[2])
	if err != nil {
		return Stat{}, err
	}
	return Stat{State: fields[0][0], Group: group, Start: fields[19]}, nil
}

// Of returns a value that identifies the process among all processes that ever have this pid. It
// uses the start time since boot, because the result of Started changes when the clock is set.
func Of(pid int) (string, error) {
	st, err := ReadStat(pid)
	if err != nil {
		return "", err
	}
	if st.Ended() {
		return "", errEnded
	}
	return bootID() + "/" + st.Start, nil
}
