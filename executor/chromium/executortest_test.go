package chromium

import (
	"log/slog"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/executortest"
)

// TestExecutor holds the backend to the suite that every backend must pass.
func TestExecutor(t *testing.T) {
	headless := true
	b := New(Options{Headless: &headless, Isolated: true, NoSandbox: true, DataDir: t.TempDir(), Logger: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo}))})
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("closing the browser: %v", err)
		}
	})
	executortest.Run(t, executortest.Harness{
		Name: "chromium",
		NewSession: func(t *testing.T, opts executor.SessionOptions) executor.Executor {
			s, err := b.NewSession(opts)
			if err != nil {
				t.Fatalf("new session: %v", err)
			}
			return s
		},
	})
}
