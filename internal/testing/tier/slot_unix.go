//go:build unix

package tier

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

// maxBrowsers is MaxProcesses; a test changes it.
var maxBrowsers = MaxProcesses()

// slotDir is determined before a TestMain sets the temporary directory of its browsers.
var slotDir = filepath.Join(os.TempDir(), fmt.Sprintf("chrome-mcp-tests-%d", os.Getuid()))

// slotVariable is set in the environment of a process that has a slot, for the test processes that its
// tests start: they use the slot of their parent.
const slotVariable = "TEST_BROWSER_SLOT"

// slot is what the tests of this process share, because a test that waits for its turn among the
// parallel tests of its process must not prevent these from running.
var slot struct {
	sync.Mutex          // held while waiting for a slot
	users      int      // tests that use browsers
	file       *os.File // locked while users > 0
}

// takeSlot waits until this process may use browsers, until the end of the test.
func takeSlot(t testing.TB) {
	t.Helper()
	slot.Lock()
	defer slot.Unlock()
	if slot.users == 0 && slot.file == nil && os.Getenv(slotVariable) != "" {
		return
	}
	if slot.users == 0 {
		file, err := lockSlot()
		if err != nil {
			t.Fatalf("a slot for a browser: %v", err)
		}
		slot.file = file
		os.Setenv(slotVariable, "held")
	}
	slot.users++
	t.Cleanup(func() {
		slot.Lock()
		defer slot.Unlock()
		if slot.users--; slot.users == 0 {
			os.Unsetenv(slotVariable)
			slot.file.Close() // ends the lock
			slot.file = nil
		}
	})
}

// lockSlot waits for one of the files that represent the slots, and locks it.
func lockSlot() (*os.File, error) {
	if err := os.MkdirAll(slotDir, 0o700); err != nil {
		return nil, err
	}
	var free *os.File
	var err error
	for free == nil && err == nil { // other processes may run for longer than HangLimit
		await.Poll(func() bool {
			free, err = freeSlot()
			return free != nil || err != nil
		})
	}
	return free, err
}

// freeSlot returns a file that no other process had locked, or nil.
func freeSlot() (*os.File, error) {
	for i := range maxBrowsers {
		f, err := os.OpenFile(filepath.Join(slotDir, fmt.Sprintf("browser-%d", i)), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			return f, nil
		}
		f.Close()
	}
	return nil, nil
}
