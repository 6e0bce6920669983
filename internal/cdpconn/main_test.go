package cdpconn

import (
	"os"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/leakcheck"
)

// TestMain fails if a test leaks a goroutine.
func TestMain(m *testing.M) { os.Exit(leakcheck.Run(m)) }
