package main

import (
	"bufio"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/shirou/gopsutil/v4/process"
)

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}` + "\n"

// initialized starts a server and returns when it has answered initialize.
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

// TestMemoryAtStart: an MCP host starts many servers that nobody uses.
func TestMemoryAtStart(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("measured on Linux")
	}
	const limit = 15 << 20
	cmd, stdin := initialized(t, binary, "--data", t.TempDir())
	p, err := process.NewProcess(int32(cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	memory, err := p.MemoryInfo()
	if err != nil {
		t.Fatal(err)
	}
	if memory.RSS > limit {
		t.Errorf("after initialize the server takes %d KiB, more than %d", memory.RSS>>10, limit>>10)
	}
	t.Logf("%d KiB", memory.RSS>>10)
	stdin.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// BenchmarkStart measures from the spawn to the answer to initialize, beside
// a program that does nothing else.
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
