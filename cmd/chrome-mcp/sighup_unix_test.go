//go:build unix

package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

// TestProgramRotates checks that the program rotates its token on SIGHUP and continues.
func TestProgramRotates(t *testing.T) {
	data := t.TempDir()
	cmd, stdin := initialized(t, binary, "--port=0", "--data", data)
	defer cmd.Process.Kill()
	written := func(before string) (now string) {
		t.Helper()
		await.Until(t, "another token", func() bool {
			paths, _ := filepath.Glob(filepath.Join(data, "handshakes", "*.json"))
			if len(paths) != 1 {
				return false // not written yet
			}
			text, err := os.ReadFile(paths[0])
			now = string(text)
			return err == nil && now != before
		})
		return now
	}
	first := written("")
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	written(first)
	stdin.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(data, "handshakes", "*")); len(left) > 0 {
		t.Errorf("it left %q", left)
	}
}
