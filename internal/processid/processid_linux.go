package processid

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

// bootID tells this boot's clock ticks from those of another one, so that a
// record that survived a reboot matches nothing.
var bootID = sync.OnceValue(func() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b))
})

// A Stat is what of /proc/<pid>/stat counts here.
type Stat struct {
	State byte
	Group int
	Start string // clock ticks since boot
}

// Ended reports whether the process only waits to be reaped.
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
// program's name in parentheses, which may hold spaces and parentheses.
func parseStat(b []byte) (Stat, error) {
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return Stat{}, fmt.Errorf("no program name in %q", b)
	}
	fields := strings.Fields(string(b[i+1:])) // from field 3 on
	if len(fields) < 20 {
		return Stat{}, fmt.Errorf("%d fields in %q", len(fields), b)
	}
	group, err := strconv.Atoi(fields[2])
	if err != nil {
		return Stat{}, err
	}
	return Stat{State: fields[0][0], Group: group, Start: fields[19]}, nil
}

// Of returns what no other process with this number has. It is counted
// from the boot: Started is another time when the clock is set.
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
