package chromium

import (
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/executortest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// fullCases are the cases that do not pass in a headless shell, "topic" or "topic/case": they need windows,
// dialogs or error pages of the browser, its back/forward cache, or a frame that does not respond while it
// navigates.
var fullCases = []string{
	"popups", "error_pages", "native_dialogs", "denied_input",
	"navigate/error status without a body", "history/reload after the page navigated",
	"denied_pixels/denied frames restored from bfcache are masked",
	"handover/what is entered in a page that the user leaves is masked when the page is restored",
}

// hungCases are the cases in which a page or a frame does not respond until a hang limit has passed. In
// landing tests they run in a full browser with the hang limits of the product, which other tests multiply.
var hungCases = []string{
	"popups/requests from the first one",
	"download/link that opens a tab, which closes before the file is complete",
	"denied_input/input next to a denied frame that is loading", "denied_input/failed release is repeated later",
	"screenshot/hung page does not delay full pages of others", "screenshot/denied page that commits during the screenshot",
	"handover/what is entered in a frame that does not respond at the beginning is masked",
}

// TestExecutor runs the contract suite on this backend: most cases in the browser of [tier.Shell].
func TestExecutor(t *testing.T) {
	shell, full := tier.Shell(), tier.FullBrowser()
	listed := func(list []string, topic, name string) bool {
		return slices.Contains(list, topic) || slices.Contains(list, topic+"/"+name)
	}
	hung := func(topic, name string) bool { return !tier.DeepEnabled() && listed(hungCases, topic, name) }
	inFull := func(topic, name string) bool {
		return !hung(topic, name) && (shell == full || listed(fullCases, topic, name))
	}
	if !tier.DeepEnabled() {
		testExecutor(t, "hung", Options{Browser: full, DataDir: t.TempDir(), timing: timing.Default()}, hung)
	}
	testExecutor(t, "chromium", Options{Browser: full, DataDir: t.TempDir()}, inFull)
	if shell != full {
		testExecutor(t, "shell", Options{Browser: shell, DataDir: t.TempDir()}, func(topic, name string) bool {
			return !hung(topic, name) && !inFull(topic, name)
		})
	}
}

// TestExecutorInPool runs the contract suite in one context of a shared browser.
func TestExecutorInPool(t *testing.T) {
	tier.Deep(t)
	pool, dir := newPool(t)
	testExecutor(t, "pool", Options{Pool: pool, DataDir: dir, Network: anyHost{}}, nil)
}

// anyHost is a NetworkPolicy that allows everything.
type anyHost struct{}

func (anyHost) CheckHost(string, string, int) error         { return nil }
func (anyHost) CheckPath(string, string, int, string) error { return nil }
func (anyHost) CheckAddr(string, int, netip.Addr) error     { return nil }
func (anyHost) CheckDocument(string) error                  { return nil }

// testExecutor runs the cases that runs selects; nil means all.
func testExecutor(t *testing.T, name string, opts Options, runs func(topic, name string) bool) {
	headless := true
	opts.Headless, opts.Isolated, opts.NoSandbox = &headless, true, true
	opts.Logger = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo}))
	b := mustNew(t, opts)
	defer func() {
		if err := b.Close(); err != nil {
			t.Errorf("closing the browser: %v", err)
		}
	}()
	suite.Run(t, suite.Harness{
		Name:            name,
		Runs:            runs,
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
