package shield

import (
	"os"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/leakcheck"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// TestMain fails if a test leaks a goroutine.
func TestMain(m *testing.M) {
	timing.ScaleForTests(5)
	os.Exit(leakcheck.Run(m))
}
