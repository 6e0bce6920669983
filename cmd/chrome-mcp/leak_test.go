package main

import (
	"context"
	"io"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/testlog"
)

// TestServeCleansUp checks that no goroutine, file or listener remains after the end of stdin or a
// signal.
func TestServeCleansUp(t *testing.T) {
	for _, how := range []string{"stdin", "signal"} {
		t.Run(how, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			data := filepath.Join(t.TempDir(), "data")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			stdin, host := io.Pipe()
			defer host.Close()
			code := make(chan int, 1)
			stderr := new(testlog.Buffer)
			go func() { code <- run(ctx, []string{"--data", data, "--port=0"}, stdin, io.Discard, stderr) }()
			if _, err := io.WriteString(host, initializeLine+"\n"); err != nil {
				t.Fatal(err)
			}
			published(t, data)
			if how == "stdin" {
				host.Close()
			} else {
				cancel()
			}
			if c := <-code; c != cli.ExitOK {
				t.Errorf("exit code %d: %s", c, stderr)
			}
			host.Close() // also stops the reader of stdin
			if files, _ := filepath.Glob(filepath.Join(data, "*", "*")); len(files) != 0 {
				t.Errorf("left are %q", files)
			}
			goleak.VerifyNone(t, before)
		})
	}
}
