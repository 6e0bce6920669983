package bridge

import (
	"os"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/leakcheck"
)

// helperEnv makes the test binary flood the address in this variable.
const helperEnv = "BRIDGE_TEST_FLOOD"

// flood is nil on systems without the flood test.
var flood func(address string)

// TestMain fails if a test leaks a goroutine.
func TestMain(m *testing.M) {
	if address := os.Getenv(helperEnv); address != "" {
		flood(address)
		return
	}
	os.Exit(leakcheck.Run(m))
}
