//go:build unix

package download

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
)

// TestSaveDiskFull sets a limit on the size of files, so that a write fails halfway as on a full
// disk. The limit applies to the process, so the test starts a separate one.
func TestSaveDiskFull(t *testing.T) {
	const inner = "DOWNLOAD_TEST_DISK_FULL"
	dir := os.Getenv(inner)
	if dir == "" {
		dir = filepath.Join(t.TempDir(), "downloads")
		cmd := exec.Command(os.Args[0], "-test.run=^TestSaveDiskFull$")
		cmd.Env = append(os.Environ(), inner+"="+dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if _, err := os.Stat(dir); err != nil {
			t.Fatalf("the inner test did not run: %v", err)
		}
		return
	}
	d, err := Open(dir, testLimit)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 4096, Max: 4096}); err != nil {
		t.Fatal(err)
	}
	e := wantCode(t, errOf(d.Save("big", zeros{})), errs.ErrDownloadFailed, "saving the file")
	if e.Hint == "" {
		t.Error("no hint")
	}
	wantFiles(t, d)
}
