//go:build unix

package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

func TestSIGHUPRotatesToken(t *testing.T) {
	server, s, _ := openTestBridge(t)
	ctx, cancel := context.WithCancel(t.Context())
	wait := rotateOnHangup(ctx, server, slog.New(slog.DiscardHandler))
	defer wait()
	defer cancel()
	before := token(t, s.data)
	instance, _ := server.Pipe("someone")
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	await.Receive(t, "the connection to be closed", instance.Done())
	if token(t, s.data) == before {
		t.Error("the token is the same")
	}
}

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
