package chromium

import (
	"log/slog"
	"net/netip"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/executortest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// TestExecutor runs the contract suite on this backend.
func TestExecutor(t *testing.T) { testExecutor(t, "chromium", Options{DataDir: t.TempDir()}) }

// TestExecutorInPool runs the contract suite in one context of a shared browser.
func TestExecutorInPool(t *testing.T) {
	tier.Deep(t)
	pool, dir := newPool(t)
	testExecutor(t, "pool", Options{Pool: pool, DataDir: dir, Network: anyHost{}})
}

// anyHost is a NetworkPolicy that allows everything.
type anyHost struct{}

func (anyHost) CheckHost(string, string, int) error         { return nil }
func (anyHost) CheckPath(string, string, int, string) error { return nil }
func (anyHost) CheckAddr(string, int, netip.Addr) error     { return nil }
func (anyHost) CheckDocument(string) error                  { return nil }

func testExecutor(t *testing.T, name string, opts Options) {
	headless := true
	opts.Headless, opts.Isolated, opts.NoSandbox = &headless, true, true
	opts.Logger = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo}))
	b := mustNew(t, opts)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("closing the browser: %v", err)
		}
	})
	suite.Run(t, suite.Harness{
		Name:            name,
		SharedClipboard: opts.Pool != nil,
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
			s, err := b.NewSession(&opts)
			if err != nil {
				t.Fatalf("new session: %v", err)
			}
			return s
		},
	}, executortest.Topics)
}
