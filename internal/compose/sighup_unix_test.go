//go:build unix

package compose

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
	server, s, _ := openBridgeOf(t)
	ctx, cancel := context.WithCancel(t.Context())
	wait := rotateOnHangup(ctx, server, slog.New(slog.DiscardHandler))
	defer wait()
	defer cancel()
	token := func() string {
		t.Helper()
		paths, _ := filepath.Glob(filepath.Join(s.Data, "handshakes", "*.json"))
		if len(paths) != 1 {
			t.Fatalf("handshake files %v", paths)
		}
		text, err := os.ReadFile(paths[0])
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	before := token()
	conn, _ := server.Pipe("someone")
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	await.Receive(t, "the connection to be closed", conn.Done())
	if token() == before {
		t.Error("the token is the same")
	}
}
