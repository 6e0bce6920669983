package bridge

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/processid"
)

// TestClockJump changes the clock, after which Linux reports other start times of all processes.
// The files of running servers are not removed.
func TestClockJump(t *testing.T) {
	s, dir, _ := start(t)
	before, err := processid.Started(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	const jump = 3600 // seconds
	t.Setenv("HOST_PROC", laterProc(t, jump))
	after, err := processid.Started(os.Getpid())
	if err != nil || after-before < jump*1000/2 {
		t.Fatalf("the clock did not jump: %d, %d, %v", before, after, err)
	}

	if live := RunningServers(dir); len(live) != 1 || live[0].Port != s.Port() {
		t.Errorf("live %+v", live)
	}
	(&dataDirectory{dir}).sweep()
	if s.published.Replaced() {
		t.Error("the file of a running server was removed")
	}
}

// laterProc returns a copy of /proc as it is after the clock was set forward by a number of seconds.
func laterProc(t *testing.T, jump int64) string {
	t.Helper()
	proc := t.TempDir()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		path := filepath.Join(proc, e.Name())
		switch e.Name() {
		case "stat", "uptime":
			text, err := os.ReadFile("/proc/" + e.Name())
			if err != nil {
				t.Fatal(err)
			}
			number, by := regexp.MustCompile(`(?m)^btime (\d+)$`), jump
			if e.Name() == "uptime" {
				number, by = regexp.MustCompile(`^(\d+)`), -jump // the boot time is now minus the uptime
			}
			at := number.FindSubmatchIndex(text)
			n, _ := strconv.Atoi(string(text[at[2]:at[3]]))
			text = append(strconv.AppendInt(text[:at[2]:at[2]], int64(n)+by, 10), text[at[3]:]...)
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
		default:
			if err := os.Symlink("/proc/"+e.Name(), path); err != nil {
				t.Fatal(err)
			}
		}
	}
	return proc
}
