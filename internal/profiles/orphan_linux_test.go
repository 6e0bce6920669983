package profiles

import (
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/processid"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

// firstThreadEnv makes the test binary a process whose first thread has exited.
const firstThreadEnv = "CHROMIUM_TEST_FIRST_THREAD"

func init() {
	if os.Getenv(firstThreadEnv) != "" {
		syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0) // exit only this thread, the first one
	}
}

// TestIsRunningWithExitedMainThread uses a process whose first thread has exited. It looks like an
// exited process, but its other threads may still write.
func TestIsRunningWithExitedMainThread(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), firstThreadEnv+"=1")
	cmd.Stdout, cmd.Stderr = io.Discard, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	await.Until(t, "the exit of the first thread", func() bool { st, err := processid.ReadStat(pid); return err == nil && st.Ended() })
	if !isRunning(pid) {
		t.Error("the other threads were not found")
	}
	if err := KillProcess(pid); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
	if isRunning(pid) {
		t.Error("an exited process counts as running")
	}
}
