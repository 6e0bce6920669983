package page_test

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/executortest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// TestDetail runs the detail suite in a real browser and prints a table of the results.
func TestDetail(t *testing.T) {
	tier.Long(t)
	headless := true
	b := chromium.New(chromium.Options{Headless: &headless, Isolated: true, NoSandbox: true, DataDir: t.TempDir(), Logger: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo}))})
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("closing the browser: %v", err)
		}
	})
	var (
		mu      sync.Mutex
		results []detailResult
	)
	t.Cleanup(func() { printResults(results) })
	executortest.RunDetail(t, executortest.Harness{
		Name: "chromium",
		NewSession: func(t *testing.T, opts executor.SessionOptions) executor.Executor {
			s, err := b.NewSession(opts)
			if err != nil {
				t.Fatalf("new session: %v", err)
			}
			return s
		},
		Report: func(t *testing.T, took time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			_, name, _ := strings.Cut(t.Name(), "/backend=chromium/")
			results = append(results, detailResult{name, took, t.Failed()})
		},
	})
}

type detailResult struct {
	name   string
	took   time.Duration
	failed bool
}

// printResults prints the failed cases, or all of them with -v, and the number of cases that
// passed.
func printResults(results []detailResult) {
	slices.SortFunc(results, func(a, b detailResult) int { return cmp.Compare(a.name, b.name) })
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	passed := 0
	for _, r := range results {
		verdict := "ok"
		if r.failed {
			verdict = "FAILED"
		} else {
			passed++
		}
		if r.failed || testing.Verbose() {
			fmt.Fprintf(w, "%s\t%s\t%v\n", verdict, strings.ReplaceAll(r.name, "_", " "), r.took.Round(time.Millisecond))
		}
	}
	fmt.Fprintf(w, "%d of %d passed\n", passed, len(results))
	w.Flush()
}
