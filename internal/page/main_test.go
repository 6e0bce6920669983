package page

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// TestMain fails if a test leaks a goroutine.
func TestMain(m *testing.M) {
	timing.ScaleForTests(5)
	goleak.VerifyTestMain(m)
}
