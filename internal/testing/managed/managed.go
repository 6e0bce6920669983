// Package managed runs suites in a managed browser.
package managed

import (
	"log/slog"
	"os"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/leakcheck"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// Main is the TestMain of a package whose tests call [Run]. It fails if they leak a goroutine.
func Main(m *testing.M) {
	timing.ScaleForTests(tier.HangLimitScale())
	os.Exit(leakcheck.Run(m))
}

// Run runs topics in a separate headless browser, that of [tier.Shell].
func Run(t *testing.T, topics []suite.Topic) {
	tier.Browser(t)
	headless := true
	b, err := chromium.New(&chromium.Options{
		Browser: tier.Shell(), Headless: &headless, Isolated: true, NoSandbox: true, DataDir: t.TempDir(),
		Logger: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo})),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("closing the browser: %v", err)
		}
	})
	suite.Run(t, suite.Harness{
		Name: "chromium",
		NewSession: func(t *testing.T, opts executor.SessionOptions) executor.Executor {
			s, err := b.NewSession(&opts)
			if err != nil {
				t.Fatalf("new session: %v", err)
			}
			return s
		},
	}, topics)
}
