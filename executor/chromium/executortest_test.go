package chromium

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/executortest"
)

// TestExecutor runs the contract suite on this backend.
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
		Raw: func(t *testing.T, url, method string, params any) {
			t.Helper()
			for _, tab := range (sessionProvider{b}).Current().Tabs() {
				if strings.HasPrefix(tab.Page.URL(), url) {
					if err := tab.Page.Session().Call(t.Context(), method, params, nil); err != nil {
						t.Fatal(err)
					}
					return
				}
			}
			t.Fatalf("no tab at %s", url)
		},
		NewSession: func(t *testing.T, opts executor.SessionOptions) executor.Executor {
			s, err := b.NewSession(opts)
			if err != nil {
				t.Fatalf("new session: %v", err)
			}
			return s
		},
	})
}
