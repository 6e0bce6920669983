package compose

import (
	"os"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

func TestMain(m *testing.M) {
	timing.ScaleForTests(5)
	os.Exit(m.Run())
}
