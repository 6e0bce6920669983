package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}` + "\n"

// initialized starts a server and returns after its response to initialize.
func initialized(tb testing.TB, path string, args ...string) (cmd *exec.Cmd, stdin io.Closer) {
	tb.Helper()
	cmd = exec.Command(path, args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	if _, err := io.WriteString(in, initialize); err != nil {
		tb.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		tb.Fatal(err)
	}
	return cmd, in
}

// TestMemoryAtStart limits the memory of an idle server, because an MCP host starts many servers
// that are not used.
func TestMemoryAtStart(t *testing.T) {
	tier.Deep(t)
	if runtime.GOOS != "linux" {
		t.Skip("measured on Linux")
	}
	// Private and total memory of the process. Most of the total is the program file, which all
	// servers share. How much of the file is mapped depends on the page cache: the total is 20.3 to
	// 21.6 MiB.
	const private, all = 4 << 20, 23 << 20
	cmd, stdin := initialized(t, binary, "--data", t.TempDir())
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line, limit := range map[string]int{"RssAnon:": private, "VmRSS:": all} {
		var kib int
		if _, err := fmt.Sscan(statusLine(text, line), &kib); err != nil {
			t.Fatalf("%s %v", line, err)
		}
		if kib > limit>>10 {
			t.Errorf("after initialize the server's %s %d KiB, more than %d", line, kib, limit>>10)
		}
		t.Logf("%s %d KiB", line, kib)
	}
	stdin.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// BenchmarkStart measures the time from process start to the response to initialize, and for
// comparison that of a program that does nothing else.
func BenchmarkStart(b *testing.B) {
	stub := filepath.Join(b.TempDir(), "stub")
	if out, err := exec.Command("go", "build", "-o", stub, "./testdata/stub").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	for name, args := range map[string][]string{
		"stub":       {stub},
		"chrome-mcp": {binary, "--data", b.TempDir()},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				cmd, stdin := initialized(b, args[0], args[1:]...)
				stdin.Close()
				cmd.Wait()
			}
		})
	}
}
