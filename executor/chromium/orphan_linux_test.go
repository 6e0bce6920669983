package chromium

import (
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/processid"
)

// firstThreadEnv makes the test binary a process whose first thread has ended.
const firstThreadEnv = "CHROMIUM_TEST_FIRST_THREAD"

func init() {
	if os.Getenv(firstThreadEnv) != "" {
		syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0) // of this thread alone, the first
	}
}

// A process whose first thread has ended looks like one that is over, and its
// other threads may write still.
func TestWorks(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), firstThreadEnv+"=1")
	cmd.Stdout, cmd.Stderr = io.Discard, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	if !poll(t.Context(), time.Millisecond, func() bool { st, err := processid.ReadStat(pid); return err == nil && st.Ended() }) {
		t.Fatal("the first thread does not end")
	}
	if !works(pid) {
		t.Error("the other threads were not seen")
	}
	if err := killProcess(pid); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
	if works(pid) {
		t.Error("a process that is gone still works")
	}
}
