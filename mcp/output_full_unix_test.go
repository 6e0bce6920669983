//go:build unix

package mcp

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// TestOutputDiskFull sets a limit on the size of files, so that a result is written in part, as on a
// full disk. The limit applies to the process, so the test starts a separate one.
func TestOutputDiskFull(t *testing.T) {
	const inner = "MCP_TEST_DISK_FULL"
	if os.Getenv(inner) == "" {
		ran := filepath.Join(t.TempDir(), "ran")
		cmd := exec.Command(os.Args[0], "-test.run=^TestOutputDiskFull$")
		cmd.Env = append(os.Environ(), inner+"="+ran)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if _, err := os.Stat(ran); err != nil {
			t.Fatalf("the inner test did not run: %v", err)
		}
		return
	}
	if err := os.WriteFile(os.Getenv(inner), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	html := strings.Repeat("x", 8192)
	f := &fake{html: func(context.Context, executor.TabID, *executor.HTMLOptions) (*executor.HTML, error) {
		return &executor.HTML{Content: html}, nil
	}}
	cs, dir := connectWithOutput(t, f, Options{})
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 4096, Max: 4096}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		res := callTool(t, cs, "get_html", `{"file":"page"}`)
		if text := textOf(res); !res.IsError || !strings.HasPrefix(text, "DOWNLOAD_FAILED: Saving the result: ") || !strings.Contains(text, "disk is not full") {
			t.Errorf("a full disk: %s", text)
		}
	}
	if got := savedFiles(t, dir); len(got) > 0 {
		t.Errorf("the failed calls left %q", got)
	}
	html = html[:4096]
	if res := callTool(t, cs, "get_html", `{"file":"page"}`); res.IsError || !strings.Contains(textOf(res), "page.html") {
		t.Errorf("a file that fits: %s", textOf(res))
	}
	if got := savedFiles(t, dir); len(got) != 1 || got[0] != "page.html" {
		t.Errorf("files %q", got)
	}
}
