//go:build unix

package testlog

import (
	"os/exec"
	"testing"
)

// TestProcessorTime checks that the CPU time of a child process counts.
func TestProcessorTime(t *testing.T) {
	before := processorTime(t)
	cmd := exec.Command("sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if counted := processorTime(t) - before; used == 0 || counted < used {
		t.Errorf("the child used %v, and %v was counted", used, counted)
	}
}
