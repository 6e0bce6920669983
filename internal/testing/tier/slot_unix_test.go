//go:build unix

package tier

import (
	"os"
	"syscall"
	"testing"
)

// TestSlot checks that the tests of a process share one slot, which others cannot take until the last
// of these tests has ended.
func TestSlot(t *testing.T) {
	old, oldDir := maxBrowsers, slotDir
	maxBrowsers, slotDir = 1, t.TempDir()
	t.Cleanup(func() { maxBrowsers, slotDir = old, oldDir })
	free := func() bool {
		f, err := os.OpenFile(slotDir+"/browser-0", os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
	}
	t.Run("first", func(t *testing.T) {
		takeSlot(t)
		t.Run("second", func(t *testing.T) { takeSlot(t) })
		if free() {
			t.Error("the slot is free when one of two tests has ended")
		}
	})
	if !free() {
		t.Error("the slot is not free when all tests have ended")
	}
}
