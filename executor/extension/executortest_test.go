package extension

import (
	"log/slog"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/executortest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
)

const testID = "abcdefghijklmnopabcdefghijklmnop"

// newServer returns a server that does not listen: extensions connect to it in memory.
func newServer(t testing.TB) *bridge.Server {
	t.Helper()
	s, err := bridge.New(&bridge.Options{ExtensionID: testID})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// newBackend returns a backend on server.
func newBackend(t testing.TB, server *bridge.Server, more ...func(*Options)) *Backend {
	t.Helper()
	opts := Options{Server: server, DataDir: t.TempDir(), Logger: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo}))}
	for _, set := range more {
		set(&opts)
	}
	b, err := New(&opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("closing the backend: %v", err)
		}
	})
	return b
}

func harness(b *Backend, name string) suite.Harness {
	return suite.Harness{
		Name: name, UserAnswers: true, UserClipboard: true, DeepShared: true, Exceptions: executortest.ExtensionExceptions,
		NewSession: func(t *testing.T, opts executor.SessionOptions) executor.Executor {
			s, err := b.NewSession(&opts)
			if err != nil {
				t.Fatalf("new session: %v", err)
			}
			return s
		},
	}
}

// waitConnected waits until an extension is connected and its tabs are known.
func waitConnected(t testing.TB, b *Backend) {
	t.Helper()
	await.Until(t, "an extension to connect", b.Connected)
	if _, err := (host{b}).Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// awaitDisconnected waits until no extension is connected.
func awaitDisconnected(t testing.TB, b *Backend) {
	t.Helper()
	await.Until(t, "the extension to disconnect", func() bool { return !b.Connected() })
}
