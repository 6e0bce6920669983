package executortest

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/testlog"
)

// maxHugeValueGrowth is the maximum growth of this process's memory, in MiB, whatever a script
// returns or throws.
const maxHugeValueGrowth = 64

// HugeValueMemory checks that values of 30 to 100 MB are cut before this process stores them. The
// active tab of ex shows a page. No other test may run at the same time.
func HugeValueMemory(t *testing.T, ex executor.Executor) {
	limit := maxHugeValueGrowth
	if testlog.RaceEnabled {
		limit *= 3
	}
	for _, expression := range []string{
		"'x'.repeat(1e8)", "Promise.resolve('x'.repeat(6e7))", "throw 'x'.repeat(5e7)", "throw new Error('x'.repeat(3e7))",
	} {
		before := testlog.ResetPeakMemory(t)
		res, err := pagetest.Of(ex, "").Eval(t.Context(), expression, nil)
		if err != nil {
			t.Errorf("%s: %v", expression, err)
			continue
		}
		if !res.Truncated && res.Error == "" {
			t.Errorf("%s: the value is neither truncated nor an exception", expression)
		}
		if grown := testlog.PeakMemory(t) - before; grown >= limit {
			t.Errorf("%s: this process took %d MiB more, want less than %d", expression, grown, limit)
		} else {
			t.Logf("%s: %d MiB", expression, grown)
		}
	}
}
