package launch

import (
	"os"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/leakcheck"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// TestMain fails if the tests leak a goroutine, a browser or a temporary profile.
func TestMain(m *testing.M) {
	timing.ScaleForTests(tier.HangLimitScale())
	os.Exit(leakcheck.RunBrowsers(m))
}
