package attach

import (
	"os"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/leakcheck"
)

func TestMain(m *testing.M) { os.Exit(leakcheck.Run(m)) }
