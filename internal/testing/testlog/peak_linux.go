package testlog

import (
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"testing"
)

// ResetPeakMemory returns the current memory use of this process, in MiB, and restarts the
// measurement of PeakMemory.
func ResetPeakMemory(t *testing.T) int {
	t.Helper()
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
	return PeakMemory(t)
}

// PeakMemory returns the maximum memory use of this process, in MiB.
func PeakMemory(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	kib := 0
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatal(err)
	}
	return kib >> 10
}
